"""How sure is a rate of few events, and is a share another one than before? Intervals, so that nobody acts on chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

#: Of all intervals here.
COVERS = 0.95
_DRAWS = 1000
# Fewer jobs than this on a side, and resampling them says nothing.
_FEWEST = 5


@dataclass(frozen=True, slots=True)
class Rate:
    """``hours`` of exposure with ``events`` in them; the mean time between two, and its interval."""

    hours: float
    events: int

    @property
    def between_h(self) -> float | None:
        """None without an event."""
        return self.hours / self.events if self.events else None

    @property
    def between_h_interval(self) -> tuple[float, float | None] | None:
        """The exact Poisson interval; without an event it has no upper end. None without any time."""
        if not self.hours:
            return None
        low, high = poisson(self.events)
        return self.hours / high, self.hours / low if low else None

    @property
    def per_1000_days(self) -> float | None:
        return 24_000 * self.events / self.hours if self.hours else None


def poisson(events: int) -> tuple[float, float]:
    """The exact interval (Garwood 1936) of the mean of so many events."""
    # Imported late: it takes most of a second, and every command starts with this file.
    from scipy.stats import chi2

    tail = (1 - COVERS) / 2
    low = float(chi2.ppf(tail, 2 * events)) / 2 if events else 0.0
    return low, float(chi2.ppf(1 - tail, 2 * events + 2)) / 2


Verdict = Literal["up", "down", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Change:
    """A share now less the share before, in points (0 to 100), with its interval over the jobs."""

    points: float
    low: float
    high: float

    @property
    def verdict(self) -> Verdict:
        return "up" if self.low > 0 else "down" if self.high < 0 else "cannot tell"


def change_of_share(now: Sequence[tuple[float, float]], before: Sequence[tuple[float, float]]) -> Change | None:
    """Of two samples of jobs, each (part, whole); None where either has too few jobs to say anything.

    Jobs are drawn again with replacement, whole ones: the hours of one job are not independent of each other.
    """
    if min(len(now), len(before)) < _FEWEST or not all(sum(whole for _, whole in side) for side in (now, before)):
        return None
    # The same report comes out of the same archive, however often it is made.
    generator = np.random.default_rng(0)
    shares = []
    for side in (now, before):
        parts = np.array(side)
        drawn = generator.multinomial(len(parts), np.full(len(parts), 1 / len(parts)), _DRAWS) @ parts
        shares.append(drawn[:, 0] / np.maximum(drawn[:, 1], 1e-12))
    tail = 50 * (1 - COVERS)
    low, high = np.percentile(100 * (shares[0] - shares[1]), [tail, 100 - tail])
    points = 100 * (_share(now) - _share(before))
    return Change(points, float(low), float(high))


def _share(side: Sequence[tuple[float, float]]) -> float:
    return sum(part for part, _ in side) / sum(whole for _, whole in side)
