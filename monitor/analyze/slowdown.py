"""Whether the steps have become slower for good, and since when. Legitimate reasons for slower steps are excluded.

Legitimate: a step that does more work (times are compared for equal work, where a throughput tells it), another run
in the same log, another number of processes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.analyze.journal import plain_rows
from monitor.analyze.pace import for_equal_work

Floats = NDArray[np.float64]

# A rise is told when it has lasted so long (where lines have no times: for so many reports), after a level as long as half.
LASTS_S = 600.0
LASTS_REPORTS = 20
# So many reports on either side of the same step of another segment.
_ASIDE = 50
# On all nodes: a few may be late with their lines.
_ON_MOST_NODES = 0.8
# A log that gives whole seconds: so many of them together give the time of a step to a few percent.
_COARSE_S = 20.0
_OWN = frozenset({"step", "cumulative", "interval", "aggregated"})


@dataclass(frozen=True, slots=True)
class Slowdown:
    """Steps took ``before_s`` up to ``at`` and take ``after_s`` since."""

    before_s: float
    after_s: float
    at: datetime | None
    end: datetime | None
    step: int
    by: str
    """"printed", "clock", or a unit of throughput; then the figures are its inverse."""
    gradual: bool
    restarted: bool
    """The change is at a restart."""
    nodes: int
    """How many nodes' own figures show it; 0 where they have none."""
    lasts_s: float | None
    lasts_share: float
    """Of all reports."""

    @property
    def ratio(self) -> float:
        return self.after_s / self.before_s


def slowdown(journal: pd.DataFrame, steps: pd.DataFrame, events: pd.DataFrame, other_runs: bool) -> Slowdown | None:
    """The lasting slowdown; None where there is none, or where it is not one of the same work.

    ``other_runs``: a counter that begins again in these lines may be another run's.
    """
    rows = plain_rows(journal).reset_index(drop=True) if len(journal) else journal
    if len(rows) < 2 * LASTS_REPORTS:
        return None
    for by, values, places in _series(rows):
        rise = lasting_rise(values)
        if rise is None:
            continue
        place = int(places[rise.at])
        first, change, last = rows.iloc[0], rows.iloc[place], rows.iloc[-1]
        if (
            not _long_enough(rows, place)
            or _by_schedule(rows, place, by)
            or _throughput_kept_up(rows, place, rise.ratio)
        ):
            continue
        near = rows.iloc[max(0, place - 2) : place + 2]
        boundary = near["segment"].nunique() > 1
        told = _restart_near(journal, near)
        restarted = boundary or told
        # A counter that begins again in one stream, with no word of a restart, counts something else: another phase or run.
        anew = boundary and (other_runs or (not told and near["stream"].nunique() == 1))
        if anew or _other_world(events, change["at"]):
            continue
        nodes = _nodes_that_show_it(steps, change)
        if nodes is None:
            continue
        timed = pd.notna(change["at"]) and pd.notna(last["at"]) and pd.notna(first["at"])
        return Slowdown(
            rise.before,
            rise.after,
            change["at"].to_pydatetime() if timed else None,
            last["at"].to_pydatetime() if timed else None,
            int(change["step"]),
            by,
            rise.gradual,
            restarted,
            nodes,
            (last["at"] - change["at"]).total_seconds() if timed else None,
            1 - place / len(rows),
        )
    return None


