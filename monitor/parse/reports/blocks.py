"""Which pieces are one report? Blocks of one number a line, and what stands on a line of its own beside a report.

A piece belongs to the step printed last, or to the next one. Which of the two, the lines of a whole log tell: a program
prints the parts of a report at the same places of it, and at the same moment, while what lies between two reports varies.
Where both sides are alike a log begins with the first line of a report, not with its middle. What is printed for some of
the reports only, or several times for each, is no part of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from monitor.parse.columns import Floats
from monitor.parse.fields.keys import Key
from monitor.parse.fields.records import Entry, Form, Value, form, reading
from monitor.parse.fields.vocabulary import ITERATION, PART_OF_LOSS
from monitor.parse.reports import pieces
from monitor.parse.rows import Reading
from monitor.parse.table import At, Ints, Place, Readings, Rows, together

FORMAT = "block"
# Bars and the dictionaries beside them have a reader of their own, and parts of a report are no reports.
_NOT_BESIDE = frozenset({"tqdm", "hf-trainer", "loss-only"})
# Of pieces these say more of a report.
_USEFUL = frozenset({"time", "rate", "throughput", "loss", "memory", "learning", "left"})
# A part of a report is not printed further away from its step.
_BLOCK_LINES = 400
_LEAST_SHARE, _LEAST_OF_ALL = 0.7, 0.2
# Of two counts of steps the better one counts where it is printed nearly as often.
_AS_OFTEN = 0.8
# One side is taken where it is that much closer in time.
_CLOSER = 0.2


@dataclass(frozen=True, slots=True)
class _Kind:
    """All pieces of one name that one writer printed."""

    name: str
    at: At
    keys: tuple[Key | None, ...]
    """Of each of them: their units may differ."""


def completed(steps: Rows, last: bool = False) -> Readings:
    """The reports that were read, what other lines say of them put in, and those that are told in pieces.

    With ``last`` the rows are given up for them.
    """
    table = steps.table(last)
    if not len(steps.beside):
        return table
    beside = steps.beside.table(last)
    found = Rows()
    for own, theirs in _writers(table, beside):
        kinds = _kinds(beside, theirs)
        anchors, whole = _reports_of(table, own)
        counted = _counted(beside, kinds)
        if counted is not None and len(counted.at) >= 2 * len(anchors) + 2:
            _sharpen_clock(beside, kinds)
            _add_blocks(found, beside, counted, [kind for kind in kinds if kind.name != counted.name])
        elif len(anchors) and not whole:
            _fill(table, anchors, beside, kinds)
    return together_with(table, found)


def together_with(table: Readings, found: Rows) -> Readings:
    """The table and further reports."""
    if not len(found):
        return table
    return together([table, found.table()]) if len(table) else found.table()


def _writers(table: Readings, beside: Readings) -> Iterator[tuple[At, At]]:
    """The places of each writer's reports and of its pieces, for all that have pieces."""
    own = {text: code for code, text in enumerate(table.texts.tolist())}
    size = len(table)
    writer = np.zeros(size + len(beside), np.int64)
    for name in ("stream", "host", "rank", "local_rank", "task"):
        theirs = getattr(beside, name)
        if name in {"stream", "host"}:
            codes = np.array(
                [own.get(text, len(own) + place) for place, text in enumerate(beside.texts.tolist())], np.int64
            )
            theirs = codes[theirs]
        column = np.concatenate([getattr(table, name).astype(np.int64), theirs.astype(np.int64)])
        writer = np.unique(writer * (int(column.max()) + 2) + column + 1, return_inverse=True)[1]
    order = np.argsort(writer, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(writer[order])) + 1):
        begin = int(np.searchsorted(part, size))
        if begin < len(part):
            yield part[:begin], part[begin:] - size


def _kinds(beside: Readings, at: At) -> list[_Kind]:
    """The pieces of one writer by their names."""
    codes = beside.bar[at]
    by_name: dict[str, list[int]] = {}
    known: dict[int, Key | None] = {}
    for code in np.unique(codes).tolist():
        name, unit = pieces.named(str(beside.texts[code]))
        known[code] = pieces.key(name, unit)
        by_name.setdefault(name, []).append(code)
    found = []
    for name, own in sorted(by_name.items()):
        here = at[np.isin(codes, own)]
        found.append(_Kind(name, here, tuple(known[code] for code in beside.bar[here].tolist())))
    return found


