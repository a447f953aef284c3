"""Lines by their numbers: those of log files, which need not print a time, and the few that an archive keeps.

A line's id is its number and a digest of its file's name. A cursor is such an id with a direction.
"""

from __future__ import annotations

import re
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pandas as pd

from monitor.agents.quoting import quote
from monitor.agents.shapes import BEFORE, CAP, TELLS, Fact, fact_line, iso, moment
from monitor.agents.tokens import Answer, clipped, fitted
from monitor.archive.document import plain
from monitor.errors import BadCall
from monitor.fetch.source import PageSource
from monitor.masking import MASK, KeyLines, without_secrets
from monitor.model import Report
from monitor.parse.levels import level_of
from monitor.parse.stamps import stamp
from monitor.review.log_lines import cell, written

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
        printed = stamp(written(self.text)[2])
        return datetime.fromtimestamp(printed.ms / 1000, UTC) if printed is not None and printed.dated else None

    @property
    def host(self) -> str:
        """The node, where its tag names another than its file does."""
        return written(self.text)[1] or self.node


@dataclass(frozen=True, slots=True)
class _Place:
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
            at = None if pd.isna(time) else time.to_pydatetime()
            yield NumberedLine(str(stream), str(node), int(number), str(text), str(kind), at)


def numbered_lines(
    lines: Iterable[NumberedLine], job: str, find: str, node: str, at: str, cursor: str, limit: int, about: str = ""
) -> Answer:
    """A page of the lines; ``about`` is said of them first."""
    place = _place(find, at, cursor)
    chosen, is_more = _page(lines, place, _filter(find, node), limit)
    facts = [_fact(line) for line in chosen]
    stands = f"with {quote(find, 60)} " if find else ""
    where = f"{quote(job, 120)}{f', {quote(node, 60)}' if node else ''}"

    def make(shown: int) -> Answer:
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
        return Answer("\n".join(said), plain({"job": job, "facts": kept, "left_out": out, "next": following}))

    return fitted(make, len(facts), CAP)


def _place(find: str, at: str, cursor: str) -> _Place:
    if cursor:
        if cursor[0] not in {_ONWARD, _BACK} or not _ID.fullmatch(cursor[1:]):
            raise BadCall(
                f"{clipped(cursor, 60)} is no cursor of these lines.",
                "Take it from the answer before, or leave it out.",
            )
        return _Place(cursor[1:], back=cursor[0] == _BACK, behind=True)
    if not at:
        return _Place(back=not find)
    if _ID.fullmatch(at):
        return _Place(at, around=not find)
    if (when := moment(at)) is None:
        raise BadCall(
            f"at={clipped(at, 60)} is neither a time nor a line's id.",
            "Write 2026-09-25T14:05:03Z, or an id such as L120.5f3a9c1b from an answer before.",
        )
    return _Place(at=when, around=not find)


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
    lines: Iterable[NumberedLine], place: _Place, wanted: Callable[[NumberedLine], bool], limit: int
) -> tuple[list[NumberedLine], bool]:
    """(the lines, whether there are more in the direction that they go on)."""
    most = limit + 1 if place.back else round(limit * BEFORE) if place.around else 0
    before: deque[NumberedLine] = deque(maxlen=most)
    rest = iter(lines)
    begun = None if place.is_named or place.back else next(rest, None)
    if place.is_named or place.back:
        for line in rest:
            if place.is_reached(line):
                begun = line
                break
            if wanted(line):
                before.append(line)
        if begun is None and place.is_named:
            raise BadCall(
                "No line is at that time or later." if place.at else f"There is no line {place.id}.",
                "Take an id from an answer, or look for a text with find.",
            )
    if place.back:
        return [*before][-limit:], len(before) > limit
    found = [*before]
    if begun is not None and not place.behind and wanted(begun):
        found.append(begun)
    for line in rest:
        if len(found) > limit:
            break
        if wanted(line):
            found.append(line)
    return found[:limit], len(found) > limit


def _fact(line: NumberedLine) -> Fact:
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
