"""All raw rows of a run to its Steps and Events frames: ranks to nodes, bars to steps, clocks to durations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from operator import attrgetter
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.model import events_frame, steps_frame
from monitor.parse.columns import Floats, durations
from monitor.parse.events import epochs, evaluated
from monitor.parse.events.evaluated import Evaluated
from monitor.parse.events.marks import DATA_PREPARED, EVALUATION_HEAD, GENERATED
from monitor.parse.examples import EACH, Where
from monitor.parse.identity import Identity, identify
from monitor.parse.reports import blocks, delimited
from monitor.parse.rows import BARS, UNCOUNTED, EventRow
from monitor.parse.steps import clocks
from monitor.parse.steps.bars import (
    are_means,
    by_its_clock,
    drawn_at_once,
    is_of_run,
    names_of_training,
    new_steps,
    renumbered,
    written_at,
)
from monitor.parse.steps.epoch_times import epochs_of_bars, epochs_only, number_of_epochs, time_by_epochs
from monitor.parse.steps.moving_average import own_times
from monitor.parse.steps.one_training import LOSSES, Evaluations, WriterRows, evaluations, one_training
from monitor.parse.steps.rounded_counts import in_full
from monitor.parse.steps.sample_counts import batches_of_bar, batches_of_keras
from monitor.parse.steps.series import (
    by_epoch,
    counts,
    each_once,
    fitted,
    in_time,
    joined,
    number_on,
    numbered,
    put_together,
    segments,
    whole_steps,
    without_silent_runs,
)
from monitor.parse.steps.timing import GENERIC, Reports, Timing, pauses_of, series_writers
from monitor.parse.steps.witness import ClockVerdict
from monitor.parse.strangers.collection import Strangers
from monitor.parse.strangers.learned import learn
from monitor.parse.table import NOBODY, At, Readings, Rows, by_code

# Several codes make one number; before it is too large for another code, writers are counted through.
_MOST_WRITERS = 1 << 31
_NO_LINE = np.iinfo(np.int64).min // 2
# Events for what is put together here alone.
_OURS = delimited.KINDS | evaluated.KINDS | epochs.KINDS | {EVALUATION_HEAD, DATA_PREPARED, GENERATED}
# Their throughput is that of the whole job, and counts what the configuration counts.
_OF_WHOLE_JOB = frozenset({"deepspeed", "tf-benchmarks"})
# Of these each process prints its own; the number is what a batch has by default, 0 where there is none.
_OF_PROCESS = {"mxnet": 0, "cyclegan": 1}
# What a trainer prints of its losses, also one name on a line, what it writes into a file, and a notebook's table of it.
_OF_TRAINERS = frozenset({LOSSES, "json", "block", "table"})
_MANY_LOSSES = 4
# So many times as many reports as redraws of a bar were not written beside it.
_MORE_THAN_A_BAR = 1.2
# So many intervals before its first report a training was resumed, or the begin of its log is gone.
_LATE = 3
_NOWHERE = np.empty(0, np.intp)
_in_streams = attrgetter("stream", "line", "part")


@dataclass(frozen=True, slots=True)
class Parsed:
    """What the logs of a run say: the two frames, and who ran where."""

    steps: pd.DataFrame
    events: pd.DataFrame
    identity: Identity
    timings: tuple[Timing, ...] = ()
    """How the times of each format were come by."""
    moved: Mapping[str, int] = field(default_factory=dict)
    """By how much the lines of a stream are counted from elsewhere than its raw rows."""
    learned: tuple[str, ...] = ()
    """The shapes of lines that no reader knows and that were learned as reports; empty where readers found some."""
    examples: Mapping[Where, str] = field(default_factory=dict)
    """The first rows of tables, and of the lines that were learned."""


def assemble(
    steps: Rows,
    events: Iterable[EventRow],
    numbering: Mapping[str, int | None] = MappingProxyType({}),
    strangers: Strangers | None = None,
    last: bool = False,
) -> Parsed:
    """The frames of all rows so far; the order in which rows were recognized does not matter. With ``last`` the rows are
    given up for them.

    ``numbering`` has the number that a stream's first line was given where that is not 1; None where the stream's head
    was not read yet, so that of its lines the order is known and no number. From ``strangers`` is learned where there are
    no other reports that count.
    """
    headless = {stream for stream, first in numbering.items() if first is None}
    events = (row for row in events if row.kind != "first-line" or row.stream not in headless)
    event_rows = sorted(events, key=_in_streams)
    identity = identify(event_rows)
    said = evaluations(event_rows, unread=bool(headless))
    table, in_tables = blocks.completed(steps, last), delimited.reports(event_rows)
    # A table of a log that also has reports of its own says them again.
    joint = len(in_tables) >= 2 * len(table)
    reports = _told(blocks.together_with(table, in_tables) if joint else table, event_rows, identity, said)
    by_bar = epochs_of_bars(reports.table, reports.epochs)
    if not reports.kept and not joint:
        # Bars that are no training's are no reports.
        reports = _told(in_tables.table(), event_rows, identity, said)
    names = {reports.table.format_of(at) for at in reports.kept if len(at)}
    # A bar may be another's, unless it says that it trains.
    unsure = names <= {UNCOUNTED} | BARS and not len(names_of_training(reports.table, _all_kept(reports)))
    learned = learn(strangers, said.trains, number_of_epochs(event_rows)) if strangers is not None and unsure else None
    # A bar that is taken for the training's tells of nearly each step, unless it is another's.
    times_more = _MORE_THAN_A_BAR if names & BARS else 1
    if learned is not None and len(learned.rows) > times_more * sum(map(len, reports.kept)):
        reports = _told(learned.rows.table(), event_rows, identity, said)
    elif reports.kept:
        learned = None
    if begun := evaluated.begun(reports.table, _all_kept(reports), event_rows):
        event_rows = sorted([*event_rows, *begun], key=_in_streams)
    timings = reports.settle(Evaluated(event_rows))
    if identity.mean_step_s is not None and _time_by_run(reports, identity.mean_step_s):
        timings = _with_times(timings, dict.fromkeys(_OF_TRAINERS, identity.mean_step_s))
    timings = _with_times(timings, _time_by_tokens(reports, identity.tokens_per_step))
    timings = _with_times(timings, time_by_epochs(reports, event_rows), ClockVerdict("shared"))
    table, size = reports.table, len(reports.table)
    at = _all_kept(reports)
    in_rows = _first_rows(table, at, event_rows) if len(in_tables) else {}
    number_on(table, at, reports.segment)
    shown = [row for row in event_rows if row.kind not in _OURS]
    if not reports.kept:
        by_line = [*event_rows, *delimited.epochs(event_rows)]
        shown += epochs_only(by_line, by_bar) or epochs_only(learned.epochs if learned is not None else ())
    newest = {row.stream: row.line for row in shown}
    moved: dict[str, int] = {}
    of_stream = (
        {str(table.texts[code]): here for code, here in by_code(table.stream, np.arange(size))} if numbering else {}
    )
    for stream, first in numbering.items():
        here = of_stream.get(stream, _NOWHERE)
        last = max(table.line[here].max(initial=_NO_LINE), newest.get(stream, _NO_LINE))
        moved[stream] = -1 - int(last) if first is None else 1 - first
        table.line[here] += moved[stream]
    frames = _steps(reports, at, identity), _events(shown, identity, moved)
    if learned is None:
        return Parsed(*frames, identity, timings, moved, examples=in_rows)
    return Parsed(*frames, identity, timings, moved, learned.shapes, {**in_rows, **learned.examples})


def _with_times(
    timings: tuple[Timing, ...], printed_s: Mapping[str, float], verdict: ClockVerdict | None = None
) -> tuple[Timing, ...]:
    """Those of the formats that were given a time with it, and with a verdict of their own where there is one."""
    return tuple(
        replace(each, printed_s=printed_s[each.format], verdict=verdict or each.verdict)
        if each.format in printed_s
        else each
        for each in timings
    )


def _all_kept(reports: Reports) -> At:
    return np.sort(np.concatenate(reports.kept)) if reports.kept else _NOWHERE


def _first_rows(table: Readings, at: At, events: Iterable[EventRow]) -> Mapping[Where, str]:
    """The texts of the first rows of tables that are reports."""
    at = at[np.isin(table.format[at], [table.code(name) for name in (delimited.FORMAT, delimited.COMMAS)])][:EACH]
    places = set(zip(table.texts[table.stream[at]].tolist(), table.line[at].tolist(), strict=True))
    return {
        (row.stream, row.line): row.text
        for row in events
        if row.kind == delimited.ROW and (row.stream, row.line) in places
    }


def _told(table: Readings, events: Sequence[EventRow], identity: Identity, said: Evaluations) -> Reports:
    """What the rows of a table report."""
    _name_ranks(table, identity)
    reports = Reports(table, pauses_of(events), identity.accumulation, identity.samples_per_step)
    merged = {table.code(stream) for stream in identity.merged}
    for writer in one_training(table, _series(table), identity, said):
        reports.epochs += [writer.bar.epochs] if len(writer.bar.epochs) else []
        _report(reports, writer, identity, merged)
    return reports


def _series(table: Readings) -> Iterator[dict[str, At]]:
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
        of_writer[table.format_of(at)] = at
    yield of_writer


def _name_ranks(table: Readings, identity: Identity) -> None:
    """Global ranks of processes that a label counts within their node, where the log says which node that is."""
    at = np.flatnonzero((table.rank == NOBODY) & (table.local_rank != NOBODY))
    for stream, here in by_code(table.stream, at):
        for local_rank, own in by_code(table.local_rank, here):
            rank = identity.rank_of(local_rank, str(table.texts[stream]))
            if rank is not None:
                table.rank[own] = rank


def _report(reports: Reports, writer: WriterRows, identity: Identity, merged: Set[int]) -> None:
    """The reports of one stream and rank."""
    table = reports.table
    for name, at in writer.formats.items():
        if name in GENERIC and not counts(table, at):
            continue
        samples = identity.samples_per_step if name in _OF_WHOLE_JOB else None
        if name in _OF_PROCESS:
            samples = identity.samples_per_process or _OF_PROCESS[name]
        if samples:
            _time_by_size(table, at, samples)
        batches_of_keras(table, at, identity.samples_per_epoch)
        if name == "stylegan":
            _by_images(table, at, identity.images_per_step)
        if (micro_batches := reports.micro_batches(name)) > 1:
            at = _last_of_steps(table, at, micro_batches)
        in_full(table, at)
        own = put_together(table, each_once(table, joined(table, fitted(table, at))))
        if name in GENERIC:
            own = without_silent_runs(table, own)
        own = in_time(table, numbered(table, by_epoch(table, whole_steps(table, own))))
        reports.add(segments(table, own))
    losses = writer.losses
    if _shows_ends_alone(table, writer):
        _spread(table, losses, _last_moved(table, writer.bar.at))
    elif len(writer.bar.at):
        batches_of_bar(table, writer.bar.at)
        bars = renumbered(table, writer.bar.at)
        at_once = int(table.stream[bars[0]]) in merged
        at, parts = new_steps(table, bars, drawn_at_once(table, bars) if at_once else 1)
        runs = np.split(np.arange(len(parts)), np.flatnonzero(np.diff(parts)) + 1) if len(parts) else []
        of_run, meanings = is_of_run(table.clock_s[at], runs), table.meaning[at]
        table.time_ms[at] = written_at(table, at, runs)
        smoothed, mean = table.code("smoothed"), table.code("running-mean")
        out_of_average = {} if of_run else own_times(table, at, runs)
        for place, here in enumerate(runs):
            own, times, kinds = at[here], table.time_s[at[here]], meanings[here]
            before = clocks.steps_before_first(table.step[own]) if here is runs[0] else np.nan
            taken = out_of_average[place] if place in out_of_average else by_its_clock(table, own, of_run, before)
            if taken is not None:
                times, kinds = taken, np.full_like(kinds, table.code("cumulative"))
            elif are_means(table, own):
                kinds = np.where(kinds == smoothed, mean, kinds)
            reports.keep(own, times, kinds, int(parts[here[0]]))
        _give_losses(table, at, losses)
        return
    if identity.steps_per_epoch is not None and len(losses):
        # Without bars the step follows from the epochs done, where the trainer does not name it.
        counted = np.round(table.epoch_share[losses] * identity.steps_per_epoch)
        table.step[losses] = np.where(np.isnan(table.step[losses]), counted, table.step[losses])
    if len(losses):
        for segment, part in enumerate(segments(table, losses)):
            reports.keep(part, table.time_s[part], table.meaning[part], segment)


def _last_of_steps(table: Readings, at: At, micro_batches: int) -> At:
    """The last report of each optimizer step, numbered by the steps that are done, of a counter of micro-batches from 0."""
    table.step[at] = (table.step[at] + 1) // micro_batches
    moved = (np.diff(table.step[at]) != 0) | (np.abs(np.diff(table.epoch[at])) > 0)
    is_last: NDArray[np.bool_] = np.append(moved, True)
    return at[is_last]


def _shows_ends_alone(table: Readings, writer: WriterRows) -> bool:
    """Of a bar that was written over again and again its end is left, or those of its epochs, and many losses are told beside
    it.
    """
    at, losses = writer.bar.at, writer.losses
    drawn = np.unique(table.step[at])
    drawn = drawn[drawn > 0]
    if len(losses) < len(drawn) * _MANY_LOSSES or not np.isnan(table.step[losses]).all():
        return False
    return drawn.tolist() == [writer.bar.total] or (
        len(drawn) > 1 and _every(table, losses, _last_moved(table, at)) > 0
    )


def _last_moved(table: Readings, at: At) -> int:
    """The last redraw of a bar that moved; one that began again may stand at 0."""
    return int(at[table.step[at] > 0][-1])


def _every(table: Readings, losses: At, end: int) -> int:
    """How many steps there are to each loss, where one number alone makes as many up to the bar's end as there are; else 0."""
    done, over = int(table.step[end]), table.step[end] == table.total[end]
    many = len(losses) if over else int((table.line[losses] <= table.line[end]).sum())
    every = done // many if many else 0
    return every if every and done // every == many and (every == 1 or done // (every - 1) > many) else 0