def _what(kind: _Kind) -> str:
    first = kind.keys[0]
    return "" if first is None else first.what


def _counted(beside: Readings, kinds: Sequence[_Kind]) -> _Kind | None:
    """The count that numbers the reports: the best of those that are printed nearly as often as any.

    Where nothing but the steps of an environment is counted, each epoch, of rollouts and updates, is a step of the training.
    """
    counts = [kind for kind in kinds if _what(kind) == "step"]
    most = max((len(kind.at) for kind in counts), default=0)
    usual = [kind for kind in counts if len(kind.at) >= _AS_OFTEN * most]
    best = min(usual, key=lambda kind: (kind.keys[0].order if kind.keys[0] else 99, kind.name), default=None)
    if best is not None and best.keys[0] is not None and best.keys[0].order == pieces.OF_ENVIRONMENT:
        epochs = (kind for kind in kinds if _what(kind) == "epoch" and len(kind.at) >= _AS_OFTEN * most)
        if (of_epochs := next(epochs, None)) is not None:
            return _Kind(of_epochs.name, of_epochs.at, (Key("step", ITERATION, whole_run=True),) * len(of_epochs.at))
    return best


def _sharpen_clock(beside: Readings, kinds: Sequence[_Kind]) -> None:
    """Of an environment's frames and their rate, which is a mean since the begin, cut to whole frames a second, follow the
    seconds that passed more closely than a clock of whole seconds shows.
    """
    clock = next((kind for kind in kinds if (key := kind.keys[0]) and key.meaning == "clock"), None)
    frames = next((kind for kind in kinds if (key := kind.keys[0]) and key.order == pieces.OF_ENVIRONMENT), None)
    rate = next((kind for kind in kinds if kind.name == "fps"), None)
    if clock is None or frames is None or rate is None or (beside.clock_tick_s[clock.at] != 1.0).any():
        return
    lines, times = beside.line[clock.at], beside.time_ms[clock.at]

    def at_clock(kind: _Kind) -> Floats:
        of = _paired(lines, times, beside.line[kind.at], beside.time_ms[kind.at])
        return np.where(of >= 0, beside.clock_s[kind.at][of], np.nan)

    done, per_s = at_clock(frames), at_clock(rate)
    with np.errstate(divide="ignore", invalid="ignore"):
        least, most = done / (per_s + 1), done / per_s
    passed, tick_s = (least + most) / 2, most - least
    agrees = (tick_s < 1.0) & (least < beside.clock_s[clock.at] + 1.0) & (most >= beside.clock_s[clock.at])
    if agrees.all():
        beside.put(clock.at, clock_s=passed, clock_tick_s=tick_s)


def _reports_of(table: Readings, at: At) -> tuple[At, bool]:
    """(the reports of one writer that pieces may belong to, whether its format reads the pieces of a report itself): those of
    the format with the most of them.
    """
    of_format: dict[int, At] = {}
    for code in np.unique(table.format[at]).tolist():
        if str(table.texts[code]) not in _NOT_BESIDE:
            of_format[code] = at[table.format[at] == code]
    if not of_format:
        return np.empty(0, np.intp), False
    here = max(of_format.values(), key=len)
    parts = np.isin(table.meaning[here], (table.code("of-last"), table.code("part")))
    return here[~parts & ~np.isnan(table.step[here])], bool(parts.any())


def _paired(lines: Ints, times: Floats, own: Ints, own_times: Floats) -> NDArray[np.int64]:
    """For each report the index of the piece of one kind that is of it, -1 where none is."""
    none = np.full(len(lines), -1, np.int64)
    before, behind = np.searchsorted(lines, own, "right") - 1, np.searchsorted(lines, own, "left")
    after = _side(own - lines[before], before >= 0)
    ahead = _side(lines[np.minimum(behind, len(lines) - 1)] - own, behind < len(lines))
    if _is_ahead(after, ahead, _closer(before, behind, times, own_times)):
        reports, (distance, fits, usual) = behind, ahead
    else:
        reports, (distance, fits, usual) = before, after
    chosen = np.flatnonzero(fits & (distance <= _BLOCK_LINES))
    # The one at the usual place comes last, and stays.
    chosen = chosen[np.argsort(-np.abs(distance[chosen] - usual), kind="stable")]
    none[reports[chosen]] = chosen
    taken = np.flatnonzero(none >= 0)
    # A program may begin to print it late, but what is there once among several is of none.
    among = int(taken[-1] - taken[0]) + 1 if len(taken) else 0
    if len(taken) < max(_LEAST_OF_ALL * len(lines), min(len(lines), 2)) or any(
        len(taken) < _LEAST_SHARE * count and count - len(taken) > 1 for count in (among, len(own))
    ):
        none[:] = -1
    return none


