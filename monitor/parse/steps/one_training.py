"""A run has one training: where bars and lines of text both tell its steps, one of them is read and not both.

Bars and reports are held together in each stream, by the order of their lines. A bar that moves on with a counter in the
text is the same loop. Lines that come once for each run of a bar sum up its epochs. Any other bar beside reports of steps
is no training unless it says so itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from monitor.parse.events.epochs import EPOCH_LINES, EPOCH_TRAINED
from monitor.parse.events.event_rows import TRAINS
from monitor.parse.events.marks import DATA_PREPARED, EVALUATION_HEAD, GENERATED
from monitor.parse.identity import Identity
from monitor.parse.rows import BARS, EventRow
from monitor.parse.steps.bar_runs import only_ends
from monitor.parse.steps.bars import Bar, Marks, training_bar
from monitor.parse.steps.timing import UNSURE
from monitor.parse.table import NOBODY, At, Ints, Readings

#: The format of what a trainer prints of a bar's losses.
LOSSES = "hf-trainer"
_OWN_BARS = frozenset({"keras"})
_NOTHING = np.empty(0, np.intp)
# What an event marks, by the field of ``Marks``.
_MARKS = {
    "evaluation-begin": "begins",
    "evaluation-end": "ends",
    EVALUATION_HEAD: "heads",
    DATA_PREPARED: "prepared",
    GENERATED: "generated",
}
# A text that tells the time of one step in twenty is worth more than a bar's smoothed one for each.
_ENOUGH = 20
_FEWEST_EPOCHS = 4
# So many of the epochs that a bar counts are told by lines, where these are told of at all.
_MOST_EPOCHS = 0.9
# Training, validation and test have three; pictures of videos have as many as there are videos.
_MANY_LENGTHS = 3
_OF_BATCHES = re.compile(r"(?i)batch|\brank|\bgpu|\bcuda|\bnode|\bfold|[:=] ?-?N\b")
Relation = Literal["same", "epochs", "over", "other"]


class Evaluations(NamedTuple):
    """What a log says of evaluations and of work without training."""

    marks: Mapping[str, Marks]
    """By stream."""
    serves: bool
    """A model answers here: prompts are processed, pictures are made."""
    trains: bool
    """A word of training stands somewhere, or may in a head that was not read yet."""


def evaluations(events: Iterable[EventRow], unread: bool = False) -> Evaluations:
    """From events in the order of their lines; ``unread`` where the head of a stream is still to be read.

    Bars that say that they evaluate are out already, and mark nothing.
    """
    lines: dict[str, dict[str, list[int]]] = {}
    serves, trains = False, unread
    epochs: set[tuple[str, str]] = set()
    for event in events:
        marks = lines.setdefault(event.stream, {})
        if event.kind in EPOCH_LINES:
            if (event.stream, event.text) not in epochs:
                epochs.add((event.stream, event.text))
                marks.setdefault("epochs", []).append(event.line)
            if event.kind == EPOCH_TRAINED:
                marks.setdefault("trained", []).append(event.line)
        elif event.kind in _MARKS and not (event.kind == "evaluation-begin" and "%|" in event.text):
            marks.setdefault(_MARKS[event.kind], []).append(event.line)
        serves = serves or event.kind == "inference"
        trains = trains or event.text == TRAINS
    by_stream = {
        stream: Marks(**{name: np.array(at, np.int64) for name, at in marks.items()}) for stream, marks in lines.items()
    }
    return Evaluations(by_stream, serves, trains)


@dataclass(slots=True)
class WriterRows:
    """The rows of one writer, as they are told."""

    formats: dict[str, At]
    """Its reports of steps by format, without bars and their losses."""
    losses: At = field(default_factory=lambda: _NOTHING)
    bar: Bar = field(default_factory=lambda: Bar(_NOTHING))


def one_training(
    table: Readings, series: Iterable[dict[str, At]], identity: Identity, said: Evaluations
) -> list[WriterRows]:
    """For each writer what is told of the training."""
    writers = [_writer(table, by_format, identity, said) for by_format in series]
    if not any(len(writer.bar.at) for writer in writers):
        return writers
    by_stream: dict[int, list[WriterRows]] = {}
    for writer in writers:
        first = next(iter(writer.formats.values()), writer.losses if not len(writer.bar.at) else writer.bar.at)
        if len(first):
            by_stream.setdefault(int(table.stream[first[0]]), []).append(writer)
    out: list[Bar] = []
    for together in by_stream.values():
        out += _one_of_both(table, together, identity)
    _without_unsure(table, writers, out, said)
    return writers


def _writer(table: Readings, by_format: dict[str, At], identity: Identity, said: Evaluations) -> WriterRows:
    marks = said.marks.get(str(table.texts[table.stream[next(iter(by_format.values()))[0]]]), Marks())
    texts = {
        name: at
        for name, all_at in by_format.items()
        if name not in BARS and name != LOSSES and len(at := _without_headed(table, all_at, marks.heads))
    }
    losses = by_format.get(LOSSES, _NOTHING)
    drawn = by_format.get("tqdm", _NOTHING)
    if not len(drawn):
        return WriterRows(texts, losses)
    return WriterRows(texts, losses, training_bar(table, drawn, identity.planned_steps, losses, marks))


def _without_headed(table: Readings, at: At, heads: Ints) -> At:
    """The reports without those that stand line by line below the head of an evaluation and do not go on with the count."""
    if not len(heads):
        return at
    lines, steps, total = table.line[at], table.step[at], table.total[at]
    follows = np.searchsorted(heads, lines)
    starts = np.flatnonzero((follows > 0) & (heads[follows - 1] == lines - 1))
    breaks = np.flatnonzero(np.diff(lines) > 1) + 1
    keep = np.ones(len(at), bool)
    for start in starts.tolist():
        if not start or (total[start] != total[start - 1] and not steps[start] > steps[start - 1]):
            end = np.searchsorted(breaks, start, side="right")
            keep[start : breaks[end] if end < len(breaks) else len(at)] = False
    return at[keep]


def _is_seldom(table: Readings, bar: Bar, told: Ints) -> bool:
    """The bar runs in few of the epochs that the log tells of: those are trained without it."""
    ends = only_ends(table, bar.at, np.zeros(len(bar.at), np.int64))
    runs = int(ends.sum()) or 1 + int((np.diff(table.step[bar.at]) < 0).sum())
    return len(told) >= _FEWEST_EPOCHS and 2 * runs < len(told)


def _counts_answers(table: Readings, bar: Bar, generated: Ints) -> bool:
    """Between most redraws of the bar a model writes an answer."""
    lines = np.unique(table.line[bar.at])
    written = np.diff(np.append(np.searchsorted(generated, lines), len(generated))) > 0
    return bool(written.mean() > 0.5)


def _is_seen_once(table: Readings, bar: Bar) -> bool:
    """Of the bar there is one redraw, in the middle of its run."""
    moved = np.unique(table.step[bar.at][table.step[bar.at] > 0])
    return len(moved) == 1 and 1 < moved[0] < bar.total


def _without_unsure(table: Readings, writers: Sequence[WriterRows], out: Sequence[Bar], said: Evaluations) -> None:
    """Bars that only might be the training's are none where another writer's is, or where the log says what else they are."""
    sure = [writer.bar for writer in writers if writer.bar.sure and len(writer.bar.at)]
    texts = any(len(at) for writer in writers for at in writer.formats.values())
    losses = any(len(writer.losses) for writer in writers)
    for writer in writers:
        bar = writer.bar
        if bar.sure or not len(bar.at):
            continue
        alone = not sure and not texts
        marks = said.marks.get(str(table.texts[table.stream[bar.at[0]]]), Marks())
        if _is_seldom(table, bar, marks.epochs):
            # Lines that stand far from the bar may tell of the epochs that it counts; some of them are lost behind redraws.
            counts_them = _MOST_EPOCHS * bar.total <= len(marks.epochs) <= bar.total
            writer.bar = bar._replace(at=_NOTHING, epochs=bar.at if counts_them else _NOTHING)
        elif (
            any(bar.like(other) for other in out)
            or (sure and not any(bar.like(other) for other in sure))
            or (alone and not bar.again and _is_seen_once(table, bar))
            or (alone and not losses and _counts_answers(table, bar, marks.generated))
            or (alone and (said.serves or (_may_be_anything(bar) and not said.trains)) and not losses)
        ):
            writer.bar = bar._replace(at=_NOTHING)


def _one_of_both(table: Readings, writers: Sequence[WriterRows], identity: Identity) -> list[Bar]:
    """Drops bars or reports of one stream where both tell of steps; the bars that are not the training's."""
    out: list[Bar] = []
    for name in sorted({name for writer in writers for name in writer.formats if name not in _OWN_BARS}):
        tellers = [writer for writer in writers if name in writer.formats]
        ranks = {_process(table, writer.formats[name]) for writer in tellers} - {None}
        drawing = [writer for writer in writers if len(writer.bar.at)]
        drawn_by = {_process(table, writer.bar.at) for writer in drawing} - {None}
        said_by_bars = False
        for writer in drawing:
            text = _beside(table, writer, tellers, name)
            relation = _relation(table, writer.bar.at, text)
            timed = len(drawn_by) <= max(1, len(ranks)) and _is_timed(
                table, writer.bar.at, text, name, identity, len(ranks)
            )
            few = len(text) * _ENOUGH < len(np.unique(table.step[writer.bar.at]))
            if (
                relation == "over"
                or (relation == "other" and not writer.bar.sure and len(text) > 2)
                or (relation == "same" and timed)
            ):
                if relation != "same":
                    out.append(writer.bar)
                writer.bar = writer.bar._replace(at=_NOTHING)
            elif relation in ("same", "epochs") or (writer.bar.sure and few):
                said_by_bars = True
                writer.losses = np.union1d(writer.losses, text)
        if said_by_bars:
            for writer in tellers:
                del writer.formats[name]
    return out