def _spread(table: Readings, losses: At, end: int) -> None:
    """Losses without a step or time have the mean of the bar that ended, and where it is known to how many steps one is told,
    each comes so many behind the one before.
    """
    if every := _every(table, losses, end):
        table.step[losses] = every * np.arange(1.0, len(losses) + 1)
    untold = losses[np.isnan(table.time_s[losses])] if not _begins_late(table, losses) else _NOWHERE
    table.time_s[untold], table.meaning[untold] = table.clock_s[end] / table.step[end], table.code("running-mean")


def _time_by_size(table: Readings, at: At, samples_per_step: int | Floats) -> None:
    """Samples a second are printed and, in a configuration, how many a step takes."""
    with np.errstate(divide="ignore"):
        by_size = durations(samples_per_step / table.throughput[at])
    table.time_s[at] = np.where(np.isnan(table.time_s[at]), by_size, table.time_s[at])


def _by_images(table: Readings, at: At, images_per_step: int | None) -> None:
    """Ticks of some thousand images are as many steps as these make, where it is told how many images a step takes, or how
    many images and steps a second.
    """
    paced = table.throughput[at] * table.time_s[at]
    usual = images_per_step or (np.round(np.nanmedian(paced)) if np.isfinite(paced).any() else np.nan)
    each = np.where(np.isnan(table.counter[at]), usual, table.counter[at])
    known = each > 0
    own, each = at[known], each[known]
    table.step[own] = np.round(1000 * table.epoch_share[own] / each)
    _time_by_size(table, own, each)
    table.put(at, counter=np.nan, epoch_share=np.nan)


