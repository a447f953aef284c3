"""What was done in a span of status Training? Pieces of time without a hole: steps, slow steps, pauses, beginnings.

What is between two reports of the journal is, in this order: checkpoint and evaluation as ``activities`` found them; for
the first report and after a restart all but the steps reported is initialization; of steps longer than the pace's limit,
what is above its reference is slow-excess; if that is more than a silence may be, and does not come back in equal
distances, it is a stall. The rest is productive. Where lines have no clock of their own (they come in blocks), only stalls
are seen. What a late line took from the steps that were reported right after it is no slow step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.analyze.activities import Activity
from monitor.analyze.journal import MARKS, usual_gap_s
from monitor.analyze.lost import LostWork
from monitor.analyze.pace import pace
from monitor.analyze.pieces import CODES, Pieces
from monitor.analyze.silence import GAPS, LEAST_S
from monitor.analyze.tail import Tail
from monitor.model import Run

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_COLUMNS = ["at", "step", "steps", "gap_s", "wall_s", "step_time_s", "warm_up", *MARKS]
# Pauses that come back: at least this many, their distances (in steps) alike within a tenth.
_RECURRING = 3
_ALIKE = 0.1


def _limit_ms(usual_ms: int) -> int:
    """How long a job may be silent between two reports: five of its usual gaps, and five minutes at least."""
    return round(max(GAPS * usual_ms, 1000 * LEAST_S))


@dataclass(frozen=True, slots=True)
class Reports:
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


def reports(journal: pd.DataFrame, spans: Sequence[Activity], lost: LostWork | None, steps: pd.DataFrame) -> Reports:
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
    inside = np.searchsorted(at, [_to_ms(span.start) for span in spans], "right")
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
    took = _took(rows, counts, usual_count)
    return Reports(
        at=at,
        took=took,
        slow=np.where(took > 1000 * found.slow_s * counts, took - reference, 0).astype(np.int64) if found else 0 * took,
        again=again,
        lead=np.minimum(np.rint(lead).astype(np.int64), gap),
        lead_is_stall=pauses,
        limit_ms=limit,
    )


def training(run: Run, told: Reports, start: int, end: int, tail: Tail, restarts: Ints) -> Pieces:
    """The pieces of one Training span, from ``start`` to ``end`` in milliseconds.

    ``restarts`` are the times of lines that tell of one: what was silent before is no initialization.
    """
    first, last = np.searchsorted(told.at, start, "left"), np.searchsorted(told.at, end, "right")
    if not len(told.at) or not run.logs.complete:
        return Pieces.of([start, end], ["unknown"])
    if first == last:  # steps are seen in other spans: this one never came to one
        return Pieces.of([start, end], ["initialization"])
    at, gaps = told.at[first:last], np.diff(told.at[first:last], prepend=start)
    lead = told.lead[first:last].copy()
    names = np.where(told.lead_is_stall[first:last], CODES["stall"], CODES["slow-excess"]).astype(np.int8)
    begins = told.again[first:last].copy()
    begins[0] = True
    lead[begins] = np.maximum(0, gaps[begins] - told.took[first:last][begins])
    names[begins] = CODES["initialization"]
    before = at - gaps
    edges = np.empty(2 * len(at) + 1, dtype=np.int64)
    edges[0], edges[1::2], edges[2::2] = start, before + lead, at
    both = np.full(2 * len(at), CODES["productive"], dtype=np.int8)
    both[0::2] = names
    found = Pieces.of(edges, both)
    slow = np.minimum(told.slow[first:last], gaps - lead)
    found = found.over(
        [(int(before[i] + lead[i]), int(before[i] + lead[i] + slow[i])) for i in np.flatnonzero(begins)],
        "slow-excess",
        {"productive"},
    )
    for place in np.flatnonzero(begins[1:]) + 1:
        since = restarts[(restarts > before[place]) & (restarts <= before[place] + lead[place])]
        if len(since) and since[0] - before[place] > told.limit_ms:
            found = found.over([(int(before[place]), int(since[0]))], "stall", {"initialization"})
    return found.then(tail.pieces(int(at[-1]), end, told.limit_ms))


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
        near = int(np.searchsorted(at, _to_ms(loss.end), "right"))
        window = np.arange(max(0, near - 2), min(len(at), near + 3))
        window = window[fell[window]]
        if len(window):
            again[window[np.argmin(np.abs(window - near))]] = True
    return again


def _took(rows: pd.DataFrame, counts: Floats, usual: float) -> Ints:
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


def _of_times(steps: pd.DataFrame) -> Reports:
    at = np.unique(_ms(steps["timestamp"].dropna()))
    gap = np.diff(at, prepend=at[:1])
    usual = int(np.median(gap[1:])) if len(gap) > 1 else 0
    limit = _limit_ms(usual)
    pauses = gap - usual > limit
    empty = np.zeros(len(at), dtype=np.int64)
    return Reports(
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


def _to_ms(at: datetime) -> int:
    return round(1000 * at.timestamp())
