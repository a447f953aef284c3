"""Pieces of time without a hole between them, each of one bucket; however many steps there are, few pieces."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

#: Every second of a job's wall time is in exactly one of these.
BUCKETS = (
    "pending",
    "starting",
    "downloading",
    "image",
    "initialization",
    "productive",
    "slow-excess",
    "evaluation",
    "checkpoint",
    "stall",
    "lost-work",
    "interrupted",
    "uploading",
    "idle-tail",
    "unknown",
)
#: A bucket's name as a number.
CODES = {name: code for code, name in enumerate(BUCKETS)}
# A reader looks at tens of pieces; a job may have a million steps.
MOST_PIECES = 200
#: These come back all the time; what is left is told piece by piece, however short.
_COMMON = ("productive", "slow-excess", "evaluation", "checkpoint", "lost-work")


@dataclass(frozen=True, slots=True)
class Pieces:
    """``edges`` in milliseconds, one more than ``codes``; none is empty, neighbors have different names."""

    edges: Ints
    codes: NDArray[np.int8]

    @classmethod
    def of(cls, edges: Ints | Sequence[int], names: NDArray[np.int8] | Sequence[str]) -> Pieces:
        """Pieces between edges that do not fall; empty ones are left out, neighbors of one name become one."""
        codes = names if isinstance(names, np.ndarray) else np.array([CODES[name] for name in names], dtype=np.int8)
        bounds = np.asarray(edges, dtype=np.int64)
        filled = np.diff(bounds) > 0
        starts, codes, end = bounds[:-1][filled], codes[filled], bounds[-1:]
        first = np.ones(len(codes), dtype=bool)
        first[1:] = codes[1:] != codes[:-1]
        return cls(np.append(starts[first], end), codes[first])

    def __iter__(self) -> Iterator[tuple[str, int, int]]:
        for code, start, end in zip(self.codes, self.edges[:-1], self.edges[1:], strict=True):
            yield BUCKETS[code], int(start), int(end)

    def then(self, other: Pieces) -> Pieces:
        """These, and those that begin where they end."""
        return Pieces.of(np.append(self.edges[:-1], other.edges), np.append(self.codes, other.codes))

    def over(self, spans: Iterable[tuple[int, int]], name: str, only: Collection[str]) -> Pieces:
        """With the time in ``spans`` (start, end) that has one of the names ``only`` under another name."""
        inside = sorted((max(a, int(self.edges[0])), min(b, int(self.edges[-1]))) for a, b in spans)
        inside = [(a, b) for a, b in inside if b > a]
        if not inside or not len(self.codes):
            return self
        starts = np.array([a for a, _ in inside], dtype=np.int64)
        ends = np.maximum.accumulate(np.array([b for _, b in inside], dtype=np.int64))
        edges = np.unique(np.concatenate([self.edges, starts, ends]))
        codes = self.codes[np.searchsorted(self.edges, edges[:-1], "right") - 1]
        span = np.searchsorted(starts, edges[:-1], "right") - 1
        covered = (span >= 0) & (edges[:-1] < ends[np.maximum(span, 0)])
        covered &= np.isin(codes, [CODES[one] for one in only])
        return Pieces.of(edges, np.where(covered, np.int8(CODES[name]), codes))

    def few(self, most: int = MOST_PIECES) -> Pieces:
        """At most about ``most`` pieces; each name has the same seconds as before, to the millisecond.

        Where there are more, the short ones of a stretch of time are put together, training first; pieces longer than a
        stretch, and what is rare (a stall, an initialization), stay where they are.
        """
        if len(self.codes) <= most:
            return self
        stretches = max(1, most // len(_COMMON))
        width = max(1, -(-int(self.edges[-1] - self.edges[0]) // stretches))
        lengths = np.diff(self.edges)
        common = np.isin(self.codes, [CODES[name] for name in _COMMON]) & (lengths < width)
        # A group: neighbors that are common, up to the end of their stretch.
        stretch = (self.edges[:-1] - self.edges[0]) // width
        opens = np.ones(len(common), dtype=bool)
        opens[1:] = ~(common[1:] & common[:-1]) | (stretch[1:] != stretch[:-1])
        group = np.cumsum(opens) - 1
        order = np.array([_COMMON.index(name) if name in _COMMON else 0 for name in BUCKETS])
        sums = np.zeros((int(group[-1]) + 1, len(BUCKETS)), dtype=np.int64)
        np.add.at(sums, (group, self.codes), lengths)
        ranked = np.argsort(order, kind="stable")
        codes = np.tile(ranked.astype(np.int8), len(sums))
        edges = np.append(self.edges[0], self.edges[0] + np.cumsum(sums[:, ranked].ravel()))
        return Pieces.of(edges, codes)
