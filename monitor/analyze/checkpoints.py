"""Checkpoints and evaluations as a run shows them: their spans, the minutes to set aside for them, pauses that look like one
without a line, and the work since the last checkpoint that would be lost if the job died now.

Seen in the gaps between steps: what a gap is longer than the steps in it belongs to what the lines in it tell of. A
checkpoint that is written while the steps go on takes no time from them, and has no span.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import median

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.analyze.journal import MARKS, evaluations, plain_rows, usual_step_s
from monitor.analyze.lost import LostWork
from monitor.model import Activity as Activity
from monitor.model import AtRisk

# What a gap is longer than its steps by less than this share of a step (and than a second) is jitter.
_LEAST_SHARE = 0.25
_LEAST_S = 0.05
# Nine of ten ordinary gaps are this long at most; where a report stands for several steps, one slow step is no jitter.
_ORDINARY = 0.9
_SEVERAL = 1.5


def activities(journal: pd.DataFrame, events: pd.DataFrame) -> tuple[Activity, ...]:
    """The spans, in time, disjoint; empty where lines have no times, or where nothing tells of any.

    ``journal`` is that of ``monitor.analyze.journal``. Of a gap that holds both, each has the time up to the first line
    of the other.
    """
    usual = usual_step_s(journal)
    # Of lines in blocks no time is known but the block's.
    if usual is None or journal["at"].isna().any() or journal["wall_s"].isna().all():
        return ()
    whole = [] if journal["evaluation"].any() else _evaluated(journal, events)
    rows = journal.assign(before=journal["at"].shift(), last=journal["step"].shift())
    rows = rows[(rows["checkpoint"] | rows["evaluation"]) & rows["before"].notna() & ~rows["restart"]]
    if rows.empty:
        return tuple(whole)
    # By a clock that jumps, an ordinary gap may be as much longer.
    jitter_s = float(plain_rows(journal)["wall_s"].quantile(_ORDINARY)) - usual
    marks = _marks(events)
    told = marks["at"].to_numpy("datetime64[ms]")
    interval = float(journal["steps"].median())

    def excess_of(gap_s: float, steps: float) -> float:
        """What a gap is longer than the steps in it; 0 for what is jitter."""
        excess_s = gap_s - usual * steps
        jitters = steps > _SEVERAL and excess_s <= 1.1 * jitter_s * steps
        return 0.0 if jitters or pd.isna(excess_s) or excess_s < max(_LEAST_S, _LEAST_SHARE * usual) else excess_s

    found: list[Activity] = []
    for row in rows.itertuples():
        excess_s = excess_of(row.gap_s, 1.0 if pd.isna(row.steps) else row.steps)
        if not excess_s:
            continue
        kinds = [kind for kind in ("checkpoint", "evaluation") if getattr(row, kind)]
        span = [np.datetime64(at.tz_convert(None), "ms") for at in (row.before, row.at)]
        inside = marks.iloc[np.searchsorted(told, span[0], "left") : np.searchsorted(told, span[1], "right")]
        inside = inside[inside["what"].isin(kinds)]
        if inside.empty:  # lines of a host whose clock differs, or without a time
            inside = pd.DataFrame({"at": [row.before], "what": kinds[:1], "begins": [True]})
        if pd.isna(row.steps) and interval > 1 and row.step <= _SEVERAL * interval:
            # Of a count that begins again all steps were done, and before a mark the rest of the epoch before.
            done, first = max(1.0, row.step), inside.iloc[0]
            if first["begins"]:
                excess_s = excess_of((row.at - first["at"]).total_seconds(), done)
            else:
                excess_s = excess_of(row.gap_s, done + interval)
        found += _of_gap(row.before.to_pydatetime(), row.at.to_pydatetime(), inside, excess_s)
    taken = [(one.start, one.end) for one in found]
    found += [one for one in whole if all(one.end <= start or end <= one.start for start, end in taken)]
    return tuple(sorted(found, key=lambda one: one.start))


def _evaluated(journal: pd.DataFrame, events: pd.DataFrame) -> list[Activity]:
    """Evaluations that stand in most gaps, by the lines that tell of both their ends, as far as they lie within the reports."""
    spans = evaluations(events)
    first, last = (journal["at"].iloc[place].timestamp() * 1000 for place in (0, -1))
    spans = spans[(spans[:, 0] >= first) & (spans[:, 1] <= last)].tolist()
    return [Activity("evaluation", *(datetime.fromtimestamp(ms / 1000, UTC) for ms in span)) for span in spans]


def _marks(events: pd.DataFrame) -> pd.DataFrame:
    """Rows ``at what begins`` of all lines that tell of a checkpoint or an evaluation, in time."""
    rows = events[events["kind"].str.match(r"(?:checkpoint|evaluation)-(?:begin|end)$") & events["timestamp"].notna()]
    what = rows["kind"].str.replace(r"-\w+$", "", regex=True)
    marks = pd.DataFrame({"at": rows["timestamp"], "what": what, "begins": rows["kind"].str.endswith("-begin")})
    return marks.sort_values("at", kind="stable")


def _of_gap(before: datetime, at: datetime, inside: pd.DataFrame, excess_s: float) -> list[Activity]:
    """The spans in the gap from ``before`` to ``at``, which is longer than its steps by ``excess_s``."""
    excess = timedelta(milliseconds=round(1000 * excess_s))
    # What is done after a step begins with its report. Where a report stands for many steps, the lines tell more.
    first, last = inside.iloc[0], inside.iloc[-1]
    told_last = _whole_ms(last["at"].to_pydatetime())
    start = first["at"].to_pydatetime() if first["begins"] else told_last - excess
    start = _whole_ms(max(before, min(start, at - excess)))
    end = start + excess
    # A line that tells of the end explains no long silence behind it: whatever began then has no line of its own.
    if not last["begins"] and end - told_last > max(_LONG, _AS_USUAL * (told_last - start)):
        end = max(start, told_last)
    order = list(dict.fromkeys(inside["what"]))
    parts = [Activity(order[0], start, end)]
    if len(order) > 1:
        # The second one begins with its first line or, where that tells of an end, behind the last line of the first.
        own = inside[inside["what"] == order[1]].iloc[0]
        split = own["at"] if own["begins"] else inside.loc[inside["what"] == order[0], "at"].iloc[-1]
        split = min(max(_whole_ms(split.to_pydatetime()), start), end)
        parts = [Activity(order[0], start, split), Activity(order[1], split, end)]
    return [part for part in parts if part.end > part.start]


def _whole_ms(at: datetime) -> datetime:
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


Span = tuple[datetime, datetime]

# A tenth of a period moves its mean by ten points at the most, which no threshold here hangs on.
MOST_COVERED = 0.1
# A pause this long empties a minute; CloudWatch's minute may be another one than the log's, by one at the most.
_LONG = timedelta(seconds=30)
_LAG = timedelta(seconds=60)
_AS_USUAL = 5
_FEWEST_OF_A_KIND = 3


def spans_set_aside(
    journal: pd.DataFrame,
    events: pd.DataFrame,
    activities: Sequence[Activity],
    training: Sequence[Span],
    end: datetime,
) -> tuple[Span, ...]:
    """Spans of checkpoints, evaluations and restarts; in time, disjoint.

    ``training`` are the spans in which the job's status was Training: each but the first begins with a restart. What is
    told after the last report of a step counts as well: an evaluation that has not told of its end lasts to ``end``.
    Evaluations that stand in most gaps are part of the work: nothing would be left without them.
    """
    rare = journal["evaluation"].any()
    found = _as_usual([one for one in activities if rare or one.kind != "evaluation"])
    if journal["restart"].any():
        again = journal.assign(before=journal["at"].shift())
        again = again[again["restart"] & again["at"].notna() & again["before"].notna()]
        found += [(row.before.to_pydatetime(), row.at.to_pydatetime()) for row in again.itertuples()]
    reports = journal["at"].dropna()
    for start, stop in training[1:]:
        later = reports[reports >= start]
        first = later.min().to_pydatetime() if len(later) else stop
        found.append((start, min(first, stop)))
    last = None if reports.empty else reports.max()
    found += _pauses_by_lines(events if last is None else events[events["timestamp"] > last], last, end)
    return tuple(_joined(found))


def share_covered(metrics: pd.DataFrame, spans: Sequence[Span]) -> NDArray[np.float64]:
    """For each row of the Metrics frame the share of its period, 0 to 1, that lies in ``spans``.

    At one-minute periods a long pause is taken with a minute on either side.
    """
    if metrics.empty or not spans:
        return np.zeros(len(metrics))
    period_s = metrics["period_s"].to_numpy("float64")
    fine = bool(period_s.min() <= _LAG.total_seconds())
    wide = [(a - _LAG, b + _LAG) if fine and b - a >= _LONG else (a, b) for a, b in spans]
    edges = np.array([[a.timestamp(), b.timestamp()] for a, b in _joined(wide)])
    # Covered seconds up to a moment: linear inside a span, flat between spans.
    covered = np.column_stack([np.zeros(len(edges)), edges[:, 1] - edges[:, 0]]).ravel().cumsum()
    begins = metrics["timestamp"].to_numpy("datetime64[ms]").astype("int64") / 1000
    at = edges.ravel()
    share: NDArray[np.float64] = (np.interp(begins + period_s, at, covered) - np.interp(begins, at, covered)) / period_s
    return share


def outside(metrics: pd.DataFrame, spans: Sequence[Span]) -> pd.DataFrame:
    """The rows of the Metrics frame of which no more than a tenth lies in ``spans``."""
    return metrics[share_covered(metrics, spans) <= MOST_COVERED] if spans else metrics


def _as_usual(activities: Sequence[Activity]) -> list[Span]:
    """The spans, those of checkpoints no longer than five times their median: the line of a short checkpoint does not
    explain an hour of silence behind it. Of one or two nobody knows what is usual; evaluations differ by right."""
    saved = [activity.seconds for activity in activities if activity.kind == "checkpoint"]
    longest = _AS_USUAL * median(saved) if len(saved) >= _FEWEST_OF_A_KIND else None
    return [
        (one.start, one.end)
        if longest is None or one.kind != "checkpoint" or one.seconds <= longest
        else (one.start, one.start + timedelta(seconds=longest))
        for one in activities
    ]


def _pauses_by_lines(events: pd.DataFrame, after: pd.Timestamp | None, end: datetime) -> list[Span]:
    """Evaluations and checkpoints by their lines alone, each from its first line to its last."""
    found: list[Span] = []
    for kind in ("evaluation", "checkpoint"):
        marks = events[events["kind"].isin((f"{kind}-begin", f"{kind}-end")) & events["timestamp"].notna()]
        if marks.empty:
            continue
        # Without a line that begins it, it began with the last report; where there is none, nobody knows.
        begun: datetime | None = after.to_pydatetime() if after is not None else None
        for row in marks.sort_values("timestamp", kind="stable").itertuples():
            moment = row.timestamp.to_pydatetime()
            if row.kind == f"{kind}-begin":
                begun = moment
            elif begun is not None:
                found.append((begun, moment))
                begun = None
        # What is saved at the very end is the job's result; an evaluation without an end is under way.
        if kind == "evaluation" and begun is not None and marks["kind"].str.endswith("-begin").any():
            found.append((begun, end))
    return found


def _joined(spans: Sequence[Span]) -> list[Span]:
    """The union of the spans, in time."""
    out: list[Span] = []
    for start, stop in sorted(span for span in spans if span[1] > span[0]):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], stop))
        else:
            out.append((start, stop))
    return out


# So many saves are needed to know how often a job means to save.
FEWEST_SAVES = 3
# Intervals are of one cadence where so many of them are this near their median; saves of "the best so far" are not.
NEAR_SHARE = 0.25
MOSTLY = 0.7
# Where no step tells which lines belong together: a save is over when nothing was said of it for so long.
_APART = pd.Timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Save:
    """One checkpoint: its last line, and the step that was reported before it (None where none is)."""

    at: datetime
    step: int | None


@dataclass(frozen=True, slots=True)
class Cadence:
    """How often a job saves: the median interval, in seconds and in steps, and the longest of both."""

    seconds: float
    longest_s: float
    steps: float | None
    longest_steps: float | None


def saves(journal: pd.DataFrame, events: pd.DataFrame) -> tuple[Save, ...]:
    """The saves in time; empty where no line with a time tells of one.

    Where at least three saves say that they are complete, only complete ones count: one that was begun may have failed.
    """
    told = events[events["kind"].isin(["checkpoint-begin", "checkpoint-end"]) & events["timestamp"].notna()]
    if told.empty:
        return ()
    told = told.sort_values("timestamp", kind="stable")
    rows = _grouped(told, journal)
    complete = _grouped(told[told["kind"] == "checkpoint-end"], journal)
    return complete if len(complete) >= FEWEST_SAVES else rows


def cadence(found: tuple[Save, ...]) -> Cadence | None:
    """How often the job saves; None of fewer than three saves, and where their intervals follow no rule."""
    if len(found) < FEWEST_SAVES:
        return None
    seconds = np.diff([save.at.timestamp() for save in found])
    numbers = [save.step for save in found if save.step is not None]
    moved = np.diff(numbers) if len(numbers) == len(found) else np.array([])
    by_steps = bool(len(moved)) and bool((moved > 0).all())
    if not (by_steps and _regular(moved)) and not _regular(seconds):
        return None
    return Cadence(
        float(np.median(seconds)),
        float(seconds.max()),
        float(np.median(moved)) if by_steps else None,
        float(moved.max()) if by_steps else None,
    )


def _regular(intervals: np.ndarray) -> bool:
    middle = float(np.median(intervals))
    return middle > 0 and float((np.abs(intervals - middle) <= NEAR_SHARE * middle).mean()) >= MOSTLY


def _grouped(lines: pd.DataFrame, journal: pd.DataFrame) -> tuple[Save, ...]:
    """One save a gap between reports."""
    if lines.empty:
        return ()
    times = journal["at"].to_numpy("datetime64[ms]") if len(journal) else np.array([], dtype="datetime64[ms]")
    marks = lines["timestamp"].to_numpy("datetime64[ms]")
    if not len(times) or np.isnat(times).any():
        apart = (lines["timestamp"].diff() > _APART).cumsum()
        return tuple(Save(rows["timestamp"].iloc[-1].to_pydatetime(), None) for _, rows in lines.groupby(apart))
    places = _reports_before(lines, journal, np.maximum.accumulate(times), marks)
    numbers = journal["step"]
    out = []
    for place in np.unique(places):
        step = numbers.iloc[place - 1] if place > 0 else pd.NA
        at = pd.Timestamp(marks[places == place].max(), tz="UTC").to_pydatetime()
        out.append(Save(at, None if pd.isna(step) else int(step)))
    return tuple(sorted(out, key=lambda save: save.at))


def _reports_before(events: pd.DataFrame, journal: pd.DataFrame, times: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """How many reports stand before each line: by line in the reports' own stream, else by time."""
    places = np.searchsorted(times, marks, "right")
    streams, lines = journal["stream"], journal["line"].to_numpy("int64")
    for stream in set(events["stream"]) & set(streams.unique()):
        here = np.flatnonzero(streams == stream)
        mine = (events["stream"] == stream).to_numpy()
        before = np.searchsorted(lines[here], events.loc[mine, "line"].to_numpy("int64"), "left")
        places[mine] = here[0] + before
    return places


