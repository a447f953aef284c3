"""Lines of a job's log in CloudWatch, by their times: those with a text, around a moment, or the newest; a page at a time.

A line's id is its time and a digest of its text. A cursor is such an id with a direction, so that it holds
all of its state: the next page begins behind that line, whatever was written since.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pandas as pd

from monitor.agents.quoting import quote
from monitor.agents.shapes import BEFORE, CAP, TELLS, Fact, fact_line, iso, moment
from monitor.agents.tokens import Answer, clipped, fitted
from monitor.archive.document import plain
from monitor.errors import BadCall
from monitor.fetch.source import Lines
from monitor.model import Job, LogAsk
from monitor.review.log_lines import LogFilter, matching, tabled

_ID = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})Z\.([0-9a-f]{8})")
_ONWARD, _BACK = ">", "<"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a page of lines begins, and in which direction it goes on."""

    ms: int | None = None
    """None: the newest lines, or with ``onward`` the job's first."""
    digest: int | None = None
    """Of the last line of the page before."""
    onward: bool = True
    around: bool = False


def timed_lines(read: Lines, job: Job, find: str, node: str, at: str, cursor: str, limit: int) -> Answer:
    place = _place(find, at, cursor)
    ask = _ask(place, node or None)
    table = tabled(span := read(job, ask), secrets=job.secrets)
    frame = matching(_from(table.frame, place), LogFilter(find, (), node or None))
    if place.around and place.ms is not None:
        before = int(frame["time"].searchsorted(pd.Timestamp(place.ms, unit="ms", tz="UTC")))
        frame = frame.iloc[max(0, before - round(limit * BEFORE)) :]
    chosen = frame.iloc[:limit] if place.onward else frame.iloc[-limit:]
    facts = [_log_fact(row) for row in chosen.itertuples()]
    others = len(frame) - len(chosen)
    stands = f"with {quote(find, 60)} " if find else ""
    where = f"{job.name}{f', {node}' if node else ''}"

    def make(shown: int) -> Answer:
        kept = facts[:shown] if place.onward else facts[len(facts) - shown :]
        out = others + len(facts) - shown
        more = out > 0 or (span.newer if place.onward else span.older)
        following = _following(kept, place, span.to_ms) if more else None
        lines = [f"{len(kept)} lines {stands}of {where}, in time, UTC.", TELLS, *map(fact_line, kept)]
        if not kept:
            lines = [f"No line {stands}of {where} from {iso(_at(span.from_ms))} to {iso(_at(span.to_ms))}."]
        if following:
            lines.append(
                f'{"Later" if place.onward else "Earlier"} lines: cursor="{following}"{", find as here" if find else ""}.'
            )
        data = {"job": job.name, "facts": kept, "left_out": out, "next": following}
        return Answer("\n".join(lines), plain(data))

    return fitted(make, len(facts), CAP)


def _place(find: str, at: str, cursor: str) -> _Place:
    text = cursor[1:] if cursor[:1] in {_ONWARD, _BACK} else ""
    if cursor:
        if found := _ID.fullmatch(text):
            return _Place(_ms(found[1]), int(found[2], 16), cursor[0] == _ONWARD)
        if text.isdecimal() and len(text) < 15:
            return _Place(int(text), None, cursor[0] == _ONWARD)
        raise BadCall(
            f"{clipped(cursor, 60)} is no cursor of lines.", "Take it from the answer before, or leave it out."
        )
    if at:
        if found := _ID.fullmatch(at):
            return _Place(_ms(found[1]), around=not find)
        if (when := moment(at)) is None:
            raise BadCall(
                f"at={clipped(at, 60)} is neither a time nor a line's id.", "Write 2026-09-25T14:05:03Z, or an id."
            )
        return _Place(int(when.timestamp() * 1000), around=not find)
    return _Place(onward=bool(find))


def _ask(place: _Place, node: str | None) -> LogAsk:
    if place.ms is None:
        return LogAsk(node, start=datetime.fromtimestamp(0, UTC)) if place.onward else LogAsk(node)
    at = _at(place.ms)
    if place.around:
        return LogAsk(node, at=at)
    return LogAsk(node, start=at) if place.onward else LogAsk(node, end=at + timedelta(milliseconds=1))


def _from(frame: pd.DataFrame, place: _Place) -> pd.DataFrame:
    """Without the page before, up to its last line."""
    if place.ms is None or place.digest is None:
        return frame
    same = (frame["time"] == pd.Timestamp(place.ms, unit="ms", tz="UTC")) & (frame["digest"] == place.digest)
    if not same.any():
        return frame
    rows = same.to_numpy().nonzero()[0]
    return frame.iloc[rows[-1] + 1 :] if place.onward else frame.iloc[: rows[0]]


def _following(kept: list[Fact], place: _Place, to_ms: int) -> str | None:
    if not kept:
        return f"{_ONWARD}{to_ms}" if place.onward else None
    return f"{_ONWARD}{kept[-1]['id']}" if place.onward else f"{_BACK}{kept[0]['id']}"


def _log_fact(row: object) -> Fact:
    time, node, rank, level, digest, whole = (
        getattr(row, name) for name in ("time", "node", "rank", "level", "digest", "line")
    )
    who = "" if pd.isna(rank) else f" rank {rank}"
    return {
        "id": f"{time.isoformat(timespec='milliseconds').replace('+00:00', 'Z')}.{digest:08x}",
        "time": iso(time.to_pydatetime()),
        "node": node,
        "what": f"{level or 'line'}{who}",
        "value": None,
        "quoted": quote(whole),
    }


def _ms(written: str) -> int:
    return round(datetime.fromisoformat(written).replace(tzinfo=UTC).timestamp() * 1000)


def _at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
