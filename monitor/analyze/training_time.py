"""What was done in a span of status Training: pieces of time without a hole, each of one bucket (steps, slow steps, pauses,
beginnings), up to the tail after the last step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.analyze.checkpoints import Activity
from monitor.analyze.journal import MARKS, usual_gap_s
from monitor.analyze.lost import LostWork
from monitor.analyze.pace import pace
from monitor.analyze.silence import GAPS, LEAST_S
from monitor.model import Run

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
class TimePieces:
    """``edges`` in milliseconds, one more than ``codes``; none is empty, neighbors have different names."""

    edges: Ints
    codes: NDArray[np.int8]

    @classmethod
    def of(cls, edges: Ints | Sequence[int], names: NDArray[np.int8] | Sequence[str]) -> TimePieces:
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

    def then(self, other: TimePieces) -> TimePieces:
        """These, and those that begin where they end."""
        return TimePieces.of(np.append(self.edges[:-1], other.edges), np.append(self.codes, other.codes))

    def over(self, spans: Iterable[tuple[int, int]], name: str, only: Collection[str]) -> TimePieces:
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
        return TimePieces.of(edges, np.where(covered, np.int8(CODES[name]), codes))

    def few(self, most: int = MOST_PIECES) -> TimePieces:
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
        return TimePieces.of(edges, codes)


Ending = Literal["running", "well", "badly", "interrupted"]
_REST = {"running": "productive", "well": "idle-tail", "badly": "idle-tail", "interrupted": "lost-work"}


@dataclass(frozen=True, slots=True)
class TrainingTail:
    """How a span of training ends, and the lines that tell of checkpoints and evaluations (times in milliseconds)."""

    ending: Ending
    silent: Literal["", "stall", "unknown"]
    """The silence from the last step to the end is too long: the job stands still, or nobody knows what it does."""
    last_line: int | None
    """When any process last wrote anything."""
    at: NDArray[np.int64]
    what: NDArray[np.str_]
    """"checkpoint" or "evaluation"."""
    begins: NDArray[np.bool_]

    def pieces(self, last: int, end: int, limit: int) -> TimePieces:
        """From the ``last`` step to the ``end``; ``limit`` is how long the job may be silent before an interruption."""
        closed, opened = self._spans(last, end)
        rest = self.silent or _REST[self.ending]
        if self.ending == "interrupted" and end - last - sum(b - a for _, a, b in closed) > limit:
            rest = "stall"
        found = TimePieces.of([last, end], [rest])
        if opened is not None and rest != "stall":
            closed.append((opened[0], opened[1], end if self.ending == "running" else self._until(opened[1], end)))
        for what, a, b in closed:
            found = found.over([(a, b)], what, {rest})
        return found

    def _spans(self, last: int, end: int) -> tuple[list[tuple[str, int, int]], tuple[str, int] | None]:
        """The (what, begin, end) told of after the last step, disjoint, and the one that has not ended."""
        closed: list[tuple[str, int, int]] = []
        opened: tuple[str, int] | None = None
        free = last
        for place in np.flatnonzero((self.at >= last) & (self.at <= end)):
            at, what = int(self.at[place]), str(self.what[place])
            if self.begins[place]:
                if opened is not None and opened[0] != what:
                    closed.append((opened[0], opened[1], at))
                    free = at
                if opened is None or opened[0] != what:
                    opened = (what, at)
            else:
                begun = opened[1] if opened is not None and opened[0] == what else free
                closed.append((what, begun, at))
                opened, free = None, at
        return closed, opened

    def _until(self, begun: int, end: int) -> int:
        """A save that nothing says the end of lasted to the last line at most or, if it is that line, to the end."""
        return self.last_line if self.last_line is not None and begun < self.last_line < end else end


def marks(events: pd.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.str_], NDArray[np.bool_]]:
    """``at what begins`` of all lines that tell of a checkpoint or an evaluation, in time."""
    rows = events[events["kind"].str.match(r"(?:checkpoint|evaluation)-(?:begin|end)$") & events["timestamp"].notna()]
    rows = rows.sort_values("timestamp", kind="stable")
    return (
        rows["timestamp"].to_numpy("datetime64[ms]").astype(np.int64),
        rows["kind"].str.replace(r"-\w+$", "", regex=True).to_numpy(dtype="U10"),
        rows["kind"].str.endswith("-begin").to_numpy(dtype=bool),
    )


Floats = NDArray[np.float64]

_COLUMNS = ["at", "step", "steps", "gap_s", "wall_s", "step_time_s", "warm_up", *MARKS]
# Pauses that come back: at least this many, their distances (in steps) alike within a tenth.
_RECURRING = 3
_ALIKE = 0.1


def _limit_ms(usual_ms: int) -> int:
    """How long a job may be silent between two reports: five of its usual gaps, and five minutes at least."""
    return round(max(GAPS * usual_ms, 1000 * LEAST_S))


@dataclass(frozen=True, slots=True)
class ReportColumns:
    """The journal as columns, in milliseconds: when each report came, and what stands before it."""

    at: Ints
    """Never falls: a line that came late counts from the one before it."""
    took: Ints
    """The printed time of the steps that the report stands for; 0 where none is printed."""
    slow: Ints
    """What of it is more than those steps usually take: tracing, compilation. It counts where the report begins anew."""
    again: NDArray[np.bool_]
    """The first report after a restart."""
    lead: Ints
    """The part of the gap before the report that is no ordinary step."""
    lead_is_stall: NDArray[np.bool_]
    limit_ms: int
    """How long the job may be silent between two reports."""


def reports(
    journal: pd.DataFrame, spans: Sequence[Activity], lost: LostWork | None, steps: pd.DataFrame
) -> ReportColumns:
    """The columns of a journal; of the reports' times alone where no step is numbered. Empty where none has a time."""
    rows = journal[_COLUMNS]
    rows = rows if rows["at"].notna().all() else rows[rows["at"].notna()]
    if rows.empty:
        return _of_times(steps)
    at = np.maximum.accumulate(_ms(rows["at"]))
    gap = np.diff(at, prepend=at[0])
    counts = rows["steps"].to_numpy("float64")
    usual_count = float(np.nanmedian(counts)) if np.isfinite(counts).any() else 1.0
    counts = np.where(np.isfinite(counts), counts, usual_count)
    found = pace(rows)
    usual_ms = round(1000 * (usual_gap_s(rows) or 0.0))
    limit = _limit_ms(usual_ms)
    again = _restarts(rows, at, gap, counts, found.slow_s if found else usual_ms / 1000, lost)
    busy = np.zeros(len(at), dtype=bool)
    inside = np.searchsorted(at, [to_ms(span.start) for span in spans], "right")
    busy[inside[inside < len(at)]] = True
    ordinary = ~(again | busy)
    ordinary[0] = False
    reference = 1000 * found.reference_s * counts if found else np.full(len(at), float(usual_ms))
    lead = np.zeros(len(at))
    if found:
        slow = ordinary & (gap > 1000 * found.slow_s * counts)
        quick = ordinary & (gap < 1000 * found.fast_s * counts)
        lead = np.where(slow, gap - reference, 0.0)
        lead = np.maximum(0.0, lead - _made_up(np.where(quick, reference - gap, 0.0)))
    pauses = ordinary & (gap - reference > limit)
    lead = np.where(pauses, np.maximum(lead, gap - reference), lead)
    if _recurs(rows["step"][pauses]):
        pauses[:] = False
        lead = lead if found else np.zeros(len(at))
    took = _took(rows, usual_count)
    return ReportColumns(
        at=at,
        took=took,
        slow=np.where(took > 1000 * found.slow_s * counts, took - reference, 0).astype(np.int64) if found else 0 * took,
        again=again,
        lead=np.minimum(np.rint(lead).astype(np.int64), gap),
        lead_is_stall=pauses,
        limit_ms=limit,
    )


