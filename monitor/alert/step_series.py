"""What did the log report step by step? One figure a step and node: the median of what its ranks printed."""

from __future__ import annotations

import numpy as np
import pandas as pd

from monitor.alert.conditions import Threshold
from monitor.alert.measures import MEASURES
from monitor.alert.track import Bools, Floats, Track, median_so_far
from monitor.alert.tracked import Tracked, in_order, seconds
from monitor.diagnose.words.step_readings import BY_CLOCK, came_by
from monitor.model import Report

_COLUMNS = {"step_time": "step_time_s", "throughput": "throughput", "loss": "loss"}
# A first report with tracing and allocation in it is no step like others; its loss is.
_WITH_WARM_UP = frozenset({"loss"})
# So many steps make a median that others are compared with.
LEAST_STEPS = 10
# A pause between reports that is longer than each of these is a gap.
_GAP_S, _GAP_USUAL, _GAP_OWN = 60.0, 5.0, 2.0
_SEGMENT = 1 << 40


def step_tracks(report: Report, when: Threshold) -> Tracked:
    """The reported figures of a metric, one track a node; a node without a name is "" in the frame and None here."""
    column, words = _COLUMNS[when.metric], MEASURES[when.metric].words
    rows = report.run.steps
    if when.metric == "step_time" and rows["step_time_s"].isna().all():
        rows = _by_reports(rows)
    rows = rows[rows[column].notna()]
    if rows.empty:
        return Tracked(why_none=_why_none(report, words))
    if when.metric not in _WITH_WARM_UP and not rows["warm_up"].all():
        rows = rows[~rows["warm_up"]]
    unit = MEASURES[when.metric].unit
    if when.metric == "throughput":
        units = rows["throughput_unit"].value_counts()
        unit = str(sorted(units.index[units == units.max()])[0])
        rows = rows[rows["throughput_unit"] == unit]
    table = pd.concat([_of_node(mine, column) for _, mine in rows.groupby("node", observed=True)])
    keys, medians = median_so_far(table["key"].to_numpy("int64"), table["value"].to_numpy("float64"), LEAST_STEPS)
    usual = medians[np.searchsorted(keys, table["key"].to_numpy("int64"))]
    tracks = [_track(mine) for _, mine in table.assign(usual=usual).groupby("node", observed=True)]
    return Tracked(in_order(tracks), unit)


def came_by_words(report: Report, when: Threshold) -> str:
    """How the figures of a threshold on the step time were come by, where they are not simply printed."""
    if when.metric != "step_time":
        return ""
    return BY_CLOCK if report.run.steps["step_time_s"].isna().all() else came_by(report.run.logs.readings)


def _of_node(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """One row for each step of one node, in order: ``node key step value at own_s``."""
    formats = rows["format"].value_counts()
    rows = rows[rows["format"] == sorted(formats.index[formats == formats.max()])[0]]
    timed = rows["timestamp"].notna()
    rows = rows[timed] if timed.any() else rows
    numbered = rows["step"].notna()
    if numbered.any():
        rows = rows[numbered]
        key = rows["segment"].astype("int64") * _SEGMENT + rows["step"].astype("int64")
    else:
        rows = rows.sort_values(["timestamp", "stream", "line"], kind="stable")
        key = pd.Series(np.arange(len(rows)), index=rows.index)
    found = rows.assign(key=key).groupby("key", sort=True)
    out = pd.DataFrame(
        {"value": found[column].median(), "at": found["timestamp"].max(), "own_s": found["step_time_s"].median()}
    )
    return out.reset_index().assign(node=str(rows["node"].iloc[0]))


def _by_reports(rows: pd.DataFrame) -> pd.DataFrame:
    """The reports with the time between two of them for their steps' time, where no line tells one."""
    rows = rows[rows["timestamp"].notna() & rows["step"].notna()].sort_values(["segment", "step"], kind="stable")
    writers = rows.groupby(["node", "rank", "stream", "format", "segment"], dropna=False, observed=True)
    gap_s = writers["timestamp"].diff().dt.total_seconds()
    done = writers["step"].diff().astype("float64")
    return rows.assign(step_time_s=(gap_s / done).where((done > 0) & (gap_s >= 0)))


def _track(rows: pd.DataFrame) -> Track:
    count = len(rows)
    keys = rows["key"].to_numpy("int64")
    between = np.diff(keys, prepend=keys[0]).astype("float64")
    within = between[(between > 0) & (between < _SEGMENT // 2)]
    often = float(np.median(within)) if len(within) else 1.0
    between[(between <= 0) | (between >= _SEGMENT // 2)] = often
    own_s = rows["own_s"].to_numpy("float64") * between
    clock = bool(rows["at"].notna().all())
    if clock:
        ends = np.maximum.accumulate(seconds(rows["at"]).to_numpy("float64"))
        begins, breaks = _by_clock(ends, np.nan_to_num(own_s))
    else:
        ends = np.cumsum(own_s)
        begins, breaks = ends - own_s, np.zeros(count, dtype=bool)
    done = np.arange(count)
    name = str(rows["node"].iloc[0]) or None
    values, usual = rows["value"].to_numpy("float64"), rows["usual"].to_numpy("float64")
    return Track(name, begins, ends, values, usual, breaks, done, done + 1, keys, has_clock=clock)


def _by_clock(ends: Floats, own_s: Floats) -> tuple[Floats, Bools]:
    """(when the work of each report began, where a gap lies before it)."""
    gaps = np.diff(ends, prepend=ends[0])
    usual_s = float(np.median(gaps[1:])) if len(gaps) > 1 else 0.0
    breaks = gaps > np.maximum(np.maximum(_GAP_S, _GAP_USUAL * usual_s), _GAP_OWN * own_s)
    begins = np.where(breaks, ends - np.minimum(own_s, gaps), ends - gaps)
    begins[0] = ends[0] - own_s[0]
    return begins, breaks


def _why_none(report: Report, words: str) -> str:
    gaps = [gap for gap in report.run.gaps if gap.what == "logs"]
    if not report.run.logs.lines and gaps:
        return " ".join(part for part in (gaps[0].why, gaps[0].remedy) if part)
    return f"No line of the log gives a {words}."
