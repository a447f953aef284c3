"""Times without a reported step: how long one may last in this job, those of single nodes, what the GPUs do meanwhile, and
whether the job stands still.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import NormalDist
from typing import Literal

import numpy as np
import pandas as pd

from monitor.analyze.journal import MARKS, usual_gap_s
from monitor.model import Activity, Phase

GAPS = 5.0
LEAST_S = 300.0
# A pause this much longer than any of its kind that the job got over before is none of its rhythm.
OVER_LONGEST = 1.5
FEWEST_REPORTS = 5
# Debugger's rule MaxInitializationTime: before there is a rhythm, the work of the first steps may take as long.
FIRST_STEPS_S = 20 * 60.0
# DLRover's detector of hangs allows as much for a checkpoint, and for an evaluation or a first step.
FIRST_CHECKPOINT_S = 15 * 60.0
FIRST_OTHER_S = 120 * 60.0
# A line that announces a pause comes within this time of the last step, if it comes at all.
_ANNOUNCED_S = 60.0
_FIRST_S = {"checkpoint": FIRST_CHECKPOINT_S, "evaluation": FIRST_OTHER_S, "restart": FIRST_OTHER_S}

Meanwhile = Literal["", "checkpoint", "evaluation", "restart"]


@dataclass(frozen=True, slots=True)
class Silence:
    """No step from ``since`` to ``until``; ``allowed_s`` is how long that may last."""

    since: datetime
    until: datetime
    step: int | None
    usual_s: float | None
    """The usual time between two reports; None of a job with one report that tells no time."""
    longest_s: float | None
    """The longest pause before that this one may be compared with."""
    allowed_s: float
    least_s: float
    """How long a silence may last that nothing explains: of steps, and of lines."""
    meanwhile: Meanwhile
    """What the lines since the last step tell of."""

    @property
    def seconds(self) -> float:
        return (self.until - self.since).total_seconds()

    @property
    def too_long(self) -> bool:
        return self.seconds > self.allowed_s


def silence(
    steps: pd.DataFrame, journal: pd.DataFrame, events: pd.DataFrame, begun: datetime | None, until: datetime
) -> Silence | None:
    """The silence from the last step of any process to ``until``; None where no step has a time, or none is before it.

    ``begun`` is when the job last began to train, by its status: a start after the last step is a restart.
    """
    last = steps["timestamp"].max() if len(steps) else pd.NaT
    if pd.isna(last) or last.to_pydatetime() >= until:
        return None
    reports = journal["at"].dropna() if len(journal) else _times(steps)
    usual_s = _usual_s(journal, steps)
    least_s = max(LEAST_S, GAPS * (usual_s or 0.0))
    if len(reports) < FEWEST_REPORTS:
        least_s = max(least_s, FIRST_STEPS_S)
    marks = _marks(events, last, until, begun)
    said_s = {kind: (at - last).total_seconds() for kind, at in zip(marks["what"], marks["at"], strict=True)}
    passed_s = (until - last.to_pydatetime()).total_seconds()
    pauses = _pauses(journal, steps, events, least_s / OVER_LONGEST)
    longest = [pause for pause in pauses if _may_be(pause, pauses, said_s, passed_s, journal)]
    longest_s = max((pause.seconds for pause in longest), default=None)
    # After the last word of what goes on, as much as after a step.
    allowed_s = max([least_s, OVER_LONGEST * (longest_s or 0.0), *(at_s + least_s for at_s in said_s.values())])
    known = {kind for kind in MARKS if len(journal) and journal[kind].any()}
    for kind, begins in marks.groupby("what", sort=False)["begins"].last().items():
        if begins and kind not in known:
            allowed_s = max(allowed_s, said_s[str(kind)] + _FIRST_S[str(kind)])
    if "restart" in said_s:
        allowed_s = max(allowed_s, said_s["restart"] + FIRST_OTHER_S)
    meanwhile: Meanwhile = marks["what"].iloc[-1] if len(marks) else ""
    return Silence(
        last.to_pydatetime(), until, _last_step(journal, steps), usual_s, longest_s, allowed_s, least_s, meanwhile
    )


@dataclass(frozen=True, slots=True)
class _Pause:
    """A gap of the past that is long enough to matter."""

    seconds: float
    kinds: frozenset[str]
    announced: bool
    """Its first line came soon after the step before it."""
    row: int


def _pauses(journal: pd.DataFrame, steps: pd.DataFrame, events: pd.DataFrame, least_s: float) -> list[_Pause]:
    if journal.empty:
        gaps = _times(steps).diff().dt.total_seconds().dropna()
        return [_Pause(float(gap), frozenset(), False, -1) for gap in gaps[gaps > least_s]]
    rows = journal.assign(place=np.arange(len(journal)))[(journal["gap_s"] > least_s).to_numpy()]
    if rows.empty:
        return []
    told = events[events["kind"].str.match(r"(?:checkpoint|evaluation)-") & events["timestamp"].notna()]
    times = np.sort(told["timestamp"].to_numpy("datetime64[ms]"))
    out = []
    for row in rows.itertuples():
        before = row.at - pd.Timedelta(seconds=row.gap_s)
        place = np.searchsorted(times, before.to_datetime64().astype("datetime64[ms]"), "left")
        soon_s = min(_ANNOUNCED_S, 0.2 * row.gap_s)
        soon = place < len(times) and pd.Timestamp(times[place], tz="UTC") <= before + pd.Timedelta(seconds=soon_s)
        kinds = frozenset(kind for kind in MARKS if getattr(row, kind))
        out.append(_Pause(float(row.gap_s), kinds, bool(soon and kinds), int(row.place)))
    return out


def _may_be(
    pause: _Pause, pauses: list[_Pause], said_s: dict[str, float], passed_s: float, journal: pd.DataFrame
) -> bool:
    """Whether what goes on now may be of the kind of a pause before."""
    if "restart" in pause.kinds:
        return "restart" in said_s
    if pause.kinds & said_s.keys():
        return True
    # Such a pause would have been announced by now.
    if pause.announced:
        return passed_s < 2 * _ANNOUNCED_S
    same = [other for other in pauses if not other.announced and "restart" not in other.kinds]
    return _due(same, journal)


def _due(pauses: list[_Pause], journal: pd.DataFrame) -> bool:
    """Whether a pause of these may come after the last step: at least three that come every so many steps tell."""
    if len(pauses) < 3 or journal.empty or journal["segment"].nunique() != 1:
        return True
    numbers = journal["step"].to_numpy("float64")
    before = np.array([numbers[pause.row - 1] for pause in pauses])
    every = float(np.median(np.diff(before)))
    report = float(np.nanmedian(journal["steps"].to_numpy("float64")))
    if every <= 3 * report or (np.abs(np.diff(before) - every) > report).any():
        return True
    away = (numbers[-1] - before[-1]) % every
    return bool(min(away, every - away) <= report)


def _usual_s(journal: pd.DataFrame, steps: pd.DataFrame) -> float | None:
    if len(journal) > 1:
        printed = journal["step_time_s"].dropna()
        by_clock = usual_gap_s(journal)
        if by_clock is not None:
            return by_clock
        return float(printed.median()) if len(printed) else None
    gaps = _times(steps).diff().dt.total_seconds().dropna()
    return float(gaps.median()) if len(gaps) else None


def _times(steps: pd.DataFrame) -> pd.Series:
    return steps["timestamp"].dropna().drop_duplicates().sort_values()


def _last_step(journal: pd.DataFrame, steps: pd.DataFrame) -> int | None:
    if len(journal):
        return int(journal["step"].iloc[-1])
    numbers = steps["step"].dropna()
    return int(numbers.iloc[-1]) if len(numbers) else None


def _marks(events: pd.DataFrame, last: pd.Timestamp, until: datetime, begun: datetime | None) -> pd.DataFrame:
    """Rows ``at what begins`` in time: the lines since the last step that tell of a pause."""
    rows = events[(events["timestamp"] >= last) & (events["timestamp"] <= until)]
    kinds = rows["kind"]
    found = rows[kinds.str.match(r"(?:checkpoint|evaluation)-(?:begin|end)$|(?:restart|resume|first-line)$")]
    named = found["kind"].replace({"resume": "restart", "first-line": "restart"})
    marks = pd.DataFrame(
        {
            "at": found["timestamp"],
            "what": named.str.replace(r"-\w+$", "", regex=True),
            "begins": ~named.str.endswith("-end"),
        }
    )
    if begun is not None and last < begun < until:
        marks.loc[-1] = {"at": pd.Timestamp(begun), "what": "restart", "begins": True}
    return marks.sort_values("at", kind="stable")


# Longer than this many usual gaps between the node's reports, and than five minutes, as in the phases.
_SILENT_GAPS = 5
_SILENT_S = 300.0
_FEWEST_REPORTS = 3
_WITH_STEPS = frozenset({"productive", "slow-excess", "stall", "lost-work", "unknown"})
_AT_WORK = frozenset({"productive", "slow-excess", "stall"})


@dataclass(frozen=True, slots=True)
class NodeSilence:
    """From a node's report to its next one, or to the end of the work; ``node`` is empty where it is not known."""

    node: str
    start: pd.Timestamp
    end: pd.Timestamp


