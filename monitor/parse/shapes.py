"""The shapes of lines that nobody recognised, so that a user sees what could be read and how."""

from __future__ import annotations

import re
from collections import Counter

_HINT = re.compile(r"(?i)\b(?:step|iter|batch|epoch|round|loss|it/s|samples|tokens|sec|ms|elapsed|time)\b|\d(?:s|ms)\b")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?")
# Words of a traceback or an installer, whatever figures they hold.
_NOT_FIGURES = re.compile(r'^\s*File "|site-packages|Requirement already|^\s*(?:Downloading|Collecting) |\bWARN')
_LONGEST = 400
_MOST_SHAPES = 2000


class Shapes:
    """Counts line shapes (numbers masked) of the lines that look as if they held figures; bounded in size."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._example: dict[str, str] = {}

    def add(self, line: str) -> None:
        if len(line) > _LONGEST or not _HINT.search(line) or _NOT_FIGURES.search(line):
            return
        shape, numbers = _NUMBER.subn("N", line.strip())
        if not numbers or (shape not in self._counts and len(self._counts) >= _MOST_SHAPES):
            return
        self._counts[shape] += numbers
        self._example.setdefault(shape, line.strip())

    def best(self, most: int = 3) -> tuple[str, ...]:
        """An example line of each of the shapes with the most numbers in all, most first; shapes seen once are left out."""
        repeated = [shape for shape, count in self._counts.most_common() if count > shape.count("N")]
        return tuple(self._example[shape] for shape in repeated[:most])


_STEP = re.compile(
    r"(?i)\b(?P<word>(?:global[_ ])?(?:step|iter(?:ation)?|batch|round|epoch))(?P<gap>[\s=:#\[/]{1,4})(?P<n>\d+)"
)
_TIME = re.compile(
    r"(?i)(?P<before>(?:[\w/]*(?:time|took|elapsed|duration|dt)[\w/]*(?: \((?P<key_unit>ms|s)\))?[\s=:]{1,4}))?"
    r"(?P<n>\d+(?:\.\d+)?)\s?(?P<unit>ms|s|sec|seconds)?\b(?!/)"
)


def suggested_pattern(line: str) -> str | None:
    """A ``--step-regex`` that reads the step and the time of ``line``, or None where no time can be told in it."""
    # An epoch is a step only where nothing finer is counted.
    step = next(iter(sorted(_STEP.finditer(line), key=lambda match: match["word"].lower() in {"epoch", "round"})), None)
    for match in _TIME.finditer(line):
        before, unit = match["before"] or "", match["unit"] or match["key_unit"] or ""
        if not before and not unit:
            continue
        milli = unit == "ms" or before.rstrip("=: ").lower().endswith(("_ms", "(ms)"))
        group = rf"(?P<{'time_ms' if milli else 'time_s'}>\d+(?:\.\d+)?)"
        time = re.escape(before).replace(r"\ ", " ") + group + (rf"\s?{match['unit']}\b" if match["unit"] else "")
        if step is None:
            return time
        if step.start() == match.start():
            continue
        number = rf"\b{re.escape(step['word'])}[\s=:#\[/]+(?P<step>\d+)".replace(r"\ ", " ")
        return rf"{number}\b.*?{time}" if step.start() < match.start() else rf"{time}.*?{number}"
    return None
