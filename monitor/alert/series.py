"""What a job's hosts and steps measured over time, as tracks that thresholds are judged on.

Of the log: steps, how long no step had been reported, and what the job had cost, at any moment, in straight pieces that are cut
where they cross a threshold. Of the hosts, and of single GPUs in the minutes that were read of a job's profiler: what may be
judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.alert.conditions import MEASURES, Threshold
from monitor.alert.track import Bools, Floats, Track, Tracked, in_order, median_so_far, seconds, steps_done
from monitor.analyze.utilization import LEFT_OUT_AT_END, training_spans, work_window
from monitor.diagnose.words.step_readings import BY_CLOCK, came_by
from monitor.model import Report
from monitor.model.host_metrics import OF_WORK

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


def _unread(report: Report, *what: str) -> str:
    """What is said of the first gap of a kind; of the logs only where no line at all was read."""
    if "logs" in what and report.run.logs.lines:
        return ""
    return next((gap.sentence for gap in report.run.gaps if gap.what in what), "")


def _why_none(report: Report, words: str) -> str:
    return _unread(report, "logs") or f"No line of the log gives a {words}."


@dataclass(frozen=True, slots=True)
class LinearPieces:
    """From ``low`` at ``begins`` to ``high`` at ``ends``, growing evenly; all arrays are of one length."""

    node: str | None
    begins: Floats
    ends: Floats
    low: Floats
    high: Floats
    usual: Floats


def track_of_pieces(pieces: LinearPieces, when: Threshold) -> Track:
    """The pieces as a track, whose samples have the value at their end; on it the condition is true or false throughout."""
    limit = when.value * pieces.usual if when.relative else np.full(len(pieces.low), when.value)
    grown, span = pieces.high - pieces.low, pieces.ends - pieces.begins
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.clip(np.where(grown > 0, (limit - pieces.low) / grown, 1.0), 0.0, 1.0)
    share = np.where(np.isnan(share), 1.0, share)
    crossing = pieces.begins + share * span
    begins = np.column_stack([pieces.begins, crossing]).ravel()
    ends = np.column_stack([crossing, pieces.ends]).ravel()
    # The part before a crossing ends on the threshold, and all of it is on the lower side.
    below = np.nextafter(limit, -np.inf) if when.op in {">=", "<"} else limit
    values = np.column_stack([np.where((share > 0) & (share < 1), below, pieces.high), pieces.high]).ravel()
    usual = np.repeat(pieces.usual, 2)
    kept = ends > begins
    if len(kept) and not kept.any():
        kept[-1] = True  # a job without any time in it still has a figure
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = np.nan_to_num(np.repeat(grown / span, 2), posinf=0.0)[kept]
    begins, ends, values, usual = begins[kept], ends[kept], values[kept], usual[kept]
    breaks = np.zeros(len(ends), dtype=bool)
    breaks[1:] = begins[1:] > ends[:-1] + 1e-3
    none = np.zeros(len(ends), dtype=np.int64)
    return Track(pieces.node, begins, ends, values, usual, breaks, none, none, np.arange(len(ends)), rates=rates)


def silence_tracks(report: Report, when: Threshold, now: datetime) -> Tracked:
    """The time since the last step as of every moment up to ``now``, or to the end of the training."""
    steps = report.run.steps
    steps = steps[steps["timestamp"].notna()]
    if steps.empty:
        return Tracked(why_none=_why_no_silence(report))
    if report.job.is_running and any(gap.what == "logs" and gap.transient for gap in report.run.gaps):
        return Tracked(why_none="Some of the newest log lines could not be read, so there may be newer steps.")
    times = {str(node): _times(rows) for node, rows in steps.groupby("node", observed=True)}
    if when.scope in {"all", "mean"}:
        pieces = [_joint(list(times.values()), when, _end(report, now))]
    else:
        pieces = [_silence_of_node(node, mine, _end(report, now)) for node, mine in times.items()]
    return Tracked(in_order([track_of_pieces(piece, when) for piece in pieces]), "s")


def _times(rows: pd.DataFrame) -> Floats:
    found: Floats = np.unique(seconds(rows["timestamp"]).to_numpy("float64"))
    return found


def _end(report: Report, now: datetime) -> float | None:
    """Until when a silence counts; None where nothing tells: up to the last step."""
    spans = training_spans(report.job, now)
    if spans:
        return spans[-1][1].timestamp()
    if report.job.is_running:
        return now.timestamp()
    last = report.job.ended or report.run.logs.last_line_at
    return None if last is None else last.timestamp()


def _silence_of_node(node: str, times: Floats, end: float | None) -> LinearPieces:
    edges = np.append(times, max(times[-1], end if end is not None else times[-1]))
    return LinearPieces(node or None, edges[:-1], edges[1:], np.zeros(len(times)), np.diff(edges), _usual(times))


def _usual(times: Floats) -> Floats:
    """The median of the gaps before each silence."""
    gaps = np.diff(times)
    _, medians = median_so_far(np.arange(len(times)), np.append(gaps, 0.0), LEAST_STEPS)
    return medians


def _joint(nodes: list[Floats], when: Threshold, end: float | None) -> LinearPieces:
    """Over several nodes, from when each has done a step: for ``all`` that of the node nearest to the other side."""
    edges = np.unique(np.concatenate(nodes))
    edges = edges[edges >= max(times[0] for times in nodes)]
    since = [edges - times[np.searchsorted(times, edges, "right") - 1] for times in nodes]
    if when.scope == "mean":
        low = np.mean(since, axis=0)
    else:
        low = np.min(since, axis=0) if when.op.startswith(">") else np.max(since, axis=0)
    ends = np.append(edges[1:], max(edges[-1], end if end is not None else edges[-1]))
    every = np.unique(np.concatenate(nodes))
    usual = _usual(every)[np.searchsorted(every, edges)]
    return LinearPieces(None, edges, ends, low, low + (ends - edges), usual)


def _why_no_silence(report: Report) -> str:
    if len(report.run.steps):
        return "The log lines carry no time, so the time of the last step is not known."
    if gap := _unread(report, "logs"):
        return gap
    return "No step has been reported yet." if report.job.is_running else "No line of the log was recognized as a step."


def cost_tracks(report: Report, when: Threshold, now: datetime) -> Tracked:
    """The cost of the whole job so far, as one track without a node."""
    usd = report.cost.usd
    if usd is None:
        unknown = "No price is known for this job's instances, so its cost is not known either."
        return Tracked(why_none=_unread(report, "price") or unknown)
    phases = [phase for phase in report.phases if phase.seconds > 0]
    if not phases:
        at = np.array([(report.job.ended or report.job.created or now).timestamp()])
        amount = np.array([usd])
        return Tracked((track_of_pieces(LinearPieces(None, at, at, amount, amount, np.array([np.nan])), when),), "USD")
    seconds = np.array([phase.seconds if phase.billed else 0.0 for phase in phases])
    grown = np.cumsum(seconds) / max(seconds.sum(), 1e-9) * usd
    grown[-1] = usd
    low = np.insert(grown[:-1], 0, 0.0)
    begins = np.array([phase.start.timestamp() for phase in phases])
    ends = np.array([phase.end.timestamp() for phase in phases])
    return Tracked(
        (track_of_pieces(LinearPieces(None, begins, ends, low, grown, np.full(len(ends), np.nan)), when),), "USD"
    )


# Debugger's rule MaxInitializationTime: by then a running job that shows no step has had its time.
_INITIALIZATION = timedelta(minutes=20)
# Points further apart than this have a gap between them.
_GAP_PERIODS = 1.5
# So many minutes make a median that others are compared with.
LEAST_MINUTES = 10


def host_tracks(report: Report, when: Threshold, now: datetime, at_end: bool) -> Tracked:
    """The points of a metric of CloudWatch as of ``now``, one track a node."""
    metric, words = when.metric, MEASURES[when.metric].words
    rows = report.run.metrics[report.run.metrics["metric"] == metric]
    if rows.empty:
        return Tracked(why_none=_why_no_figures(report, metric))
    rows = _of_training(rows, report, metric, now, at_end)
    if rows.empty:
        return Tracked(
            why_none=f"No minute of {words} can be judged yet: the newest three are left out, since metrics come late."
        )
    table = _points(rows)
    keys, medians = median_so_far((1000 * table.begins).astype("int64"), table.values, LEAST_MINUTES)
    usual = dict(zip(keys.tolist(), medians.tolist(), strict=True))
    by_steps = when.lasting is not None and when.lasting.steps is not None
    tracks = []
    for node, mine in table.of_nodes():
        begins, periods = table.begins[mine], table.periods[mine]
        moments = (1000 * begins).astype("int64")
        done = steps_done(report.run.steps, str(node)) if by_steps else np.empty(0)
        breaks = np.zeros(len(begins), dtype=bool)
        breaks[1:] = np.diff(begins) > _GAP_PERIODS * periods[1:]
        tracks.append(
            Track(
                str(node),
                begins,
                begins + periods,
                table.values[mine],
                np.array([usual[moment] for moment in moments.tolist()]),
                breaks,
                np.searchsorted(done, begins, "right"),
                np.searchsorted(done, begins + periods, "right"),
                moments,
                slack_s=float(periods.max()) / 2,
            )
        )
    return Tracked(in_order(tracks), "%")


@dataclass(frozen=True, slots=True)
class _Points:
    """One point a node and moment, in order; all arrays are of one length but the last."""

    begins: Floats
    values: Floats
    periods: Floats
    node: NDArray[np.int64]
    names: pd.Index

    def of_nodes(self) -> Iterator[tuple[str, slice]]:
        """Each node with the place of its points."""
        firsts = np.flatnonzero(np.diff(self.node, prepend=-1))
        for first, end in zip(firsts.tolist(), [*firsts[1:].tolist(), len(self.node)], strict=True):
            yield str(self.names[self.node[first]]), slice(first, end)


def _points(rows: pd.DataFrame) -> _Points:
    """Of a moment that is told twice the smaller value."""
    # By way of pandas that is most of what a look at a threshold takes.
    node, names = pd.factorize(rows["node"], sort=True)
    at, values = _ms(rows["timestamp"]), rows["value_pct"].to_numpy("float64")
    order = np.lexsort((values, at, node))
    node, at = node[order], at[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(node) != 0) | (np.diff(at) != 0)
    kept = order[first]
    periods = rows["period_s"].to_numpy("float64")[kept]
    return _Points(at[first] / 1000, values[kept], periods, node[first].astype(np.int64), names)


def _ms(times: pd.Series) -> NDArray[np.int64]:
    found: NDArray[np.int64] = times.to_numpy("datetime64[ms]").view(np.int64)
    return found


def _us(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _of_training(rows: pd.DataFrame, report: Report, metric: str, now: datetime, at_end: bool) -> pd.DataFrame:
    """The points that lie for the most part in the training, and that neither came too late nor are of the teardown."""
    job = report.job
    begins = 1000 * _ms(rows["timestamp"])
    half = 500_000 * rows["period_s"].to_numpy("int64")
    ends = begins + 2 * half
    kept = np.zeros(len(rows), dtype=bool)
    for start, end in training_spans(job, now):
        kept |= np.minimum(ends, _us(end)) - np.maximum(begins, _us(start)) >= half
    kept &= (ends <= _us(now - LEFT_OUT_AT_END)) & rows["timestamp"].notna().to_numpy()
    # Devices at rest before the first step are initialization, which has findings of its own; how full memory and disk are
    # counts from the beginning.
    begun = _begun(report, now) if metric in OF_WORK else None
    if begun is not None:
        kept &= begins + half >= _us(begun)
    if at_end and job.ended is not None:
        before = kept & (ends <= _us(job.ended - LEFT_OUT_AT_END))
        kept = before if before.any() else kept
    return rows[kept]


def _begun(report: Report, now: datetime) -> datetime | None:
    """From when on rest is no longer initialization; None: from the beginning."""
    window = work_window(report.run, now)
    if window is None or window.since != "training start":
        return None if window is None else window.start
    return window.start + _INITIALIZATION if report.job.is_running else None


def _why_no_figures(report: Report, metric: str) -> str:
    gpus = [node.gpus for node in report.job.nodes]
    if metric.startswith("gpu") and gpus and all(count == 0 for count in gpus):
        return "The nodes have no GPUs."
    return _unread(report, "metrics", "normalisation") or f"There are no figures for {MEASURES[metric].words}."


_GPU_COLUMNS = {"gpu_utilization": "utilization_pct", "gpu_memory_utilization": "memory_pct"}
_MINUTE_S = 60.0
# Minutes further apart than this, in the usual distance of those that were read, have a gap between them.
_GAP = 1.5


def gpu_tracks(report: Report, when: Threshold, now: datetime) -> Tracked:
    """The means of a GPU in the minutes that were read, as of ``now``.

    A profiler's output is read in part: minutes that are spread evenly stand for what lies between them.
    """
    rows = report.run.gpus
    if rows.empty or when.gpu is None:
        return Tracked(why_none=_why_no_gpu(report))
    node, number = when.gpu
    rows = rows[(rows["node"] == node) & (rows["gpu"] == number) & (rows["timestamp"] <= now)]
    rows = _at_work(rows, report, when.metric, now)
    if rows["even"].any():
        rows = rows[rows["even"]]
    value = rows.groupby(rows["timestamp"].dt.floor("min"))[_GPU_COLUMNS[when.metric]].mean().dropna()
    if value.empty:
        return Tracked((), "%")
    begins = seconds(value.index.to_series()).to_numpy("float64")
    moments = (1000 * begins).astype("int64")
    values = value.to_numpy("float64")
    keys, medians = median_so_far(moments, values, LEAST_MINUTES)
    usual = dict(zip(keys.tolist(), medians.tolist(), strict=True))
    apart = np.diff(begins)
    breaks = np.zeros(len(begins), dtype=bool)
    breaks[1:] = apart > _GAP * (float(np.median(apart)) if len(apart) else _MINUTE_S)
    by_steps = when.lasting is not None and when.lasting.steps is not None
    done = steps_done(report.run.steps, node) if by_steps else np.empty(0)
    return Tracked(
        (
            Track(
                when.scope,
                begins,
                begins + _MINUTE_S,
                values,
                np.array([usual[moment] for moment in moments.tolist()]),
                breaks,
                np.searchsorted(done, begins, "right"),
                np.searchsorted(done, begins + _MINUTE_S, "right"),
                moments,
                slack_s=_MINUTE_S / 2,
            ),
        ),
        "%",
    )


def _at_work(rows: pd.DataFrame, report: Report, metric: str, now: datetime) -> pd.DataFrame:
    """The samples of the training; of how busy a GPU is, those from the first step on."""
    window = work_window(report.run, now)
    if metric == "gpu_utilization" and window is not None:
        rows = rows[rows["timestamp"] >= window.start]
    inside = pd.Series(False, index=rows.index)
    for start, end in training_spans(report.job, now):
        inside |= (rows["timestamp"] >= start) & (rows["timestamp"] < end)
    return rows[inside]


def _why_no_gpu(report: Report) -> str:
    alone = "Only a job's profiler tells single GPUs apart, and this job's output of one was not read."
    return _unread(report, "profiler") or alone