def silences(
    steps: pd.DataFrame, phases: Sequence[Phase], activities: Sequence[Activity], now: datetime
) -> tuple[NodeSilence, ...]:
    """The silences of each node that reports steps with times, from the Steps frame, as of ``now``."""
    explained = [(phase.start, phase.end) for phase in phases if phase.name not in _WITH_STEPS]
    explained += [(activity.start, activity.end) for activity in activities]
    ends = [phase.end for phase in phases if phase.name in _AT_WORK]
    until = min(max(ends), now) if ends else None
    found: list[NodeSilence] = []
    stamped = steps.loc[steps["timestamp"].notna(), ["node", "timestamp"]]
    for node, rows in stamped.groupby("node", observed=True)["timestamp"]:
        times = np.unique(rows.to_numpy(dtype="datetime64[ms]"))
        if len(times) < _FEWEST_REPORTS:
            continue
        gaps_s = np.diff(times).astype("int64") / 1000
        allowed_s = max(_SILENT_GAPS * float(np.median(gaps_s)), _SILENT_S)
        spans = [(times[at], times[at + 1]) for at in np.flatnonzero(gaps_s > allowed_s)]
        if until is not None:
            spans.append((times[-1], np.datetime64(int(until.timestamp() * 1000), "ms")))
        for one, other in spans:
            start, end = pd.Timestamp(one, tz="UTC"), pd.Timestamp(other, tz="UTC")
            if _seconds_left(start, end, explained) > allowed_s:
                found.append(NodeSilence(str(node), start, end))
    return tuple(found)