FEWEST = 3
# A shorter pause leaves no mark in minutes.
LEAST_S = 20.0
# The pause is this many usual gaps between reports.
_GAPS = 3.0
# Pauses come at one period where the distances differ from their median by less than this share.
_NEAR = 0.15
_MOSTLY = 0.7
# Points of disk space: less may be a log file's.
_DISK_POINTS = 0.05
_DIP = 0.8


@dataclass(frozen=True, slots=True)
class Pauses:
    """The pauses, and how much disk space a usual one took, points."""

    spans: tuple[tuple[datetime, datetime], ...]
    disk_points: float


def checkpoint_pauses(journal: pd.DataFrame, metrics: pd.DataFrame) -> Pauses | None:
    """The pauses that look like checkpoints; None where there are none, or where lines do tell of checkpoints."""
    if journal.empty or journal["checkpoint"].any() or journal["at"].isna().any():
        return None
    usual_s = usual_step_s(journal)
    disk = metrics[metrics["metric"] == "disk_utilization"]
    gpu = metrics[metrics["metric"] == "gpu_utilization"]
    if usual_s is None or disk.empty or gpu.empty:
        return None
    rows = journal[~journal[list(MARKS)].any(axis=1) & journal["wall_s"].notna()]
    excess = rows["gap_s"] - usual_s * rows["steps"].fillna(1.0)
    rows = rows.assign(excess_s=excess)[(excess >= LEAST_S) & (rows["gap_s"] >= _GAPS * journal["gap_s"].median())]
    if len(rows) < FEWEST:
        return None
    apart = rows["step"].diff().dropna().to_numpy("float64")
    usual = float(np.median(apart))
    if float((np.abs(apart - usual) <= _NEAR * usual).mean()) < _MOSTLY:
        return None
    spans = [(at - timedelta(seconds=excess_s), at) for at, excess_s in zip(rows["at"], rows["excess_s"], strict=True)]
    growth = [_growth(disk, start, end) for start, end in spans]
    rest = timedelta(minutes=3)
    between = [_growth(disk, one[1] + rest, other[0] - rest) for one, other in pairwise(spans)]
    known = [value for value in growth if value is not None]
    if len(known) < FEWEST or not all(_dips(gpu, start, end) for start, end in spans[:FEWEST]):
        return None
    wrote = np.array(known) > _DISK_POINTS
    meanwhile = [value for value in between if value is not None]
    # Space that is taken all the time is no checkpoint's.
    if wrote.mean() < _MOSTLY or (meanwhile and np.median(meanwhile) > 0.5 * np.median(known)):
        return None
    return Pauses(tuple((start.to_pydatetime(), end.to_pydatetime()) for start, end in spans), float(np.median(known)))


