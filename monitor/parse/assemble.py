"""All raw rows of a run to its Steps and Events frames: ranks to nodes, bars to steps, clocks to durations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.model import events_frame, steps_frame
from monitor.parse import clocks, delimited
from monitor.parse.bars import drawn_at_once, new_steps, renumbered, training_rows
from monitor.parse.columns import Floats, durations
from monitor.parse.identity import Identity, identify
from monitor.parse.learned import learn
from monitor.parse.rows import EventRow
from monitor.parse.series import by_epoch, joined, number_on, numbered, said_once, segments, whole_steps
from monitor.parse.strangers import Strangers
from monitor.parse.table import NOBODY, At, Codes, Rows, Table, by_code

# First reports contain tracing, compilation and allocation; they are marked while they are this much slower than usual.
WARM_UP_RATIO = 1.5
WARM_UP_MOST = 20
# Several codes make one number; before it is too large for another code, writers are counted through.
_MOST_WRITERS = 1 << 31
_NO_LINE = np.iinfo(np.int64).min // 2
_NOWHERE = np.empty(0, np.intp)


@dataclass(frozen=True, slots=True)
class Parsed:
    """What the logs of a run say: the two frames, and who ran where."""

    steps: pd.DataFrame
    events: pd.DataFrame
    identity: Identity
    learned: tuple[str, ...] = ()
    """The shapes of lines that no reader knows and that were learned as reports; empty where readers found some."""


@dataclass(slots=True)
class _Reports:
    """What is told of the rows of a table: which of them are reports of a step, and what they say of it."""

    table: Table
    kept: list[At]
    time_s: Floats
    kind: Codes
    """Codes into the table's texts."""
    segment: Codes
    warm_up: NDArray[np.bool_]

    def keep(self, at: At, time_s: Floats, kind: int | Codes, segment: int) -> None:
        """Adds the reports of one segment."""
        self.kept.append(at)
        self.time_s[at] = time_s
        self.kind[at] = kind
        self.segment[at] = segment
        self.warm_up[at[: _warm_up(time_s)]] = True


def assemble(
    steps: Rows,
    events: Iterable[EventRow],
    numbering: Mapping[str, int | None] = MappingProxyType({}),
    strangers: Strangers | None = None,
) -> Parsed:
    """The frames of all rows so far; the order in which rows were recognized does not matter.

    ``numbering`` has the number that a stream's first line was given where that is not 1; None where the stream's head
    was not read yet, so that of its lines the order is known and no number. From ``strangers`` is learned where there are
    no other reports.
    """
    headless = {stream for stream, first in numbering.items() if first is None}
    events = (row for row in events if row.kind != "first-line" or row.stream not in headless)
    event_rows = sorted(events, key=lambda row: (row.stream, row.line, row.part))
    identity = identify(event_rows)
    # A table of a log that also has reports of its own says them again.
    reports = _reports(steps if len(steps) else delimited.reports(event_rows), identity)
    learned = learn(strangers) if strangers is not None and not reports.kept else None
    if learned is not None:
        reports = _reports(learned.rows, identity)
    table = reports.table
    at = np.sort(np.concatenate(reports.kept)) if reports.kept else np.empty(0, np.intp)
    number_on(table, at, reports.segment)
    shown = [row for row in event_rows if row.kind not in delimited.KINDS]
    newest = {row.stream: row.line for row in shown}
    moved: dict[str, int] = {}
    of_stream = (
        {str(table.texts[code]): here for code, here in by_code(table.stream, np.arange(len(table)))}
        if numbering
        else {}
    )
    for stream, first in numbering.items():
        here = of_stream.get(stream, _NOWHERE)
        last = max(table.line[here].max(initial=_NO_LINE), newest.get(stream, _NO_LINE))
        moved[stream] = -1 - int(last) if first is None else 1 - first
        table.line[here] += moved[stream]
    shapes = learned.shapes if learned is not None else ()
    return Parsed(_steps(reports, at, identity), _events(shown, identity, moved), identity, shapes)


def _reports(rows: Rows, identity: Identity) -> _Reports:
    """What is told of the rows, each writer's by itself."""
    table = rows.table()
    _name_ranks(table, identity)
    size = len(table)
    reports = _Reports(
        table, [], np.full(size, np.nan), np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size, bool)
    )
    merged = {table.code(stream) for stream in identity.merged}
    for by_format in _series(table):
        _report(reports, by_format, identity, int(table.stream[next(iter(by_format.values()))[0]]) in merged)
    return reports