def _series(rows: pd.DataFrame) -> list[tuple[str, Floats, NDArray[np.int64]]]:
    """What can be looked at: name, values, and the row of each value. The printed time first, then the clock."""
    every = np.arange(len(rows))
    out: list[tuple[str, Floats, NDArray[np.int64]]] = []
    own = set(rows["kind"].unique()) <= _OWN
    printed = rows["step_time_s"].to_numpy("float64")
    if own and np.isfinite(printed).mean() >= 0.5:
        out.append(("printed", for_equal_work(rows, printed), every))
    wall = rows["wall_s"].to_numpy("float64")
    if np.isfinite(wall).mean() >= 0.5:
        gap = float(np.nanmedian(rows["gap_s"].to_numpy("float64")))
        if bool((rows["at"].dt.microsecond == 0).all()) and gap < _COARSE_S:
            out.append(("clock", *_in_blocks(rows, int(np.ceil(_COARSE_S / max(gap, 0.5))))))
        else:
            out.append(("clock", for_equal_work(rows, wall), every))
    if not out and own:
        units = {str(unit) for unit in rows["throughput_unit"].unique()} - {""}
        throughput = rows["throughput"].to_numpy("float64")
        if len(units) == 1 and np.isfinite(throughput).mean() >= 0.5:
            out.append((units.pop(), 1 / np.where(throughput > 0, throughput, np.nan), every))
    return out


def _in_blocks(rows: pd.DataFrame, size: int) -> tuple[Floats, NDArray[np.int64]]:
    """The time of a step over blocks of so many rows."""
    known = np.flatnonzero(rows["wall_s"].notna().to_numpy())
    starts = np.arange(0, len(known), size)
    gaps = np.add.reduceat(rows["gap_s"].to_numpy("float64")[known], starts)
    steps = np.add.reduceat(rows["steps"].to_numpy("float64")[known], starts)
    return gaps / steps, known[starts]


def _long_enough(rows: pd.DataFrame, place: int) -> bool:
    if len(rows) - place < LASTS_REPORTS // 2 or place < LASTS_REPORTS // 2:
        return False
    first, change, last = rows["at"].iloc[0], rows["at"].iloc[place], rows["at"].iloc[-1]
    if pd.isna(first) or pd.isna(change) or pd.isna(last):
        return min(place, len(rows) - place) >= LASTS_REPORTS
    lasted, before = (last - change).total_seconds(), (change - first).total_seconds()
    return bool(lasted >= LASTS_S and before >= LASTS_S / 2)


