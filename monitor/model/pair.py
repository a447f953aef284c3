"""A job before and after a change: what was predicted of the change, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


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
    def held(self) -> bool | None:
        """Whether the measured middle lies in the predicted range; None where it does not, but what was measured leaves it
        open."""
        return held(self.predicted, self.measured)


def held(predicted: tuple[float, float, float], measured: tuple[float, float, float]) -> bool | None:
    """Whether a prediction held: yes where the measured middle lies in its range, no where the two ranges do not touch."""
    if predicted[0] <= measured[1] <= predicted[2]:
        return True
    apart = measured[2] < predicted[0] or predicted[2] < measured[0]
    return False if apart else None