def _series(table: Table) -> Iterator[dict[str, At]]:
    """For each writer the places of its rows, by format."""
    if not len(table):
        return
    # Lines that name no rank may tell their writers apart by host, or by a process's number on its node.
    nobody = table.rank == NOBODY
    writer = np.zeros(len(table), np.int64)
    others = (np.where(nobody, key, 0) for key in (table.host, table.local_rank, table.task))
    for key in (table.stream, table.rank, *others, table.format):
        if int(writer.max()) > _MOST_WRITERS:
            writer = np.unique(writer, return_inverse=True)[1]
        writer = writer * (int(key.max()) + 2) + key + 1
    order = np.argsort(writer, kind="stable")
    starts = np.flatnonzero(np.diff(writer[order], prepend=-1))
    formats = int(table.format.max()) + 2
    of_writer: dict[str, At] = {}
    last = -1
    for at in np.split(order, starts[1:]):
        who = int(writer[at[0]]) // formats
        if of_writer and who != last:
            yield of_writer
            of_writer = {}
        last = who
        of_writer[str(table.texts[table.format[at[0]]])] = at
    yield of_writer


def _name_ranks(table: Table, identity: Identity) -> None:
    """Global ranks of processes that a label counts within their node, where the log says which node that is."""
    at = np.flatnonzero((table.rank == NOBODY) & (table.local_rank != NOBODY))
    for stream, here in by_code(table.stream, at):
        for local_rank, own in by_code(table.local_rank, here):
            rank = identity.rank_of(local_rank, str(table.texts[stream]))
            if rank is not None:
                table.rank[own] = rank


def _report(reports: _Reports, by_format: dict[str, At], identity: Identity, merged: bool) -> None:
    """The reports of one stream and rank."""
    table = reports.table
    for name, at in by_format.items():
        if name not in {"tqdm", "hf-trainer"}:
            if name == "deepspeed" and identity.samples_per_step:
                _time_by_size(table, at, identity.samples_per_step)
            own = said_once(table, joined(table, at))
            own = numbered(table, by_epoch(table, whole_steps(table, own)))
            for segment, part in enumerate(segments(table, own)):
                _timed(reports, part, segment)
    losses = by_format.get("hf-trainer", np.empty(0, np.intp))
    if "tqdm" in by_format:
        bars = renumbered(table, training_rows(table, by_format["tqdm"], identity.planned_steps))
        at, parts = new_steps(table, bars, drawn_at_once(table, bars) if merged else 1)
        meanings = table.meaning[at]
        for here in np.split(np.arange(len(parts)), np.flatnonzero(np.diff(parts)) + 1) if len(parts) else ():
            reports.keep(at[here], table.time_s[at[here]], meanings[here], int(parts[here[0]]))
        _give_losses(table, at, losses)
    elif len(losses):
        if identity.steps_per_epoch is not None:
            # Without bars the step follows from the epochs done, where the trainer does not name it.
            counted = np.round(table.epoch_share[losses] * identity.steps_per_epoch)
            table.step[losses] = np.where(np.isnan(table.step[losses]), counted, table.step[losses])
        for segment, part in enumerate(segments(table, losses)):
            reports.keep(part, table.time_s[part], table.meaning[part], segment)


def _time_by_size(table: Table, at: At, samples_per_step: int) -> None:
    """DeepSpeed prints samples of the whole job a second and, in its configuration, how many a step takes."""
    with np.errstate(divide="ignore"):
        by_size = durations(samples_per_step / table.throughput[at])
    table.time_s[at] = np.where(np.isnan(table.time_s[at]), by_size, table.time_s[at])


def _timed(reports: _Reports, at: At, segment: int) -> None:
    table = reports.table
    steps, times, clock = table.step[at], table.time_s[at], table.clock_s[at]
    # A first line without a time says nothing about how the times of the others are meant.
    told = np.flatnonzero(~np.isnan(times))
    meaning = str(table.texts[table.meaning[at[told[0] if len(told) else 0]]])
    gaps = np.diff(steps)
    usual_gap = float(np.median(gaps)) if len(gaps) else np.nan
    tick_s = float(table.clock_tick_s[at].max())
    if not np.isnan(clock).all():
        rated = times
        times, from_clock = clocks.by_rate_and_clock(steps, clock, table.throughput[at], tick_s)
        # One report alone has nothing to be differenced with; the rate it prints is what there is.
        times = np.where(np.isnan(times) & (len(at) == 1), rated, times)
        mean = meaning == "interval" and usual_gap > 1.0
        by_rate = table.code("interval" if mean else "step")
        reports.keep(at, times, np.where(from_clock, table.code("cumulative"), by_rate), segment)
        return
    if meaning == "clock" or (meaning == "either" and clocks.is_clock(times, tick_s)):
        times, kind = clocks.differenced(steps, times, tick_s, clocks.steps_before_first(steps)), "cumulative"
    elif meaning == "span":
        times = clocks.shared(steps, times, usual_gap)
        kind = "step" if usual_gap == 1.0 else "interval"
        rateless = at[np.isnan(table.throughput[at]) & ~np.isnan(times)]
        table.throughput[at] = np.where(np.isnan(table.throughput[at]), 1.0 / times, table.throughput[at])
        table.throughput_unit[rateless] = table.code("it/s")
    elif meaning == "interval":
        kind = "step" if usual_gap == 1.0 else "interval"
    else:
        kind = "step" if meaning == "either" else meaning
    reports.keep(at, times, table.code(kind), segment)


