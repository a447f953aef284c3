"""The events of all lines of one shape: the whole line, a text of their own, or one with numbers of the line in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from monitor.parse.events.reader import LONGEST_TEXT
from monitor.parse.pages.answers import Answer, Ask

_DIGITS = re.compile(r"[0-9]+")


class PlannedEvent(NamedTuple):
    """An event of every line."""

    kind: str
    text: tuple[str | int, ...] | None = None
    """Literal texts and, by their place in the line, runs of its digits; None where it is the line from ``begin`` on."""
    begin: str = ""

    @property
    def is_constant(self) -> bool:
        """All lines say the same."""
        return self.text is not None and len(self.text) == 1

    def of(self, line: str) -> tuple[str, str]:
        """Kind and text of a line's event."""
        return self.kind, self.text_of(line)

    def text_of(self, line: str) -> str:
        """The text of a line's event."""
        if self.text is None:
            return line[line.find(self.begin) :].strip()[:LONGEST_TEXT]
        runs = () if self.is_constant else _DIGITS.findall(line)
        return "".join(
            [part if isinstance(part, str) else runs[part] if part < len(runs) else "" for part in self.text]
        )


def events(
    answers: Sequence[Answer], are_printed: Callable[[int, PlannedEvent], bool] | None = None
) -> tuple[PlannedEvent, ...] | None:
    """The events of lines; None where a text hangs on numbers otherwise. Without ``are_printed`` none is made of numbers."""
    out = []
    for at, (kind, text) in enumerate(answers[0].events):
        said = [(one.text, one.events[at][1]) for one in answers]
        begin = text[: match.start()] if (match := _DIGITS.search(text)) else ""
        ways = [PlannedEvent(kind), PlannedEvent(kind, (text,)), PlannedEvent(kind, None, begin)]
        way = next((way for way in ways if all(way.of(line) == (kind, own) for line, own in said)), None)
        if way is None and are_printed is not None and (parts := _parts(said)) is not None:
            way = PlannedEvent(kind, parts) if are_printed(at, PlannedEvent(kind, parts)) else None
        if way is None:
            return None
        out.append(way)
    return tuple(out)


def as_printed(
    line: bytes, own: Answer, spans: Sequence[tuple[int, int]], ask: Ask, at: int, told: PlannedEvent
) -> bool:
    """The numbers in the text of an event are as the line has them, also where they begin or end with a zero."""
    told_runs = {part for part in told.text or () if isinstance(part, int)}
    # The runs of a line with wrapping are more than those of its text.
    for start, end in (span for run, span in enumerate(spans) if run in told_runs or not own.bare):
        digits = line[start:end]
        for other in (digits[:-1] + b"0", b"0" + digits[1:]):
            found = ask(line[:start] + other + line[end:])
            if found is None or (found.is_like(own) and found.events[at] != told.of(found.text)):
                return False
    return True


def _parts(said: Sequence[tuple[str, str]]) -> tuple[str | int, ...] | None:
    """What texts are made of that hold numbers of their lines: the same literal texts, and the same runs of digits."""
    runs = [_DIGITS.findall(line) for line, _ in said]
    numbers = [_DIGITS.findall(text) for _, text in said]
    if len({len(each) for each in runs}) != 1 or len({len(each) for each in numbers}) != 1:
        return None
    columns = list(zip(*runs, strict=True))
    literal = _DIGITS.split(said[0][1])
    out: list[str | int] = [literal[0]]
    for column, after in zip(zip(*numbers, strict=True), literal[1:], strict=True):
        if column not in columns:
            return None
        out += (columns.index(column), after)
    return tuple(out)
