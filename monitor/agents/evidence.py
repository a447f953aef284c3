"""``evidence``: the figures and lines behind a finding, or lines of a job's log, a page at a time: by their numbers those of log
files and the few that an archive keeps, by their times those in CloudWatch.

A line's id is its number and a digest of its file's name, or its time and a digest of its text. A cursor is such an id with a
direction, so that it holds all of its state: the next page begins behind that line, whatever was written since.
"""

from __future__ import annotations

import re
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pandas as pd

from monitor.agents.account_session import AccountSession
from monitor.agents.quoting import Quotes, ToolAnswer, clipped, fitted, quote, quotes_of
from monitor.agents.shapes import BEFORE, CAP, TELLS, Fact, fact_line, iso, moment
from monitor.archive.document import json_types
from monitor.errors import BadCall
from monitor.fetch.source import LogLineReader, PageSource
from monitor.masking import MASK, KeyLines, without_secrets
from monitor.model import Evidence, Job, LogRequest, Report, moment_of
from monitor.parse.lines.levels import level_of
from monitor.parse.lines.stamps import stamp
from monitor.review import Progress
from monitor.review.log_lines import LogFilter, cell, matching, tabled, written

MOST_LINES = 200
_OF_AN_ARCHIVE = (
    "An archive keeps no log: these are the lines that its report rests on. CloudWatch may still have all of them."
)


def evidence(
    session: AccountSession,
    job: str,
    finding: str,
    find: str,
    node: str,
    at: str,
    limit: int,
    cursor: str,
    say: Progress,
    given_up: Callable[[], bool],
) -> ToolAnswer:
    """What is behind a finding where one is named, else lines: those with ``find``, those around ``at``, else the newest."""
    if finding and not (find or at):
        return _of_finding(session, job, finding, limit, cursor, say, given_up)
    return _lines(session, job, find, node, at, cursor, limit, say, given_up)


def _of_finding(
    session: AccountSession, job: str, name: str, limit: int, cursor: str, say: Progress, given_up: Callable[[], bool]
) -> ToolAnswer:
    report = session.report(job, say, given_up)
    finding = next((each for each in report.findings if each.id == name), None)
    if finding is None:
        ids = ", ".join(each.id for each in report.findings) or "none"
        raise BadCall(f"The review of {job} has no finding {clipped(name, 60)}.", f"It has: {ids}.")
    if cursor and not cursor.isdecimal():
        raise BadCall(f"{clipped(cursor, 60)} is no cursor of a finding.", "Leave it out to begin with its first fact.")
    quotes = quotes_of(report)
    first = int(cursor or 0)
    lines = _ids(report)
    facts = [_fact(each, lines, quotes) for each in finding.evidence[first:]]
    most = min(len(facts), limit)
    head = [
        f"{finding.id} ({finding.severity}, {finding.confidence} confidence): {quotes.marked(clipped(finding.summary, 900))}"
    ]
    if finding.recommendation:
        head.append(f"Do: {quotes.marked(clipped(finding.recommendation.whole, 900))}")
    if finding.recommendation and finding.recommendation.source:
        head.append(f"Source: {clipped(finding.recommendation.source, 200)}")
    head += [f"Not checked: {clipped(each, 200)}" for each in finding.not_checked]
    places = [place for fact in facts if (place := fact["id"] or fact["time"])]
    foot = [f'Lines around it: evidence(job="{job}", at="{places[0]}").'] if places else []

    def make(shown: int) -> ToolAnswer:
        out = len(facts) - shown
        following = f"{first + shown}" if out else None
        lines = [
            *head,
            *([TELLS] if any(each["quoted"] for each in facts[:shown]) else []),
            *map(fact_line, facts[:shown]),
        ]
        if following:
            lines.append(f'{out} more facts: cursor="{following}".')
        return ToolAnswer(
            "\n".join([*lines, *foot]),
            json_types({"job": job, "facts": facts[:shown], "left_out": out, "next": following}),
        )

    return fitted(make, most, CAP)


def _ids(report: Report) -> dict[str, str]:
    """Text of a line -> its id, where lines have numbers and no times by which they are read."""
    if report.job.source != "logs" and not report.archive:
        return {}
    return {line.text: line.id for line in reversed([*of_events(report)])}


def _fact(each: Evidence, ids: dict[str, str], quotes: Quotes) -> Fact:
    value = each.value
    shown = (
        None if value is None else quote(value, 120) if isinstance(value, str) else f"{value:.6g} {each.unit}".strip()
    )
    return {
        "id": ids.get(each.line or ""),
        "time": None if each.start is None else iso(each.start),
        "node": each.node,
        "what": quotes.marked(each.label),
        "value": shown,
        "quoted": None if each.line is None else quote(each.line),
    }


def _lines(
    session: AccountSession,
    name: str,
    find: str,
    node: str,
    at: str,
    cursor: str,
    limit: int,
    say: Progress,
    given_up: Callable[[], bool],
) -> ToolAnswer:
    source, job_name = session.source(name)
    if source.lines is not None:
        return timed_lines(source.lines, source.job(job_name), find, node, at, cursor, limit)
    if source.gives == "pages":
        return numbered_lines(of_pages(source, job_name), name, find, node, at, cursor, limit)
    kept = of_events(session.report(name, say, given_up))
    return numbered_lines(kept, name, find, node, at, cursor, limit, _OF_AN_ARCHIVE)