def _time_by_run(reports: Reports, mean_step_s: float) -> bool:
    """Where a trainer's losses have no time of their own, that of each step is the mean of its run; whether there are any.

    Of a resumed training the Trainer divides all its steps by the seconds of this run: where the first report comes late nothing
    is known.
    """
    table = reports.table
    of = [at for at in reports.kept if len(at) and table.format_of(at) in _OF_TRAINERS]
    of = [at for at in of if np.isnan(reports.time_s[at]).all() and not _begins_late(table, at)]
    for at in of:
        reports.time_s[at], reports.kind[at] = mean_step_s, table.code("running-mean")
    return bool(of)


def _begins_late(table: Readings, at: At) -> bool:
    """The first report tells of far more than lies between two of them."""
    done = table.epoch_share[at] if not np.isnan(table.epoch_share[at]).any() else table.step[at]
    return len(done) > 2 and bool(done[0] > _LATE * np.median(np.diff(done)) > 0)


def _time_by_tokens(reports: Reports, tokens: int | None) -> dict[str, float]:
    """Where one writer prints tokens a second and nothing tells a time, that of a step is as many as the log says it takes, over
    them; the median of each format that has its times so.
    """
    table, whole = reports.table, reports.table.code("tokens/s")
    if not tokens or len(series_writers(table, [at for at in reports.kept if len(at)])) != 1:
        return {}
    timed: dict[str, float] = {}
    for at in reports.kept:
        if len(at) and np.isnan(reports.time_s[at]).all() and (table.throughput_unit[at] == whole).all():
            reports.time_s[at] = durations(tokens / table.throughput[at])
            reports.kind[at] = table.code("interval")
            timed.setdefault(table.format_of(at), float(np.nanmedian(reports.time_s[at])))
    return timed


def _give_losses(table: Readings, at: At, losses: At) -> None:
    """The trainer prints a dict after the bar's redraw of its step: its loss belongs to the last step before it, and its
    learning rate."""
    before = np.searchsorted(np.sort(at), losses) - 1
    told = losses[before >= 0]
    for place, report in zip(np.sort(at)[before[before >= 0]].tolist(), told.tolist(), strict=True):
        if np.isnan(table.loss[place]):
            table.put(place, loss=table.loss[report], learning_rate=table.learning_rate[report])


def _steps(reports: Reports, at: At, identity: Identity) -> pd.DataFrame:
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


def _nodes_of(table: Readings, at: At, identity: Identity) -> pd.api.extensions.ExtensionArray:
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