def training(run: Run, reports: ReportColumns, start: int, end: int, tail: TrainingTail, restarts: Ints) -> TimePieces:
    """The pieces of one Training span, from ``start`` to ``end`` in milliseconds.

    ``restarts`` are the times of lines that tell of one: what was silent before is no initialization.
    """
    first, last = np.searchsorted(reports.at, start, "left"), np.searchsorted(reports.at, end, "right")
    if not len(reports.at) or not run.logs.complete:
        return TimePieces.of([start, end], ["unknown"])
    if first == last:  # steps are seen in other spans: this one never came to one
        return TimePieces.of([start, end], ["initialization"])
    at, gaps = reports.at[first:last], np.diff(reports.at[first:last], prepend=start)
    lead = reports.lead[first:last].copy()
    names = np.where(reports.lead_is_stall[first:last], CODES["stall"], CODES["slow-excess"]).astype(np.int8)
    begins = reports.again[first:last].copy()
    begins[0] = True
    lead[begins] = np.maximum(0, gaps[begins] - reports.took[first:last][begins])
    names[begins] = CODES["initialization"]
    before = at - gaps
    edges = np.empty(2 * len(at) + 1, dtype=np.int64)
    edges[0], edges[1::2], edges[2::2] = start, before + lead, at
    both = np.full(2 * len(at), CODES["productive"], dtype=np.int8)
    both[0::2] = names
    found = TimePieces.of(edges, both)
    slow = np.minimum(reports.slow[first:last], gaps - lead)
    found = found.over(
        [(int(before[i] + lead[i]), int(before[i] + lead[i] + slow[i])) for i in np.flatnonzero(begins)],
        "slow-excess",
        {"productive"},
    )
    for place in np.flatnonzero(begins[1:]) + 1:
        since = restarts[(restarts > before[place]) & (restarts <= before[place] + lead[place])]
        if len(since) and since[0] - before[place] > reports.limit_ms:
            found = found.over([(int(before[place]), int(since[0]))], "stall", {"initialization"})
    return found.then(tail.pieces(int(at[-1]), end, reports.limit_ms))