def _process(table: Readings, at: At) -> tuple[int, int] | None:
    """Which process wrote these rows, as far as its lines tell."""
    rank, local_rank = int(table.rank[at[0]]), int(table.local_rank[at[0]])
    return None if rank == local_rank == NOBODY else (rank, local_rank)


def _beside(table: Readings, writer: WriterRows, tellers: Sequence[WriterRows], name: str) -> At:
    """The reports that a writer's bar is held against: its own, else nobody's, else those of the rank that reports most."""
    if name in writer.formats:
        return writer.formats[name]
    others = [teller.formats[name] for teller in tellers]
    unnamed = [at for at in others if _process(table, at) is None]
    return max(unnamed or others, key=len)


def _is_timed(table: Readings, bar: At, text: At, name: str, identity: Identity, ranks: int) -> bool:
    """True where the reports tell step times of their own, often enough, or when each of several ranks reported."""
    clock = (table.clock_s[text] >= 0) & ~np.isin(table.meaning[text], [table.code(each) for each in UNSURE])
    untold = np.isnan(table.time_s[text]) & ~clock
    if name == "deepspeed" and identity.samples_per_step:
        untold &= np.isnan(table.throughput[text])
    if ranks > 1:
        untold &= np.isnan(table.time_ms[text])
    return int((~untold).sum()) * _ENOUGH >= len(np.unique(table.step[bar]))


