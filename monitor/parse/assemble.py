"""All raw rows of a run to its Steps and Events frames: ranks to nodes, bars to steps, clocks to durations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from monitor.model import events_frame, steps_frame
from monitor.parse import clocks
from monitor.parse.bars import drawn_at_once, renumbered, training_rows
from monitor.parse.identity import Identity, identify
from monitor.parse.rows import EventRow, Reading, StepRow
from monitor.parse.series import by_epoch, numbered, said_once, segments, whole_steps

# First reports contain tracing, compilation and allocation; they are marked while they are this much slower than usual.
WARM_UP_RATIO = 1.5
WARM_UP_MOST = 20


@dataclass(frozen=True, slots=True)
class Parsed:
    """What the logs of a run say: the two frames, and who ran where."""

    steps: pd.DataFrame
    events: pd.DataFrame
    identity: Identity


@dataclass(slots=True)
class _Report:
    row: StepRow
    time_s: float
    kind: str
    segment: int
    loss: float | None
    warm_up: bool = False


def assemble(steps: Iterable[StepRow], events: Iterable[EventRow]) -> Parsed:
    """The frames of all rows so far; the order in which rows were recognised does not matter."""
    event_rows = sorted(events, key=lambda row: (row.stream, row.line, row.part))
    identity = identify(event_rows)
    series: dict[tuple[str, int | None], list[StepRow]] = defaultdict(list)
    for row in sorted(steps, key=lambda row: (row.stream, row.line, row.part)):
        series[row.stream, row.rank].append(row)
    reports = [
        report for (stream, _), rows in series.items() for report in _reports(rows, identity, stream in identity.merged)
    ]
    reports.sort(key=lambda report: (report.row.stream, report.row.line, report.row.part))
    return Parsed(_steps(reports, identity), _events(event_rows, identity), identity)


def _reports(rows: Sequence[StepRow], identity: Identity, merged: bool) -> list[_Report]:
    """The reports of one stream and rank."""
    bars = [row for row in rows if row.reading.format == "tqdm"]
    losses = [row for row in rows if row.reading.format == "hf-trainer"]
    found: list[_Report] = []
    by_format: dict[str, list[StepRow]] = defaultdict(list)
    for row in rows:
        if row.reading.format not in {"tqdm", "hf-trainer"}:
            by_format[row.reading.format].append(row)
    for others in by_format.values():
        own = numbered(by_epoch(whole_steps(said_once(others))))
        for segment, part in enumerate(segments(own)):
            found.extend(_timed(part, segment))
    if bars:
        found.extend(_bar_reports(renumbered(training_rows(bars, identity.planned_steps)), merged))
        _give_losses(found, losses)
    else:
        found.extend(_loss_reports(losses, identity.steps_per_epoch))
    return found


def _timed(rows: Sequence[StepRow], segment: int) -> list[_Report]:
    readings = [row.reading for row in rows]
    steps = _column(readings, "step")
    times = _column(readings, "time_s")
    # A first line without a time says nothing about how the times of the others are meant.
    meaning = next((reading.meaning for reading in readings if reading.time_s is not None), readings[0].meaning)
    kinds: list[str]
    if not np.isnan(clock := _column(readings, "clock_s")).all():
        rate = _column(readings, "throughput")
        times, from_clock = clocks.by_rate_and_clock(steps, clock, rate, readings[0].clock_tick_s)
        gaps = np.diff(steps)
        mean = meaning == "interval" and bool(len(gaps)) and float(np.median(gaps)) > 1.0
        kinds = ["cumulative" if by_clock else "interval" if mean else "step" for by_clock in from_clock]
    elif meaning == "clock" or (meaning == "either" and clocks.is_clock(times)):
        times = clocks.differenced(steps, times, 0.0, clocks.steps_before_first(steps))
        kinds = ["cumulative"] * len(rows)
    elif meaning == "interval":
        gaps = np.diff(steps)
        each = bool(len(gaps)) and float(np.median(gaps)) == 1.0
        kinds = ["step" if each else "interval"] * len(rows)
    else:
        kinds = ["step" if meaning == "either" else meaning] * len(rows)
    reports = [
        _Report(row, float(time_s), kind, segment, row.reading.loss)
        for row, time_s, kind in zip(rows, times, kinds, strict=True)
    ]
    _mark_warm_up(reports)
    return reports


def _column(readings: Sequence[Reading], name: str) -> clocks.Floats:
    values = [getattr(reading, name) for reading in readings]
    return np.array([np.nan if value is None else float(value) for value in values])


def _mark_warm_up(reports: Sequence[_Report]) -> None:
    times = np.array([report.time_s for report in reports])
    if np.isfinite(times).sum() < 3:
        return
    usual = float(np.nanmedian(times))
    for report in reports[: min(WARM_UP_MOST, len(reports) // 2)]:
        if report.time_s <= WARM_UP_RATIO * usual:
            break
        report.warm_up = True


def _bar_reports(rows: Sequence[StepRow], merged: bool) -> list[_Report]:
    """One report for each new step of a bar, with the rate of its first redraw; a redraw at 0 is none."""
    found: list[_Report] = []
    at_once = drawn_at_once(rows) if merged else 1
    segment, last_step, last_clock = 0, -1, -1.0
    seen: dict[int, int] = defaultdict(int)
    newest: _Report | None = None
    for row in rows:
        step, clock = row.reading.step or 0, row.reading.clock_s or 0.0
        # Bars drawn at once may trail one another by a step; only one that also set its clock back began again.
        if step < last_step and (clock < last_clock or last_step - step > at_once + 1):
            segment += 1
            seen.clear()
        last_step, last_clock = step, clock
        if step == 0 and row.reading.counter is None:
            continue
        seen[step] += 1
        if seen[step] <= at_once:
            time_s = row.reading.time_s
            newest = _Report(row, np.nan if time_s is None else time_s, row.reading.meaning, segment, row.reading.loss)
            found.append(newest)
        elif newest is not None and newest.row.reading.step == step and row.reading.loss is not None:
            # The first redraw of a step still shows the postfix of the one before.
            newest.loss = row.reading.loss
    for number in range(segment + 1):
        _mark_warm_up([report for report in found if report.segment == number])
    return found


def _loss_reports(rows: Sequence[StepRow], steps_per_epoch: int | None) -> list[_Report]:
    """Reports of a trainer without bars: a loss and the epochs done, of which the step follows where it is known."""
    found = []
    for row in rows:
        share, step = row.reading.epoch_share, None
        if steps_per_epoch is not None and share is not None:
            step = round(share * steps_per_epoch)
        row = row._replace(reading=row.reading._replace(step=step))
        found.append(_Report(row, float("nan"), "interval", 0, row.reading.loss))
    return found


def _give_losses(reports: Sequence[_Report], losses: Sequence[StepRow]) -> None:
    """The trainer prints a dict after the bar's redraw of its step: the loss belongs to the last step before it."""
    place = 0
    ordered = sorted(reports, key=lambda report: (report.row.line, report.row.part))
    for row in losses:
        while place < len(ordered) and (ordered[place].row.line, ordered[place].row.part) < (row.line, row.part):
            place += 1
        if place and ordered[place - 1].loss is None:
            ordered[place - 1].loss = row.reading.loss