def _restarts(
    rows: pd.DataFrame, at: Ints, gap: Ints, counts: Floats, slow_s: float, lost: LostWork | None
) -> NDArray[np.bool_]:
    told = rows["restart"].to_numpy(dtype=bool)
    fell = rows["steps"].isna().to_numpy()
    again = np.asarray(told & (fell | (gap > 1000 * slow_s * counts)))
    for loss in lost.losses if lost else ():
        if loss.end is None:
            continue
        # The loss may have been seen by another process, whose clock differs a little.
        near = int(np.searchsorted(at, to_ms(loss.end), "right"))
        window = np.arange(max(0, near - 2), min(len(at), near + 3))
        window = window[fell[window]]
        if len(window):
            again[window[np.argmin(np.abs(window - near))]] = True
    return again


def _took(rows: pd.DataFrame, usual: float) -> Ints:
    """The time of the steps before a report that begins anew: step 0 or 1 is one step, any other as many as usual."""
    number = rows["step"].to_numpy("float64", na_value=np.nan)
    took = 1000 * rows["step_time_s"].to_numpy("float64") * np.where(number <= 1, 1.0, usual)
    return np.asarray(np.rint(np.nan_to_num(took)), dtype=np.int64)


def _made_up(short: Floats) -> Floats:
    """For each report the sum of what the reports right after it were too short by."""
    out = np.zeros(len(short))
    runs = np.flatnonzero((short > 0) & ~np.append(False, short[:-1] > 0))
    if len(runs):
        sums = np.add.reduceat(short, runs)
        # reduceat sums up to the next run; between runs stand zeros.
        out[runs[runs > 0] - 1] = sums[runs > 0]
    return out


def _recurs(numbers: pd.Series) -> bool:
    distances = np.diff(numbers.to_numpy("float64", na_value=np.nan))
    if len(distances) + 1 < _RECURRING or not (distances > 0).all():
        return False
    usual = float(np.median(distances))
    return bool((np.abs(distances - usual) <= max(1.0, _ALIKE * usual)).all())


def _of_times(steps: pd.DataFrame) -> ReportColumns:
    at = np.unique(_ms(steps["timestamp"].dropna()))
    gap = np.diff(at, prepend=at[:1])
    usual = int(np.median(gap[1:])) if len(gap) > 1 else 0
    limit = _limit_ms(usual)
    pauses = gap - usual > limit
    empty = np.zeros(len(at), dtype=np.int64)
    return ReportColumns(
        at=at,
        took=empty,
        slow=empty,
        again=np.zeros(len(at), dtype=bool),
        lead=np.where(pauses, gap - usual, 0),
        lead_is_stall=pauses,
        limit_ms=limit,
    )


def _ms(times: pd.Series) -> Ints:
    return np.asarray(times.to_numpy("datetime64[ms]"), dtype=np.int64)


def to_ms(at: datetime) -> int:
    return round(1000 * at.timestamp())
