"""The shapes of lines that nobody recognized, so that a user sees what could be read and how."""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterator

import numpy as np

from monitor.model import LogPage
from monitor.parse.fields.keys import words_of
from monitor.parse.fields.vocabulary import SUB_TIMERS
from monitor.parse.linear import compiled
from monitor.parse.lines.envelope import fragments

_HINT = re.compile(
    r"(?i)(?<![a-z])(?:step|iter|batch|epoch|round|loss|it/s|samples|tokens|secs?|ms|elapsed|time)(?![a-z])|\d(?:s|ms)\b"
)
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?")
# Words of a traceback or an installer, whatever figures they hold.
_NOT_FIGURES = re.compile(r'^\s*File "|site-packages|Requirement already|^\s*(?:Downloading|Collecting) |\bWARN')
# Beyond this a line is no candidate for a pattern of the user's.
_LONGEST = 600
_LONGEST_TEXT = 400
# So many lines are looked at, or as many as come in one second.
_MOST_LINES = 20_000
_BLOCK_LINES = 100
_LEVELS = 32
_DIGITS = re.compile(rb"\d+")
# Of so many lines that differ in more than their digits it is remembered what they hold.
_MOST_KNOWN = 4_000
# So many of the shapes with the most numbers are looked at for a step and a time.
_MOST_LOOKED_AT = 50


_Example = tuple[tuple[int, str], str]
"""When or where a line stands, and its text: the first one is shown."""
_Shape = tuple[int, _Example]
"""How many numbers the lines of a shape hold in all, and one of them."""


class Shapes:
    """Counts line shapes (numbers masked) of the lines that look as if they held figures; bounded in size.

    Of a long log whole seconds are looked at (of lines without times: blocks), chosen by lot. Each has a level, half of them
    0, a quarter 1 and so on, and where lines are too many the lowest level is left out: so it is the same lines in the end,
    whatever the order in which pages come and how they are cut.
    """

    def __init__(self) -> None:
        self._lines = np.zeros(_LEVELS, np.int64)
        """How many there are of each level, looked at or not."""
        self._found: dict[int, dict[str, _Shape]] = {}
        self._lowest = 0
        self._known: dict[bytes, list[tuple[str, int]]] = {}

    def add(self, page: LogPage) -> None:
        """The lines of a page."""
        times = page.times_ms
        timed = times is not None and None not in times
        at = np.array(times, np.int64) if timed else page.first_line + np.arange(page.count)
        units, unit, counts = np.unique(
            at // (1000 if timed else _BLOCK_LINES), return_inverse=True, return_counts=True
        )
        levels = np.array([_level(f"{page.stream} {number}") for number in units.tolist()], np.int64)
        np.add.at(self._lines, levels, counts)
        while self._lines[self._lowest :].sum() > _MOST_LINES and self._lines[self._lowest + 1 :].any():
            self._found.pop(self._lowest, None)
            self._lowest += 1
        of_line = levels[unit]
        places = np.flatnonzero(of_line >= self._lowest).tolist()
        lines = page.data.split(b"\n")
        masked = _DIGITS.sub(b"0", b"\n".join([lines[place] for place in places])).split(b"\n")
        for place, key in zip(places, masked, strict=True):
            if len(line := lines[place]) <= _LONGEST:
                found = self._found.setdefault(int(of_line[place]), {})
                self._count(found, key, line, (int(at[place]), page.stream))

    def _count(self, found: dict[str, _Shape], key: bytes, line: bytes, place: tuple[int, str]) -> None:
        """Counts a line; ``key`` is what all lines have in common that count as the same."""
        shapes, parts = self._known.get(key), None
        if shapes is None and len(line) <= _LONGEST_TEXT:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            parts = list(_shapes(line))
            shapes = self._known[key] = [(shape, numbers) for shape, numbers, _ in parts]
        if shapes is not None and all(shape in found and found[shape][1][0] < place for shape, _ in shapes):
            for shape, numbers in shapes:
                count, first = found[shape]
                found[shape] = (count + numbers, first)
            return
        for shape, numbers, text in _shapes(line) if parts is None else parts:
            count, first = found.get(shape, (0, (place, text)))
            found[shape] = (count + numbers, min(first, (place, text)))

    def best(self, most: int = 3) -> tuple[str, ...]:
        """An example line of each of the shapes most like step reports: first those in which a step and a time can be
        told, then those with the most numbers in all; shapes seen once are left out where any was seen twice.
        """
        counts: Counter[str] = Counter()
        examples: dict[str, _Example] = {}
        for found in self._found.values():
            for shape, (count, example) in found.items():
                counts[shape] += count
                examples[shape] = min(example, examples.get(shape, example))
        ranked = sorted(counts, key=lambda shape: (-counts[shape], examples[shape]))
        repeated = [shape for shape in ranked if counts[shape] > shape.count("N")]
        lines = [examples[shape][1] for shape in repeated or ranked]
        likely = [line for line in lines[:_MOST_LOOKED_AT] if "<step>" in (suggested_pattern(line) or "")]
        return tuple(dict.fromkeys([*likely[:most], *lines]))[:most]