_ID = re.compile(r"L-?\d{1,12}\.[0-9a-f]{8}")
_ONWARD, _BACK = ">", "<"


@dataclass(frozen=True, slots=True)
class NumberedLine:
    """One line; ``known`` is what an archive says of its own."""

    stream: str
    node: str
    number: int
    text: str
    known: str = ""
    at: datetime | None = None

    @property
    def id(self) -> str:
        return f"L{self.number}.{zlib.crc32(self.stream.encode('utf-8', 'replace')):08x}"

    @property
    def time(self) -> datetime | None:
        """As its source tells, else as it prints it itself, where that has a day."""
        if self.at is not None:
            return self.at
        printed = stamp(written(self.text).words)
        return datetime.fromtimestamp(printed.ms / 1000, UTC) if printed is not None and printed.dated else None

    @property
    def host(self) -> str:
        """The node, where its tag names another than its file does."""
        return written(self.text).host or self.node


@dataclass(frozen=True, slots=True)
class _Position:
    """Where a page begins, and in which direction it goes on."""

    id: str = ""
    at: datetime | None = None
    back: bool = False
    """The lines before it; without a place the last ones there are."""
    behind: bool = False
    """It was on the page before."""
    around: bool = False

    @property
    def is_named(self) -> bool:
        return bool(self.id) or self.at is not None

    def is_reached(self, line: NumberedLine) -> bool:
        if self.at is not None:
            time = line.time
            return time is not None and time >= self.at
        return bool(self.id) and line.id == self.id


def of_pages(source: PageSource, job: str) -> Iterator[NumberedLine]:
    """All lines, file by file; a private key in them is masked, and other secrets are when a line is shown."""
    keys = KeyLines()
    for page in source.logs(source.job(job)).read():
        for number, text in enumerate(page.lines, page.first_line):
            yield NumberedLine(page.stream, page.node, number, MASK if keys.holds(page.stream, text) else text)


def of_events(report: Report) -> Iterator[NumberedLine]:
    """The lines that an archive keeps: those that something was read from, each once."""
    columns = ("stream", "node", "line", "text", "kind", "timestamp")
    events = report.run.events.drop_duplicates(["stream", "line"])
    for stream, node, number, text, kind, time in zip(*(events[name] for name in columns), strict=True):
        if text and not pd.isna(text):
            at = moment_of(time)
            yield NumberedLine(str(stream), str(node), int(number), str(text), str(kind), at)


def numbered_lines(
    lines: Iterable[NumberedLine], job: str, find: str, node: str, at: str, cursor: str, limit: int, about: str = ""
) -> ToolAnswer:
    """A page of the lines; ``about`` is said of them first."""
    place = _position(find, at, cursor)
    chosen, is_more = _page(lines, place, _filter(find, node), limit)
    facts = [_line_fact(line) for line in chosen]
    stands = f"with {quote(find, 60)} " if find else ""
    where = f"{quote(job, 120)}{f', {quote(node, 60)}' if node else ''}"

    def make(shown: int) -> ToolAnswer:
        kept = facts[len(facts) - shown :] if place.back else facts[:shown]
        out = len(facts) - shown
        following = None
        if kept and (is_more or out):
            following = f"{_BACK}{kept[0]['id']}" if place.back else f"{_ONWARD}{kept[-1]['id']}"
        said = [about] if about else []
        said.append(f"{len(kept)} lines {stands}of {where}, by number." if kept else f"No line {stands}of {where}.")
        said += [TELLS, *map(fact_line, kept)] if kept else []
        if following:
            direction = "Earlier" if place.back else "Later"
            said.append(f'{direction} lines: cursor="{following}"{", find as here" if find else ""}.')
        return ToolAnswer("\n".join(said), json_types({"job": job, "facts": kept, "left_out": out, "next": following}))

    return fitted(make, len(facts), CAP)


def _position(find: str, at: str, cursor: str) -> _Position:
    if cursor:
        if cursor[0] not in {_ONWARD, _BACK} or not _ID.fullmatch(cursor[1:]):
            raise BadCall(
                f"{clipped(cursor, 60)} is no cursor of these lines.",
                "Take it from the answer before, or leave it out.",
            )
        return _Position(cursor[1:], back=cursor[0] == _BACK, behind=True)
    if not at:
        return _Position(back=not find)
    if _ID.fullmatch(at):
        return _Position(at, around=not find)
    if (when := moment(at)) is None:
        raise BadCall(
            f"at={clipped(at, 60)} is neither a time nor a line's id.",
            "Write 2026-09-25T14:05:03Z, or an id such as L120.5f3a9c1b from an answer before.",
        )
    return _Position(at=when, around=not find)