def _warm_up(times_s: Floats) -> int:
    """How many of a segment's first reports contain tracing, compilation or allocation."""
    if np.isfinite(times_s).sum() < 3:
        return 0
    first = times_s[: min(WARM_UP_MOST, len(times_s) // 2)]
    usual = first <= WARM_UP_RATIO * float(np.nanmedian(times_s))
    slow = ~np.isnan(first)[: int(usual.argmax()) if usual.any() else len(first)]
    return int(np.flatnonzero(slow)[-1]) + 1 if slow.any() else 0


def _give_losses(table: Table, at: At, losses: At) -> None:
    """The trainer prints a dict after the bar's redraw of its step: its loss belongs to the last step before it, and its
    learning rate."""
    before = np.searchsorted(np.sort(at), losses) - 1
    told = losses[before >= 0]
    for place, report in zip(np.sort(at)[before[before >= 0]].tolist(), told.tolist(), strict=True):
        if np.isnan(table.loss[place]):
            table.loss[place] = table.loss[report]
            table.learning_rate[place] = table.learning_rate[report]


def _steps(reports: _Reports, at: At, identity: Identity) -> pd.DataFrame:
    """The frame, which takes the place of the table: both at once would be twice the memory."""
    table = reports.table
    texts = pd.array(table.texts, dtype="str")
    nodes = _nodes_of(table, at, identity)
    table.keep(*_IN_FRAME)
    whole, numbers = {}, {"line": table.taken("line", at)}
    for name in ("rank", "step", "total"):
        values = table.taken(name, at)
        whole[name] = _whole(values, ~(np.abs(values) < _MOST) if values.dtype.kind == "f" else values < 0)
    for name in ("throughput", "loss", "gpu_memory_gib", "learning_rate"):
        numbers[name] = table.taken(name, at)
    said = {name: texts.take(table.taken(name, at)) for name in ("throughput_unit", "format")}
    return steps_frame(
        {
            "node": nodes,
            "timestamp": _times(table.taken("time_ms", at)),
            "step_time_s": reports.time_s[at],
            "stream": pd.Categorical.from_codes(table.taken("stream", at), categories=table.texts),
            "kind": texts.take(reports.kind[at]),
            "segment": reports.segment[at],
            "warm_up": reports.warm_up[at],
            **whole,
            **numbers,
            **said,
        }
    )


# Beyond it a float is no whole number of its own.
_MOST = 2.0**62
_IN_FRAME = (
    *("rank", "step", "total", "line", "throughput", "loss", "gpu_memory_gib", "learning_rate"),
    *("throughput_unit", "format", "stream", "time_ms"),
)


def _whole(values: NDArray[Any], missing: NDArray[np.bool_]) -> pd.arrays.IntegerArray:
    return pd.arrays.IntegerArray(np.where(missing, 0, values).astype(np.int64), missing)


def _nodes_of(table: Table, at: At, identity: Identity) -> pd.api.extensions.ExtensionArray:
    """The node of each row; there are few writers and many rows."""
    if not len(at):
        return pd.array([], dtype="str")
    # One number a writer: sorting rows of four takes longer than all the rest.
    which = np.zeros(len(at), np.int64)
    for column in (table.rank, table.host, table.stream, table.node):
        if int(which.max()) > _MOST_WRITERS:
            which = np.unique(which, return_inverse=True)[1]
        which = which * (int(column.max()) + 2) + column[at] + 1
    _, firsts, which = np.unique(which, return_index=True, return_inverse=True)
    names = []
    for first in at[firsts].tolist():
        rank = int(table.rank[first])
        texts = (str(table.texts[column[first]]) for column in (table.host, table.stream, table.node))
        names.append(identity.node_of(None if rank == NOBODY else rank, *texts))
    return pd.array(names, dtype="str").take(which)


def _events(rows: Sequence[EventRow], identity: Identity, moved: Mapping[str, int]) -> pd.DataFrame:
    return events_frame(
        {
            "timestamp": _times(np.array([row.time_ms for row in rows], dtype=float)),
            "node": _nodes(rows, identity),
            "rank": pd.array([row.rank for row in rows], dtype="Int64"),
            "kind": [row.kind for row in rows],
            "text": [row.text for row in rows],
            "stream": [row.stream for row in rows],
            "line": np.array([row.line + moved.get(row.stream, 0) for row in rows], dtype=np.int64),
        }
    )


def _nodes(rows: Sequence[EventRow], identity: Identity) -> list[str]:
    return [identity.node_of(row.rank, row.host, row.stream, row.stream_node) for row in rows]


def _times(times_ms: Floats) -> pd.Series:
    whole = np.where(np.isnan(times_ms), np.iinfo(np.int64).min, times_ms).astype("datetime64[ms]")
    return pd.Series(whole).dt.tz_localize("UTC")