def _seconds_left(start: pd.Timestamp, end: pd.Timestamp, explained: Sequence[tuple[datetime, datetime]]) -> float:
    """The length of a silence without what explains it; spans that overlap count twice, which errs to calm."""
    covered = sum(max(0.0, (min(end, b) - max(start, a)).total_seconds()) for a, b in explained)
    return float((end - start).total_seconds() - covered)


# NCCL's default timeout in PyTorch: while lines still come, a silence of steps is no evaluation after as much.
LINES_STILL_S = 600.0


def is_standstill(found: Silence, pattern: GpuPattern | None, last_line: datetime | None) -> bool:
    """Whether a silence is too long and nothing speaks against a standstill: GPUs at work, or lines that still come.

    ``last_line`` is when any process last wrote anything. Lines do not help where GPUs have been flat since the last step for
    as long as a collective may take.
    """
    if not found.too_long or at_work(pattern):
        return False
    flat = pattern is not None and pattern.pattern in {"waiting", "split", "flat", "idle"} and bool(pattern.changed)
    return not still_logs(found, last_line) or (flat and found.seconds > LINES_STILL_S)


def at_work(pattern: GpuPattern | None) -> bool:
    """Whether the GPUs are seen to work, or to do what they did while steps came."""
    return pattern is not None and (
        pattern.pattern == "working" or (pattern.pattern == "flat" and pattern.changed is False)
    )