def _throughput_kept_up(rows: pd.DataFrame, place: int, ratio: float) -> bool:
    """Whether tokens or samples a second did not fall with it: not clearly by half of what a mean over all time would."""
    units = {str(unit) for unit in rows["throughput_unit"].unique()} - {""}
    if len(units) != 1 or next(iter(units)).startswith(("it", "step")):
        return False
    part = 1 - place / len(rows)
    expected = 1 - 1 / (1 - part + part * ratio)
    sides = (
        rows["throughput"].iloc[:place].dropna(),
        rows["throughput"].iloc[place + (len(rows) - place) // 2 :].dropna(),
    )
    if not all(len(side) for side in sides):
        return False
    before, newest = (float(side.median()) for side in sides)
    # Twice the standard error of a median, for each side, of its own spread.
    noise = sum(2 * 1.86 * float((side - side.median()).abs().median()) / len(side) ** 0.5 for side in sides)
    return bool(before > 0 and 1 - newest / before < 0.5 * expected + noise / before)


def _by_schedule(rows: pd.DataFrame, place: int, by: str) -> bool:
    """Whether the steps became slower at the same number in another segment, too: then the training means to."""
    column = "wall_s" if by == "clock" else "step_time_s"
    change = rows.iloc[place]
    for _, other in rows[rows["segment"] != change["segment"]].groupby("segment"):
        before = other.loc[other["step"] < change["step"], column].dropna().tail(_ASIDE)
        after = other.loc[other["step"] >= change["step"], column].dropna().head(_ASIDE)
        if min(len(before), len(after)) >= LASTS_REPORTS // 2 and after.median() >= (1 + LEAST_RISE) * before.median():
            return True
    return False


def _restart_near(journal: pd.DataFrame, near: pd.DataFrame) -> bool:
    lines = journal["line"].between(near["line"].min(), near["line"].max())
    return bool(journal.loc[lines, "restart"].any())


def _other_world(events: pd.DataFrame, at: pd.Timestamp) -> bool:
    """Whether the log tells of different numbers of processes before and after."""
    told = events[(events["kind"] == "world-size") & events["timestamp"].notna()]
    if told.empty or pd.isna(at):
        return False
    sizes = pd.to_numeric(told["text"].str.extract(r"(\d+)\D*$")[0])
    before, after = sizes[told["timestamp"] <= at].dropna(), sizes[told["timestamp"] > at].dropna()
    return bool(len(before) and len(after) and before.iloc[-1] != after.iloc[-1])


def _nodes_that_show_it(steps: pd.DataFrame, change: pd.Series) -> int | None:
    """How many nodes' own step times rose; None where they are of too few of the nodes."""
    rows = steps.loc[(steps["node"] != "") & ~steps["warm_up"], ["node", "segment", "step", "timestamp", "step_time_s"]]
    rows = rows.dropna(subset=["step_time_s"])
    names = rows["node"].unique()
    if len(names) < 2:
        return len(names)
    if pd.isna(change["at"]):
        after = (rows["segment"] > change["segment"]) | (
            (rows["segment"] == change["segment"]) & (rows["step"] >= change["step"])
        ).fillna(False)
    else:
        after = rows["timestamp"] >= change["at"]
    medians = rows.groupby([rows["node"], after])["step_time_s"].median().unstack()
    if medians.shape[1] < 2:
        return 0
    rose = medians[True] >= (1 + LEAST_RISE / 2) * medians[False]
    # Where their own times do not show it at all, it lies between the steps, and holds for all.
    if not rose.any():
        return 0
    return int(rose.sum()) if float(rose.mean()) >= _ON_MOST_NODES else None


LEAST_RISE = 0.10
MOST_POINTS = 5_000
# Reports on either side of a change, before it is one.
FEWEST_REPORTS = 10
_MIN_SIZE = 4
_WINDOW = 100
_SIGMAS = 5.0
_MAD = 1.4826
# The standard error of a median is this times that of a mean, for normal noise.
_MEDIAN_ERROR = 1.2533
# The cheap look: so many blocks, and a rise of their medians a little below the one that is asked for.
_BLOCKS = 40
_MIN_BLOCK = 5
# Blocks that climb nearly always: the rank correlation of level and time.
_CLIMBS = 0.8
_MAYBE = 0.8 * LEAST_RISE


@dataclass(frozen=True, slots=True)
class Rise:
    """The level before and after position ``at`` of the series; to the end it never falls back."""

    at: int
    before: float
    after: float
    gradual: bool = False
    """It rose bit by bit from ``at`` on; ``after`` is the level of the end."""

    @property
    def ratio(self) -> float:
        return self.after / self.before


def lasting_rise(values: Floats) -> Rise | None:
    """The largest rise of at least 10 % that lasts to the end; None where there is none. NaN are left out.

    A series without one such change that climbs all the time, by 10 % from its first to its last fifth, rose gradually.
    """
    places = np.flatnonzero(np.isfinite(values) & (values > 0))
    known = values[places]
    if len(known) < 2 * FEWEST_REPORTS or not _may_have_risen(known):
        return None
    size = -(-len(known) // MOST_POINTS)
    thin = _block_medians(known, size)
    cuts = [0, *_change_points(thin), len(thin)]
    found = _verified(known, [min(cut * size, len(known)) for cut in cuts]) or _gradual(known)
    return None if found is None else replace(found, at=int(places[found.at]))


def _may_have_risen(values: Floats) -> bool:
    """Whether the end lies above an earlier stretch: medians of blocks, and the lowest of what is still to come."""
    blocks = _block_medians(values, max(_MIN_BLOCK, len(values) // _BLOCKS))
    pairs = np.convolve(blocks, [0.5, 0.5], "valid") if len(blocks) > 2 else blocks
    to_come = np.minimum.accumulate(pairs[::-1])[::-1]
    return bool((to_come[1:] >= (1 + _MAYBE) * np.minimum.accumulate(pairs)[:-1]).any())


def _block_medians(values: Floats, size: int) -> Floats:
    if size <= 1:
        return values
    whole = len(values) // size * size
    medians: Floats = np.median(values[:whole].reshape(-1, size), axis=1)
    return medians if whole == len(values) else np.append(medians, np.median(values[whole:]))


def _change_points(values: Floats) -> list[int]:
    import ruptures

    middle = float(np.median(values))
    spread = max(_MAD * float(np.median(np.abs(values - middle))), 0.005 * middle)
    # One step of a hundred times the usual length is no level.
    clipped = np.minimum(values, 3 * max(middle, float(np.median(values[-len(values) // 4 :]))))
    search = ruptures.KernelCPD(kernel="linear", min_size=_MIN_SIZE).fit(clipped.reshape(-1, 1))
    return [int(cut) for cut in search.predict(pen=3 * np.log(len(values)) * spread**2)[:-1]]


def _verified(values: Floats, cuts: list[int]) -> Rise | None:
    """The change after which every level stays 10 % above the one before it, with the largest ratio of levels."""
    joined = _levels(values, cuts)
    levels = [level for _, _, level in joined]
    best: Rise | None = None
    for n in range(1, len(joined)):
        at = joined[n][0]
        after = values[at:]
        if min(levels[n:]) < (1 + LEAST_RISE) * levels[n - 1] or len(after) < FEWEST_REPORTS:
            continue
        if not _stands_out(values[max(joined[n - 1][0], at - _WINDOW) : at], after[:_WINDOW]):
            continue
        rise = Rise(at, levels[n - 1], float(np.median(after)))
        best = rise if best is None or rise.ratio > best.ratio else best
    return best


def _levels(values: Floats, cuts: list[int]) -> list[tuple[int, int, float]]:
    """Begin, end and median of each level. A few reports are none: they belong to that beside them which is nearer."""
    spans = [(a, b, float(np.median(values[a:b]))) for a, b in pairwise(cuts) if b > a]
    while len(spans) > 1:
        place = min(range(len(spans)), key=lambda n: spans[n][1] - spans[n][0])
        begin, end, level = spans[place]
        if end - begin >= FEWEST_REPORTS:
            break
        beside = (n for n in (place - 1, place + 1) if 0 <= n < len(spans))
        first = min(place, min(beside, key=lambda n: abs(np.log(spans[n][2] / level))))
        a, b = spans[first][0], spans[first + 1][1]
        spans[first : first + 2] = [(a, b, float(np.median(values[a:b])))]
    return spans


def _stands_out(before: Floats, after: Floats) -> bool:
    """Whether the medians of two adjacent windows differ by 10 % and by five standard errors."""
    low, high = float(np.median(before)), float(np.median(after))
    error = 0.0
    for part, middle in ((before, low), (after, high)):
        spread = _MAD * float(np.median(np.abs(part - middle)))
        error += (_MEDIAN_ERROR * spread) ** 2 / len(part)
    return high >= (1 + LEAST_RISE) * low and high - low > _SIGMAS * float(np.sqrt(error))


def _gradual(values: Floats) -> Rise | None:
    blocks = _block_medians(values, max(_MIN_BLOCK, len(values) // _BLOCKS))
    if len(blocks) < 2 * FEWEST_REPORTS:
        return None
    ranks = np.argsort(np.argsort(blocks))
    fifth = max(FEWEST_REPORTS, len(values) // 5)
    before, after = float(np.median(values[:fifth])), float(np.median(values[-fifth:]))
    climbs = float(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1]) >= _CLIMBS
    if not climbs or not _stands_out(values[:fifth], values[-fifth:]):
        return None
    to_come = np.minimum.accumulate(blocks[::-1])[::-1]
    first = int(np.argmax(to_come >= before + 0.25 * (after - before)))
    return Rise(min(first * max(_MIN_BLOCK, len(values) // _BLOCKS), len(values) - 1), before, after, gradual=True)