def _level(unit: str) -> int:
    digest = zlib.crc32(unit.encode("utf-8", "replace"))
    return min(_LEVELS - 1, (digest & -digest).bit_length() - 1) if digest else _LEVELS - 1


def _shapes(line: bytes) -> Iterator[tuple[str, int, str]]:
    """(shape, how many numbers, text) of each part of a line that looks as if it held figures."""
    for fragment in fragments(line.decode("utf-8", "replace")):
        text = fragment.text.strip()
        if len(fragment.text) <= _LONGEST_TEXT and _HINT.search(text) and not _NOT_FIGURES.search(fragment.text):
            shape, numbers = _NUMBER.subn("N", text)
            if numbers:
                yield shape, numbers, text


_STEP = re.compile(
    r"(?i)(?<![a-z])(?P<word>(?:global[_ ]?)?(?:step|iter(?:ation)?|batch|update|round|epoch)s?(?:_(?:idx|id|num|no))?)"
    r"(?P<gap>[\s=:#\[/\"']{1,16})(?P<n>\d{1,15})\b(?![.:]\d)"
)
# Names of finer counts first, of the whole run before those of an epoch.
_COARSE = {
    "epoch": 2,
    "epochs": 2,
    "round": 2,
    "rounds": 2,
    "batch": 1,
    "batches": 1,
    "global_step": -1,
    "global step": -1,
}
_LEADING = re.compile(r"[\[(]?(?P<n>\d{1,15})(?P<gap>[\]):,|]|\s)")
_TIME = re.compile(
    r"(?i)(?P<before>(?:[\w/]{0,40}(?:time|took|elapsed|duration|latency|seconds|secs|dt)[\w/]{0,40}"
    r"(?: ?\((?P<key_unit>ms|s|sec)\))?[\s=:\"']{1,4}))?"
    r"(?<![\d.:])(?P<n>\d++(?:\.\d++)?+)(?!:\d)\s?(?P<unit>ms|s|secs?|seconds?)?\b(?![/=:]|\"\s?:)"
)
_RATE = re.compile(r"(?i)(?<![\d.])(?P<n>\d++(?:\.\d++)?+)\s?(?P<unit>(?:it|iters?|steps?|batch(?:es)?)/s(?:ec)?)\b")
_FIGURE = r"\d+(?:\.\d+)?"


def suggested_pattern(line: str) -> str | None:
    """A ``--step-regex`` that reads the step and the time of ``line``, or None where no time can be told in it."""
    for time in _times(line):
        for pattern in _with_step(line, *time):
            if (match := compiled(pattern).search(line)) is not None and any(match.groupdict().values()):
                return pattern
    return None


def _times(line: str) -> list[tuple[int, str]]:
    """(place, pattern) of the numbers that say how long, those with a name first."""
    named: list[tuple[int, str]] = []
    bare: list[tuple[int, str]] = []
    for match in _TIME.finditer(line):
        before, unit = match["before"] or "", match["unit"] or match["key_unit"] or ""
        if (not before and not unit) or not SUB_TIMERS.isdisjoint(words_of(before)):
            continue
        milli = unit.lower() == "ms" or "ms" in words_of(before)
        group = rf"(?P<{'time_ms' if milli else 'time_s'}>{_FIGURE})"
        tail = rf"\s?{match['unit']}\b" if match["unit"] else ""
        edge = r"\b" if before[:1].isalnum() else ""  # not the end of another name
        (named if before else bare).append((match.start(), edge + _literal(before) + group + tail))
    rates = (
        (match.start(), rf"(?P<it_per_s>{_FIGURE})\s?{re.escape(match['unit'])}") for match in _RATE.finditer(line)
    )
    return [*named, *bare, *rates]


def _with_step(line: str, place: int, time: str) -> list[str]:
    """The pattern of a time with that of a step around it, if there is one: the finest count, or the line's first number."""
    found = sorted(_STEP.finditer(line), key=lambda match: _COARSE.get(match["word"].lower(), 0))
    for match in found:
        number = rf"\b{_literal(match['word'])}[\s=:#\[/\"']+(?P<step>\d+)"
        if match["word"][:1].isalpha() and line[: match.start()][-1:] == "_":
            number = number[2:]  # "train_step=7"
        if match.end() <= place:
            return [rf"{number}\b.*?{time}"]
        if match.start() > place:
            return [rf"{time}.*?{number}"]
    leading = _LEADING.match(line.strip())
    if leading is not None and place >= leading.end():
        return [rf"^\s*[\[(]?(?P<step>\d+){re.escape(leading['gap'])}.*?{time}".replace(r"\ ", r"\s"), time]
    return [time]


def _literal(text: str) -> str:
    return re.sub(r"(?:\\\s)+", r"\\s+", re.escape(text))