def _relation(table: Readings, bar: At, text: At) -> Relation:
    """How reports stand to a bar: both tell the same steps; they come once for each run of it; it counts their epochs."""
    steps = np.nan_to_num(table.step[bar])
    run = np.cumsum(np.append(False, np.diff(steps) < 0))
    counted = not np.isnan(table.step[text]).any()
    # Reports that count nothing are counted.
    told = table.step[text] if counted else np.arange(1.0, len(text) + 1)
    before = np.searchsorted(bar, text) - 1
    inside = (before >= 0) & (before < len(bar) - 1)
    inside[inside] = run[before[inside]] == run[before[inside] + 1]
    pairs = np.flatnonzero(inside[1:] & inside[:-1])
    pairs = pairs[run[before[pairs + 1]] == run[before[pairs]]]
    drawn = steps[before[pairs + 1]] - steps[before[pairs]]
    moved = told[pairs + 1] - told[pairs]
    epochs = table.epoch[text[pairs + 1]] - table.epoch[text[pairs]]
    if epochs[epochs > 0].sum() >= 3 and (epochs == drawn).mean() > 0.8:
        return "over"
    on = moved >= 0
    if inside.mean() >= 0.5 and drawn[on].sum() > 0:
        in_step = moved[on].sum() <= 1.5 * drawn[on].sum() + 1 and on.mean() >= 0.5
        return "same" if in_step else "other"
    blocks = len(np.unique(before))
    rises = np.diff(told, prepend=0.0)
    each = np.where(rises > 0, rises, told).sum() / blocks
    if each <= 1.2:
        return "other" if counted else "epochs"
    # Standard output may come behind the bar that was drawn meanwhile.
    block = np.searchsorted(np.unique(before), np.arange(len(bar)))
    drawn_each = len(np.unique(block + 1j * steps)) / (int(block[-1]) + 1)
    # Not every step is drawn, and a count goes on with each of them.
    done_each = np.maximum.reduceat(steps, np.flatnonzero(np.diff(block, prepend=-1))).mean() if counted else drawn_each
    as_many = any(0.8 <= each / one <= 1.25 for one in (drawn_each, done_each) if one > 0)
    return "same" if blocks > 1 and as_many else "other"


def _may_be_anything(bar: Bar) -> bool:
    """One run, or several of many lengths, without a word of batches or their writer in front: anything may be drawn so."""
    return (not bar.again or bar.others >= _MANY_LENGTHS) and _OF_BATCHES.search(bar.description) is None