def _steps(reports: Sequence[_Report], identity: Identity) -> pd.DataFrame:
    rows = [report.row for report in reports]
    readings = [row.reading for row in rows]
    return steps_frame(
        {
            "node": _nodes(rows, identity),
            "rank": pd.array([row.rank for row in rows], dtype="Int64"),
            "step": pd.array([reading.step for reading in readings], dtype="Int64"),
            "timestamp": _times(row.time_ms for row in rows),
            "step_time_s": [report.time_s for report in reports],
            "throughput": _column(readings, "throughput"),
            "throughput_unit": [reading.throughput_unit for reading in readings],
            "loss": [np.nan if report.loss is None else report.loss for report in reports],
            "gpu_memory_gib": _column(readings, "gpu_memory_gib"),
            "format": [reading.format for reading in readings],
            "kind": [report.kind for report in reports],
            "stream": [row.stream for row in rows],
            "line": [row.line for row in rows],
            "total": pd.array([reading.total for reading in readings], dtype="Int64"),
            "segment": [report.segment for report in reports],
            "warm_up": [report.warm_up for report in reports],
        }
    )


def _events(rows: Sequence[EventRow], identity: Identity) -> pd.DataFrame:
    return events_frame(
        {
            "timestamp": _times(row.time_ms for row in rows),
            "node": _nodes(rows, identity),
            "rank": pd.array([row.rank for row in rows], dtype="Int64"),
            "kind": [row.kind for row in rows],
            "text": [row.text for row in rows],
            "stream": [row.stream for row in rows],
            "line": [row.line for row in rows],
        }
    )


def _nodes(rows: Sequence[StepRow] | Sequence[EventRow], identity: Identity) -> list[str]:
    """The node of each row; there are few writers and many rows."""
    known: dict[tuple[int | None, str, str, str], str] = {}
    out = []
    for row in rows:
        who = (row.rank, row.host, row.stream, row.stream_node)
        node = known.get(who)
        if node is None:
            node = known[who] = identity.node_of(*who)
        out.append(node)
    return out


def _times(times_ms: Iterable[int | None]) -> pd.Series:
    return pd.Series(pd.to_datetime(pd.array(list(times_ms), dtype="Int64"), unit="ms", utc=True))