def _growth(disk: pd.DataFrame, start: pd.Timestamp, end: pd.Timestamp) -> float | None:
    """The change of disk space in use from before ``start`` to after ``end``, points, of the node where it is the largest."""
    minute = timedelta(minutes=1)
    before = disk[(disk["timestamp"] <= start - minute) & (disk["timestamp"] > start - 5 * minute)]
    after = disk[(disk["timestamp"] >= end) & (disk["timestamp"] < end + 4 * minute)]
    held, holds = (part.groupby("node", observed=True)["value_pct"] for part in (before, after))
    change = (holds.first() - held.last()).dropna()
    return float(change.max()) if len(change) else None


def _dips(gpu: pd.DataFrame, start: pd.Timestamp, end: pd.Timestamp) -> bool:
    inside = gpu[(gpu["timestamp"] >= start.floor("min")) & (gpu["timestamp"] <= end)]["value_pct"]
    return bool(len(inside) and inside.min() < _DIP * gpu["value_pct"].median())


def at_risk(
    saved: Sequence[Save],
    journal: pd.DataFrame,
    until: datetime,
    usd_per_hour: float | None,
    lost: LostWork | None = None,
) -> AtRisk | None:
    """Of a running job that worked ``until`` then; None where no checkpoint was seen.

    ``saved`` are the checkpoints of ``monitor.analyze.checkpoints``, ``journal`` is that of ``monitor.analyze.journal``;
    ``usd_per_hour`` is of the whole job.
    """
    if not saved:
        return None
    last = saved[-1]
    # What was lost already is no longer at risk.
    begun = [loss.again for loss in (lost.losses if lost else ()) if loss.again is not None]
    seconds = max(0.0, (until - max([last.at, *begun])).total_seconds())
    reached = journal["step"].iloc[-1] if len(journal) else pd.NA
    steps = None if last.step is None or pd.isna(reached) else max(0, int(reached) - last.step)
    return AtRisk(last.at, last.step, steps, seconds, None if usd_per_hour is None else seconds * usd_per_hour / 3600)
