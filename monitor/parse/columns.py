"""Many printed numbers at once: what ``monitor.parse.numbers`` does for one, over columns of texts, NaN for what is none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor.parse.numbers import LONGEST_STEP_S, MOST_DIGITS, clock_s, count, number

Floats = NDArray[np.float64]
Columns = Mapping[str, Sequence[Any] | NDArray[Any] | str]
"""Readings as columns by the fields' names; a text that is the same for all of them stands alone."""
_LARGEST_COUNT = 10.0**MOST_DIGITS


# A number as it is printed nearly always; what is printed otherwise is read one by one.
NUMBER = r"-?\d{1,15}(?:\.\d{1,20})?(?:[eE][-+]?\d{1,3})?"


@lru_cache(maxsize=512)
def whole_line(pattern: str) -> re.Pattern[str]:
    """A pattern that finds every line of a text once: by ``pattern`` with its groups, or with all of them empty."""
    return re.compile(rf"^(?:{pattern}|[^\n]*)$", re.MULTILINE)


def matched(pattern: str, texts: Sequence[str], sure: int = 0) -> tuple[list[int], list[tuple[str, ...]]]:
    """(index of each text that is ``pattern``, the columns of its groups); the group ``sure`` is never empty then.

    One search through all of the texts: for lines of one kind that takes a third of the time of a search in each.
    """
    if not texts:
        return [], []
    rows = whole_line(pattern).findall("\n".join(texts))
    if len(rows) != len(texts):
        return [], []  # one of the texts has a line feed of its own
    at = [place for place, row in enumerate(rows) if row[sure]]
    return at, list(zip(*(rows if len(at) == len(rows) else [rows[place] for place in at]), strict=True))


def numbers(texts: Sequence[str | None]) -> Floats:
    """The numbers that the texts print, as ``number`` reads each."""
    try:
        return np.fromiter(map(float, texts), np.float64, len(texts))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return np.array([number(text) for text in texts], np.float64)


def counts(texts: Sequence[str | None]) -> Floats:
    """Whole numbers, as ``count`` reads each; the texts are digits, or missing."""
    try:
        values = np.fromiter(map(float, texts), np.float64, len(texts))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return np.array([count(text) for text in texts], np.float64)
    return np.where(values < _LARGEST_COUNT, values, np.nan)


def durations(values_s: Floats) -> Floats:
    """The values that can be durations of a step, as ``duration_s`` judges each."""
    return np.where((values_s > 0) & (values_s < LONGEST_STEP_S), values_s, np.nan)


_MINUTES = {f"{minute:02}:{second:02}": minute * 60.0 + second for minute in range(60) for second in range(60)}


def clocks(texts: Sequence[str]) -> list[float | None]:
    """Seconds of clocks such as "36:27" and "1:00:44", as ``clock_s`` reads each."""
    known = _MINUTES.get
    return [clock_s(text) if (seconds := known(text)) is None else seconds for text in texts]