def _filter(find: str, node: str) -> Callable[[NumberedLine], bool]:
    sought = find.casefold()

    def wanted(line: NumberedLine) -> bool:
        if sought and sought not in line.text.casefold():
            return False
        if node and line.host != node:
            return False
        # What is masked is not found by looking for it.
        return not sought or sought in without_secrets(line.text).casefold()

    return wanted


def _page(
    lines: Iterable[NumberedLine], position: _Position, wanted: Callable[[NumberedLine], bool], limit: int
) -> tuple[list[NumberedLine], bool]:
    """(the lines, whether there are more in the direction that they go on)."""
    most = limit + 1 if position.back else round(limit * BEFORE) if position.around else 0
    before: deque[NumberedLine] = deque(maxlen=most)
    rest = iter(lines)
    begun = None if position.is_named or position.back else next(rest, None)
    if position.is_named or position.back:
        for line in rest:
            if position.is_reached(line):
                begun = line
                break
            if wanted(line):
                before.append(line)
        if begun is None and position.is_named:
            raise BadCall(
                "No line is at that time or later." if position.at else f"There is no line {position.id}.",
                "Take an id from an answer, or look for a text with find.",
            )
    if position.back:
        return [*before][-limit:], len(before) > limit
    found = [*before]
    if begun is not None and not position.behind and wanted(begun):
        found.append(begun)
    for line in rest:
        if len(found) > limit:
            break
        if wanted(line):
            found.append(line)
    return found[:limit], len(found) > limit


def _line_fact(line: NumberedLine) -> Fact:
    rank, host, said = written(line.text)
    who = "" if rank is None else f" rank {rank}"
    return {
        "id": line.id,
        "time": None if line.time is None else iso(line.time),
        "node": host or line.node,
        "what": f"{line.known or level_of(said) or 'line'}{who}",
        "value": None,
        "quoted": quote(cell(without_secrets(line.text))),
    }


_TIMED_ID = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})Z\.([0-9a-f]{8})")
_ONWARD_IN_TIME, _BACK_IN_TIME = ">", "<"


@dataclass(frozen=True, slots=True)
class _TimedPosition:
    """Where a page of lines begins, and in which direction it goes on."""

    ms: int | None = None
    """None: the newest lines, or with ``onward`` the job's first."""
    digest: int | None = None
    """Of the last line of the page before."""
    onward: bool = True
    around: bool = False


def timed_lines(read: LogLineReader, job: Job, find: str, node: str, at: str, cursor: str, limit: int) -> ToolAnswer:
    place = _timed_position(find, at, cursor)
    ask = _request(place, node or None)
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

    def make(shown: int) -> ToolAnswer:
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
        return ToolAnswer("\n".join(lines), json_types(data))

    return fitted(make, len(facts), CAP)


def _timed_position(find: str, at: str, cursor: str) -> _TimedPosition:
    text = cursor[1:] if cursor[:1] in {_ONWARD_IN_TIME, _BACK_IN_TIME} else ""
    if cursor:
        if found := _TIMED_ID.fullmatch(text):
            return _TimedPosition(_ms(found[1]), int(found[2], 16), cursor[0] == _ONWARD_IN_TIME)
        if text.isdecimal() and len(text) < 15:
            return _TimedPosition(int(text), None, cursor[0] == _ONWARD_IN_TIME)
        raise BadCall(
            f"{clipped(cursor, 60)} is no cursor of lines.", "Take it from the answer before, or leave it out."
        )
    if at:
        if found := _TIMED_ID.fullmatch(at):
            return _TimedPosition(_ms(found[1]), around=not find)
        if (when := moment(at)) is None:
            raise BadCall(
                f"at={clipped(at, 60)} is neither a time nor a line's id.", "Write 2026-09-25T14:05:03Z, or an id."
            )
        return _TimedPosition(int(when.timestamp() * 1000), around=not find)
    return _TimedPosition(onward=bool(find))


def _request(position: _TimedPosition, node: str | None) -> LogRequest:
    if position.ms is None:
        return LogRequest(node, start=datetime.fromtimestamp(0, UTC)) if position.onward else LogRequest(node)
    at = _at(position.ms)
    if position.around:
        return LogRequest(node, at=at)
    return LogRequest(node, start=at) if position.onward else LogRequest(node, end=at + timedelta(milliseconds=1))


def _from(frame: pd.DataFrame, position: _TimedPosition) -> pd.DataFrame:
    """Without the page before, up to its last line."""
    if position.ms is None or position.digest is None:
        return frame
    same = (frame["time"] == pd.Timestamp(position.ms, unit="ms", tz="UTC")) & (frame["digest"] == position.digest)
    if not same.any():
        return frame
    rows = same.to_numpy().nonzero()[0]
    return frame.iloc[rows[-1] + 1 :] if position.onward else frame.iloc[: rows[0]]


def _following(kept: list[Fact], position: _TimedPosition, to_ms: int) -> str | None:
    if not kept:
        return f"{_ONWARD_IN_TIME}{to_ms}" if position.onward else None
    return f"{_ONWARD_IN_TIME}{kept[-1]['id']}" if position.onward else f"{_BACK_IN_TIME}{kept[0]['id']}"


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