def still_logs(found: Silence, last_line: datetime | None) -> bool:
    """Whether lines come while steps do not."""
    return (found.until - (last_line or found.since)).total_seconds() <= found.least_s


BUSY_PCT = 95.0
IDLE_PCT = 5.0
# A waiting GPU's minutes differ by less than this (standard deviation, points); a working one's by more.
FLAT_POINTS = 1.0
# Ten minutes show more than that by chance, and the more nodes there are, the more so: in one job of twenty, on some node.
_BY_CHANCE = 0.05
# A mean that differs by more than this is another level.
MOVED_POINTS = 2.0
FEWEST_MINUTES = 3
# Only what they do now counts, not how they came to it.
NEWEST = timedelta(minutes=10)
# CloudWatch's newest minutes are incomplete.
LATE = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class GpuPattern:
    """``waiting`` near 100 %, ``idle`` near 0, ``split`` between nodes, ``flat`` at another level, or ``working``."""

    pattern: Literal["waiting", "idle", "split", "flat", "working"]
    levels: dict[str, float]
    """node -> mean, percent of one GPU."""
    idle_nodes: tuple[str, ...]
    changed: bool | None
    """Whether it was different before the silence; None where that is not known."""


def gpu_pattern(metrics: pd.DataFrame, since: datetime, until: datetime) -> GpuPattern | None:
    """The pattern of the newest minutes between ``since`` and ``until``; None of fewer than three minutes."""
    rows = metrics[metrics["metric"] == "gpu_utilization"]
    inside = rows[(rows["timestamp"] > since) & (rows["timestamp"] <= until - LATE)]
    if inside["timestamp"].nunique() < FEWEST_MINUTES:
        return None
    inside = inside[inside["timestamp"] > inside["timestamp"].max() - NEWEST]
    if inside["timestamp"].nunique() < FEWEST_MINUTES:
        return None
    levels, spread = _of(inside)
    idle = levels <= IDLE_PCT
    pattern: Literal["waiting", "idle", "split", "flat", "working"]
    if idle.all():
        pattern = "idle"
    elif (spread[~idle] > _most_by_chance(inside, int((~idle).sum()))[~idle]).any():
        pattern = "working"
    elif (levels >= BUSY_PCT).all():
        pattern = "waiting"
    else:
        pattern = "split" if idle.any() else "flat"
    before = rows[(rows["timestamp"] < since - timedelta(minutes=1)) & (rows["timestamp"] > since - 6 * NEWEST)]
    changed = None
    if before["timestamp"].nunique() >= FEWEST_MINUTES:
        # Before: without the start, or a checkpoint, among it.
        by_node = before.groupby("node", observed=True)["value_pct"]
        usual = by_node.median()
        usual_spread = 1.4826 * by_node.agg(lambda values: (values - values.median()).abs().median())
        moved = (levels - usual).abs() > MOVED_POINTS
        changed = bool((moved | ((usual_spread > FLAT_POINTS) & (spread <= FLAT_POINTS))).any())
    names = tuple(str(name) for name in levels.index[idle]) if pattern == "split" else ()
    return GpuPattern(pattern, {str(name): float(level) for name, level in levels.items()}, names, changed)


def _most_by_chance(rows: pd.DataFrame, nodes: int) -> pd.Series:
    """The spread that a node of ``FLAT_POINTS`` may show in its minutes, where as many nodes are looked at: the quantile of chi
    squared by Wilson and Hilferty's cube, which is exact to a percent."""
    sure = NormalDist().inv_cdf(1 - _BY_CHANCE / nodes)
    free = (rows.groupby("node", observed=True)["value_pct"].count() - 1).clip(lower=1)
    part = 2 / (9 * free)
    return FLAT_POINTS * ((1 - part + sure * part**0.5) ** 3) ** 0.5


def _of(rows: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    by_node = rows.groupby("node", observed=True)["value_pct"]
    return by_node.mean(), by_node.std().fillna(0.0)