_Side = tuple[Ints, NDArray[np.bool_], int]


def _side(distance: Ints, fits: NDArray[np.bool_]) -> _Side:
    """(lines to the report, whether there is one, the usual distance)."""
    values, counts = np.unique(distance[fits], return_counts=True)
    return distance, fits, int(values[counts.argmax()]) if len(values) else 0


def _closer(before: At, behind: At, times: Floats, own_times: Floats) -> int:
    """1 where the pieces are printed with the report before them, by the time of both, -1 with the one behind, 0 unknown."""
    inside = (before >= 0) & (behind < len(times)) & (before != behind)
    since, until = own_times[inside] - times[before[inside]], times[behind[inside]] - own_times[inside]
    known = ~np.isnan(since) & ~np.isnan(until)
    if not known.any():
        return 0
    after, ahead = float(np.median(since[known])), float(np.median(until[known]))
    if after <= _CLOSER * ahead and ahead > 0:
        return 1
    return -1 if ahead <= _CLOSER * after and after > 0 else 0


def _is_ahead(after: _Side, ahead: _Side, closer: int) -> bool:
    if closer:
        return closer < 0
    regular = [int((fits & (distance == usual)).sum()) for distance, fits, usual in (after, ahead)]
    # One of them has no report at the begin or at the end of a log that is cut.
    if abs(regular[0] - regular[1]) > max(1, 0.05 * max(regular)):
        return regular[1] > regular[0]
    begins = not bool(after[1][0])
    return begins and int(ahead[0][0]) == ahead[2]


def _fill(table: Readings, anchors: At, beside: Readings, kinds: Sequence[_Kind]) -> None:
    """What stands on other lines is put into the reports that lack it."""
    lacking = [name for name in ("time_s", "throughput", "loss") if np.isnan(getattr(table, name)[anchors]).any()]
    useful = [kind for kind in kinds if _what(kind) in _USEFUL]
    if not lacking or not useful:
        return
    step = Entry(0, Key("step"), "step")
    for place, entries, values, ticks, rate in _records(table, anchors, beside, useful):
        found = _reading(
            (step, *entries), [int(table.step[place]), *values] if table.step[place] < 1e15 else [0, *values], ticks
        )
        if found is None:
            continue
        if np.isnan(table.time_s[place]) and np.isnan(table.clock_s[place]):
            if found.time_s or found.meaning == "remaining":
                table.meaning[place] = table.code(found.meaning)
            for name in ("time_s", "clock_s", "clock_tick_s"):
                value = getattr(found, name)
                table.put(place, **{name: np.nan if value is None else value})
        if np.isnan(table.throughput[place]) and found.throughput is not None:
            table.throughput[place] = found.throughput
            table.throughput_unit[place] = table.code(found.throughput_unit)
        for name, value in (("loss", found.loss), ("gpu_memory_gib", found.gpu_memory_gib), ("learning_rate", rate)):
            if value is not None and np.isnan(getattr(table, name)[place]):
                table.put(place, **{name: value})


