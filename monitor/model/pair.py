"""A job before and after a change: what was predicted for the change, and how it turned out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Came = Literal["held", "missed", "inconclusive", "too wide to test"]

#: A range with 0 in it takes no side. Wider than this (its high step time over its low one: some -10 to +12 %) it leaves open
#: most of what a change of parameters does, for better or worse.
WIDEST_OPEN = 1.25


@dataclass(frozen=True, slots=True)
class PairSide:
    """One of the two jobs: enough to find it again, and how many steps its step time is of."""

    name: str
    arn: str
    created: datetime | None
    steps: int


@dataclass(frozen=True, slots=True)
class Pair:
    """``predicted`` and ``measured`` are (low, middle, high) percent of the time for the same samples."""

    before: PairSide
    after: PairSide
    changed: Mapping[str, tuple[str, ...]]
    """Parameter -> value before and after, "" where there was none. Names and values of the model's parameters alone: no
    script's own, which may hold anything."""
    predicted: tuple[float, float, float]
    measured: tuple[float, float, float]
    method: str
    """What the prediction rests on."""
    framework: str | None
    parameters: float | None
    """Of the model; None where it is not known."""
    findings: tuple[str, ...]
    """Whose advice was followed."""
    compared_at: datetime

    @property
    def came(self) -> Came:
        """What the measurement says of the prediction."""
        return came_of(self.predicted, self.measured)


def came_of(predicted: tuple[float, float, float], measured: tuple[float, float, float]) -> Came:
    """What came of a prediction, both as (low, middle, high) percent.

    missed: the two ranges do not touch. inconclusive: they overlap, and the measured middle is outside. Inside it held, if
    it could have failed: a range that leaves open whether a change helps, and by far, fits whatever is measured.
    """
    if measured[2] < predicted[0] or predicted[2] < measured[0]:
        return "missed"
    if _says_nothing(predicted):
        return "too wide to test"
    return "held" if predicted[0] <= measured[1] <= predicted[2] else "inconclusive"


def _says_nothing(predicted: tuple[float, float, float]) -> bool:
    low, _, high = (1 + max(each, -99.9) / 100 for each in predicted)
    return low < 1 < high and high / low > WIDEST_OPEN