def _add_blocks(found: Rows, beside: Readings, counted: _Kind, kinds: Sequence[_Kind]) -> None:
    """The reports that are told in pieces; a block that is printed once, such as a configuration, is none."""
    anchors = counted.at
    steps = beside.clock_s[anchors]
    places: list[Place] = []
    readings: list[Reading] = []
    # A total that changes counts something itself.
    others = [kind for kind in kinds if _what(kind) != "step" and (_what(kind) != "total" or _stands(beside, kind))]
    # A part of the loss on a line of its own tells of a report, too, though it is not the loss.
    lines = beside.line[anchors]
    lossy = any(_what(kind) == "loss" and not np.isin(beside.line[kind.at], lines).any() for kind in others)
    for at, (place, entries, values, ticks, rate) in enumerate(_records(beside, anchors, beside, others)):
        key = counted.keys[at]
        if key is None or not 0 <= steps[at] < 1e15:
            continue
        total = beside.total[place]
        # What numbers the blocks is their step, however it is called.
        key = key._replace(order=min(key.order, ITERATION))
        own = [Entry(0, key, counted.name, -1 if np.isnan(total) else 1)]
        moved = [entry._replace(place=entry.place + 1) for entry in entries]
        head: list[Value] = [int(steps[at]), None if np.isnan(total) else int(total)]
        report = _reading((*own, *moved), [*head, *values], {number + 1: tick for number, tick in ticks.items()})
        few = len({entry.place for entry in entries}) < (1 if lossy else 2)
        if report is None or (few and _tells_nothing(report)):
            continue
        time_ms, stamp_ms = beside.time_ms[place], beside.stamp_ms[place]
        readings.append(report)
        places.append(
            (
                *(int(beside.line[place]), int(beside.part[place])),
                *(None if np.isnan(time_ms) else int(time_ms), int(beside.rank[place])),
                *(str(beside.texts[beside.host[place]]), False),
                *(int(beside.local_rank[place]), int(beside.task[place]), rate),
                None if np.isnan(stamp_ms) else int(stamp_ms),
            )
        )
    if len({report.step for report in readings}) > 1:
        stream, node = (str(beside.texts[column[anchors[0]]]) for column in (beside.stream, beside.node))
        found.add(stream, node, places, readings)


def _tells_nothing(report: Reading) -> bool:
    return all(each is None for each in (report.time_s, report.clock_s, report.throughput, report.loss))


def _stands(beside: Readings, kind: _Kind) -> bool:
    return len(np.unique(beside.clock_s[kind.at])) == 1


_Record = tuple[int, list[Entry], list[Value], dict[int, float], float | None]


def _records(table: Readings, anchors: At, beside: Readings, kinds: Sequence[_Kind]) -> Iterator[_Record]:
    """For each report (its place, the entries of its pieces, numbered from 1, their values, their ticks, a learning rate)."""
    lines, times = table.line[anchors], table.time_ms[anchors]
    of_kind = [(kind, _paired(lines, times, beside.line[kind.at], beside.time_ms[kind.at])) for kind in kinds]
    for report, place in enumerate(anchors.tolist()):
        entries: list[Entry] = []
        values: list[Value] = []
        ticks: dict[int, float] = {}
        rate: float | None = None
        for kind, paired in of_kind:
            if (index := int(paired[report])) < 0 or (key := kind.keys[index]) is None:
                continue
            piece = int(kind.at[index])
            value = float(beside.clock_s[piece])
            if key.what == "learning":
                rate = value
            values.append(_printed(value, pieces.named(str(beside.texts[beside.bar[piece]]))[1]))
            # One part of a loss is not the loss: the others stand on lines of their own, by whatever names.
            is_part = key.what == "loss" and key.order == PART_OF_LOSS
            entries += [Entry(len(values), key, kind.name)] * (2 if is_part else 1)
            ticks[len(values)] = float(beside.clock_tick_s[piece])
        yield place, entries, values, ticks, rate


def _printed(value: float, unit: str) -> Value:
    """The number as ``reading`` takes it: a clock as a clock."""
    if unit != pieces.CLOCK:
        return value
    hours, seconds = divmod(value, 3600)
    text = f"{int(hours)}:{int(seconds // 60):02}:{seconds % 60:09.6f}"
    return text.removesuffix(".000000")


def _reading(entries: tuple[Entry, ...], values: list[Value], ticks: dict[int, float]) -> Reading | None:
    known = _form(entries)
    report = reading(known, values, FORMAT) if known is not None else None
    if report is None or known is None:
        return None
    if report.clock_tick_s == 0.0 and known.times and known.own < 0:
        report = report._replace(clock_tick_s=max(ticks.get(entry.place, 0.0) for entry in known.times))
    if report.meaning == "clock" and report.time_s is None and values[known.times[0].place] == 0.0:
        report = report._replace(time_s=0.0)  # a reading to be differenced, no time of a step
    if known.own >= 0 and report.throughput is None and report.time_s:
        # A rate of steps that does not fit the time of the step counts the steps of something else.
        for entry in known.times:
            rate = values[entry.place]
            if (
                entry.key.what == "rate"
                and isinstance(rate, float)
                and not 0.5 < rate * report.time_s < 2.0
                and rate > 0
            ):
                return report._replace(throughput=rate, throughput_unit="steps/s")
    return report


@lru_cache(maxsize=1024)
def _form(entries: tuple[Entry, ...]) -> Form | None:
    return form(entries, "")
