"""What the named numbers of one record amount to: which is the step, which its time, its throughput, its loss.

Which number is which depends on the names around them alone, so it is settled once for all lines of a shape (``Form``)
and then applied to the numbers of each line (``reading``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from monitor.parse.fields import lookalikes
from monitor.parse.fields import vocabulary as v
from monitor.parse.fields.keys import AVERAGED, Key, words_of
from monitor.parse.numbers import duration_s, is_spelled, process_number, spelled_s, spelled_tick_s, whole_number
from monitor.parse.rows import Meaning, Reading

Value = str | int | float | bool | None
# No job runs longer; larger values are times of the calendar.
_LONGEST_RUN_S = 400 * 86400.0
MOST_A_SECOND = 1e15
# A script has so many stages.
_MOST_STAGES = 12
#: Of "Batch 4/0" the first number is an epoch; "Batch 121/120" is one too many.
EPOCH_FIRST = 0.9
# "train | step=4367, pmove=0.52, energy=-47.2": a step of the training, whatever is told of it.
_SAYS_TRAIN = re.compile(
    r"(?i)(?:^|[|\[\s])train(?:ing)?\s{0,8}[|\]:>]\s{0,4}(?:global[ _]?)?step\s?[=:]\s?\0(?:[^\0]*\w\s?[=:]\s?\0){2}"
)
_EITHER = frozenset({"either", "stopwatch"})
# So many steps to an update are those of an agent in its environment: no optimizer takes them.
_OF_AN_AGENT = 64
_TIME_OF_DAY = re.compile(r"\d\d:\d\d:\d\d")


class Entry(NamedTuple):
    """A number whose name is understood."""

    place: int
    key: Key
    name: str = ""
    """As printed."""
    total: int = -1
    """Of a step or an epoch: the place of the number behind the slash, -1 if none."""
    in_epoch: bool = False
    """Of a step: the notation itself says that it counts within an epoch."""
    total_factor: float = 1.0
    """Of a step: what the total is counted in, 1000 for "10k"."""
    least_total: int = 0
    """Of a step: it is none where there are fewer of them."""
    over: int = -1
    """Of a time: the place of the number of steps that took it, -1 if none."""


class Form(NamedTuple):
    """Where the parts of a report stand among the numbers of a line, the best of a kind first; -1 is nowhere."""

    steps: tuple[Entry, ...]
    times: tuple[Entry, ...]
    own: int
    """The time that is surely of one step or a mean of steps, if the best of them is; seconds of one, what it means."""
    factor: float
    meaning: Meaning
    throughputs: tuple[Entry, ...]
    loss: int
    timeless: bool
    """It is a report also where no time in it is one: a loss is told, or a throughput whose unit is known."""
    told: bool
    """It is one even without any of these: several parts of a loss are told, or a reward and the entropy."""
    memories: tuple[Entry, ...]
    epoch: Entry | None
    rank: int
    total: int
    micro: int
    """Place of an iteration count beside a step count, where the time is an iteration's: of how many to a step, the lines
    together tell.
    """
    elapsed: Entry | None
    """A clock beside a time that is a mean, or a sum, or of one step."""
    within: Entry | None
    """The count of micro-batches within the step, where their number is told, too."""
    around: int
    """Place of an iteration count beside steps with a total, where no epoch is named: it may count the epochs."""
    left: Entry | None
    """What is left of the run, where nothing else tells a time for sure."""
    wait: Entry | None
    """The time that a step waits for its data, which the time of its update is without."""
    ahead: Entry | None
    """A number without a name at the head of the line, or minutes without one, where nothing tells a time."""
    updates: Entry | None
    """The count of updates beside the steps that an agent takes for each."""
    part: str
    """The name of the one part of a loss that is told alone: the others may stand on lines of their own."""


def form(entries: Sequence[Entry], said: str) -> Form | None:
    """The form of a report, or None if this is no report of a training step.

    It has a step, and a time, a rate, a throughput or a loss; and nothing that is ``said`` (the words of the line, its
    numbers as NULs) makes it something else.
    """
    kinds: dict[str, list[Entry]] = {}
    # Of equals the name decides, not the place: the order in which a logger sets its keys says nothing.
    for entry in sorted(entries, key=lambda entry: (entry.key.order, entry.name)):
        kinds.setdefault("time" if entry.key.what == "rate" else entry.key.what, []).append(entry)
    steps, times, throughputs = (kinds.get(what, []) for what in ("step", "time", "throughput"))
    losses = kinds.get("loss", [])
    told = (
        not losses
        and not times
        and not throughputs
        and (_is_told(steps, kinds) or _SAYS_TRAIN.search(said) is not None)
    )
    if (
        not steps
        or not (times or throughputs or losses or told)
        or lookalikes.never_a_step(said)
        or lookalikes.evaluates(said)
    ):
        return None
    surely_timed = bool(times) and times[0].key.order <= v.SPAN
    # A trainer may print its newest validation loss with each step; then it prints the step's own loss, and its time or epoch.
    of_step = losses and (
        (times and times[0].key.order <= v.ELAPSED) or ("epoch" in kinds and "train" in losses[0].name)
    )
    if "evaluation" in kinds and not of_step:
        return None
    timeless = bool(losses) or told or _is_speed(steps, throughputs, "learning" in kinds)
    if not losses:
        if not surely_timed and len(steps) > 1 and steps[0].key.order >= v.BATCH:
            return None  # "steps" and "batch": a configuration
        if len(kinds.get("setting", [])) > 2 or lookalikes.other_work(said):
            return None
        if not surely_timed and not timeless and (not times or "total" in kinds):
            return None
    if not surely_timed and not (losses and throughputs) and lookalikes.other_moment(said):
        return None
    if "data" in kinds or any("(data)" in entry.name for entry in times):
        times = [_measured(entry) for entry in times]
    own = times[0] if times and times[0].key.order <= v.MEAN_OF_STEPS else None
    whole = [entry for entry in losses if entry.key.order != v.PART_OF_LOSS]
    # Of several parts without their sum none is the loss.
    best = whole or (losses if len(losses) == 1 else [])
    return Form(
        tuple(steps),
        tuple(times),
        own.place if own else -1,
        ((own.key.factor or 1.0) / own.key.over) if own else 1.0,
        own.key.meaning if own else "step",
        tuple(throughputs),
        _place(best),
        timeless,
        told or (bool(losses) and not best),
        tuple(kinds.get("memory", [])),
        next(iter(kinds.get("epoch", [])), None),
        _place(kinds.get("rank")),
        _place(kinds.get("total")),
        _micro(steps, times),
        _elapsed(times),
        next((entry for entry in kinds.get("micro", []) if entry.total >= 0), None),
        _around(steps) if "epoch" not in kinds and not times else -1,
        next(iter(kinds.get("left", [])), None) if not times or times[0].key.meaning in _EITHER else None,
        next(iter(kinds.get("wait", [])), None) if own and own.key.unit == "update" and own.key.over == 1 else None,
        next(iter(kinds.get("ahead", [])), None) if not times and "left" not in kinds else None,
        _updates(steps, kinds.get("measure", [])),
        best[0].name if best and not whole and not times and not throughputs else "",
    )


def _is_speed(steps: list[Entry], throughputs: list[Entry], learning: bool) -> bool:
    """A throughput whose unit is known and that is no mean over the run, beside a step that is surely one."""
    known = any(entry.key.unit and entry.key.order < AVERAGED for entry in throughputs)
    return known and (steps[0].key.order < v.STEPS or learning)


def _is_told(steps: list[Entry], kinds: dict[str, list[Entry]]) -> bool:
    """A report without a loss, as of reinforcement learning: two measures of how it goes, one of which only training has.

    One alone is printed elsewhere, too: a schedule's learning rate, an episode's reward.
    """
    measures = {(entry.key.order, entry.name) for entry in kinds.get("measure", [])}
    learning = kinds.get("learning", [])
    only_training = bool(learning) or any(order for order, _ in measures)
    return only_training and len(measures) + bool(learning) > 1 and steps[0].key.order < v.BATCH if steps else False


def _elapsed(times: Sequence[Entry]) -> Entry | None:
    if not times or times[0].key.order not in {v.MEAN_OF_STEPS, v.ANY_TIME, v.BARE}:
        return None
    return next((entry for entry in times[1:] if entry.key.what == "time" and entry.key.order >= v.ELAPSED), None)


def _measured(time: Entry) -> Entry:
    """A time that the time for its data stands beside: both are measured in each step mostly."""
    return time._replace(key=time.key._replace(meaning="stopwatch")) if time.key.meaning == "either" else time


def _place(found: list[Entry] | None) -> int:
    return found[0].place if found else -1


def _micro(steps: list[Entry], times: list[Entry]) -> int:
    if not times or times[0].key.order > v.MEAN_OF_STEPS or times[0].key.unit in _STEPS:
        return -1
    counted = {entry.key.order: entry.place for entry in steps}
    return counted[v.ITERATION] if steps[0].key.order <= v.STEP and v.ITERATION in counted else -1


def _around(steps: list[Entry]) -> int:
    if steps[0].key.order != v.STEP or steps[0].total < 0:
        return -1
    return next((entry.place for entry in steps if entry.key.order == v.ITERATION and entry.total < 0), -1)


def _updates(steps: list[Entry], measures: Sequence[Entry]) -> Entry | None:
    if steps[0].key.order > v.STEP or not any(v.GAINS.intersection(words_of(entry.name)) for entry in measures):
        return None
    return next((entry for entry in steps if entry.key.order == v.ITERATION), None)


def reading(form: Form, values: Sequence[Value], name: str) -> Reading | None:
    """The report in ``values``, or None if the step, or everything told about it, is no sensible number."""
    step, chosen = None, form.steps[0]
    for chosen in form.steps:
        if (step := _count(values[chosen.place], chosen.key.factor)) is None:
            continue
        if chosen.key.order == v.STEPS and chosen is not form.steps[-1] and "." in str(values[chosen.place]):
            continue  # the mean length of episodes
        if not chosen.least_total or (whole_number(values[chosen.total]) or 0) >= chosen.least_total:
            break
        step = None
    if step is None or (form.loss < 0 and not form.told and not form.throughputs and _is_stage(chosen, values)):
        return None
    if (
        form.updates is not None
        and (done := whole_number(values[form.updates.place])) is not None
        and step >= _OF_AN_AGENT * max(1, done)
    ):
        # What is planned, and what an update is counted beside, are the environment's, too.
        step, chosen, form = done, form.updates, form._replace(total=-1, micro=-1)
    time_s, meaning, clock, rate, tick_s = None, form.meaning, None, None, 0.0
    if form.own >= 0 and (value := _float(values[form.own])) is not None:
        waited = (_float(values[form.wait.place]) or 0.0) * form.wait.key.factor if form.wait is not None else 0.0
        time_s = duration_s(value * form.factor + waited)
    if time_s is None and form.times:
        time_s, meaning, clock, rate, tick_s = _times(form.times, values)
        if time_s is None and clock is None:
            meaning = form.times[0].key.meaning  # a clock that stands at 0 is a clock
    if form.elapsed is not None and time_s is not None and clock is None:
        elapsed_s, _, clock, _, tick_s = _times([form.elapsed], values)
        clock = elapsed_s if clock is None else clock
    left_s = _left(form.left, values) if form.left is not None else None
    if left_s is not None and not form.times:
        meaning, clock, left_s = "remaining", left_s, None
    if form.ahead is not None and (ahead := _ahead(form.ahead, values[form.ahead.place])) is not None:
        meaning, clock, tick_s = ahead
    if form.within is not None and (micros := _micros(form.within, values)) != 1:
        if micros is None:
            return None
        if form.own < 0 or form.times[0].key.unit not in _STEPS:
            time_s = clock = None  # of the last micro-batch alone
    counter = None
    if form.micro >= 0 and (counter := whole_number(values[form.micro])) is not None:
        meaning = "iteration"
    throughput, unit = rate, "" if rate is None else "it/s"
    for entry in form.throughputs:
        value = _float(values[entry.place])
        if value is not None and 0.0 < value < MOST_A_SECOND:
            throughput, unit = value * (entry.key.factor or 1.0), entry.key.unit
            break
    loss = _float(values[form.loss]) if form.loss >= 0 else None
    if (
        time_s is None
        and (clock is None or form.ahead is not None or meaning == "time-of-day")
        and (not form.timeless or (throughput is None and loss is None and not form.told))
    ):
        return None
    epoch = total = epoch_total = epochs = None
    if form.epoch is not None and not chosen.key.whole_run:
        epoch = whole_number(values[form.epoch.place])
        epochs = whole_number(values[form.epoch.total]) if form.epoch.total >= 0 else None
    elif form.around >= 0 and (around := whole_number(values[form.around])) != step:
        epoch = around
    if form.total >= 0:
        total = whole_number(values[form.total])
    elif chosen.total >= 0 and (epoch is None or form.around >= 0) and not chosen.in_epoch:
        total = _count(values[chosen.total], chosen.total_factor)
        if total is not None and chosen.key.order == v.BATCH and total < EPOCH_FIRST * step:
            step, total, epoch = total, None, step
    elif chosen.total >= 0:
        epoch_total = _count(values[chosen.total], chosen.total_factor)
    # By position: this runs for every report there is, and names cost half a microsecond.
    return Reading(
        name,
        step,
        total if total is not None and total >= step else None,
        time_s,
        meaning,
        clock,
        tick_s,
        throughput,
        unit,
        loss,
        _memory(form.memories, values) if form.memories else None,
        process_number(values[form.rank]) if form.rank >= 0 else None,
        epoch,
        None,
        counter,
        form.part,
        left_s=left_s,
        epoch_total=epoch_total if epoch_total is not None and epoch_total >= step else None,
        epochs=epochs,
    )


_STEPS = {"step", "update"}


def _ahead(entry: Entry, value: Value) -> tuple[Meaning, float, float] | None:
    """(what it may be, seconds, what its last digit counts) of whole seconds at the head of a line, or of minutes."""
    if not entry.key.factor:
        seconds = whole_number(value)
        return ("unnamed", float(seconds), 1.0) if seconds is not None and seconds < _LONGEST_RUN_S else None
    printed = _float(value)
    if printed is None or not 0 <= printed * entry.key.factor < _LONGEST_RUN_S:
        return None
    decimals = len(str(value).partition(".")[2])
    return "bare", printed * entry.key.factor, entry.key.factor / 10**decimals


def _is_stage(step: Entry, values: Sequence[Value]) -> bool:
    """ "Step 2/6" of a script, of which a time alone is told: no training has as few steps, and tells no loss of them."""
    total = whole_number(values[step.total]) if step.total >= 0 and not step.in_epoch else None
    return total is not None and total <= _MOST_STAGES


def _count(value: Value, factor: float) -> int | None:
    """A count, "2.0" of thousands too."""
    if not factor or factor == 1.0:
        return whole_number(value)
    printed = _float(value)
    return (
        whole_number(float(round(printed * factor))) if printed is not None and 0 <= printed < MOST_A_SECOND else None
    )


def _many(entry: Entry, values: Sequence[Value]) -> float:
    """How many steps a time is of; infinitely many where their number is none."""
    return entry.key.over * (1.0 if entry.over < 0 else whole_number(values[entry.over]) or math.inf)


def _micros(within: Entry, values: Sequence[Value]) -> int | None:
    """Micro-batches of the step, 1 where that is not told; None where this is not the last of them."""
    done, each = whole_number(values[within.place]), whole_number(values[within.total])
    return None if done is not None and each is not None and done < each else each or 1


_Times = tuple[float | None, Meaning, float | None, float | None, float]


def _times(entries: Sequence[Entry], values: Sequence[Value]) -> _Times:
    """(seconds, what they mean, a clock, a rate in steps/s, tick of the clock) of the best time there is.

    A time of one step, or a mean of steps, is enough. Beside a rate a clock counts; seconds that may be a clock are
    left to their series.
    """
    rate: float | None = None
    time_s: float | None = None
    of_day_s: float | None = None
    meaning: Meaning = "step"
    whole_s = 0.0
    for entry in entries:
        place, key = entry.place, entry.key
        printed = values[place]
        if type(printed) is str and is_spelled(printed):
            seconds, tick_s = spelled_s(printed), spelled_tick_s(printed)
            if seconds is None or seconds > _LONGEST_RUN_S:
                continue
            if key.order <= v.SPAN:
                return duration_s(seconds / _many(entry, values)), key.meaning, None, None, 0.0
            if key.order < v.ELAPSED and _TIME_OF_DAY.match(printed):
                of_day_s = seconds
                continue
            return time_s, meaning, seconds, rate, tick_s
        if rate is not None or (value := _float(printed)) is None:
            continue
        if key.what == "rate":
            if value > 0 and (time_s := duration_s(1.0 / value)) is not None:
                rate, meaning = value, key.meaning
        else:
            if key.meaning in _EITHER and (key.factor == 0.0 or key.factor >= 1.0):
                digit_s = (key.factor or 1.0) / 10 ** len(str(printed).partition(".")[2])
                whole_s = digit_s if digit_s >= 1.0 else 0.0
            if (seconds := duration_s(value * (key.factor or 1.0) / _many(entry, values))) is not None:
                return seconds, key.meaning, None, None, whole_s
    if time_s is None and of_day_s is not None:
        return None, "time-of-day", of_day_s, None, 1.0
    return time_s, meaning, None, rate, whole_s


def _left(entry: Entry, values: Sequence[Value]) -> float | None:
    """Seconds that are left of the run."""
    printed = values[entry.place]
    if type(printed) is str and is_spelled(printed):
        return spelled_s(printed)
    value = _float(printed)
    return None if value is None or not 0 <= value < _LONGEST_RUN_S else value * (entry.key.factor or 1.0)


def _memory(entries: Sequence[Entry], values: Sequence[Value]) -> float | None:
    """The most of what is printed: allocated is within reserved, now is within the peak."""
    printed = [(_float(values[entry.place]), entry.key.factor) for entry in entries]
    found = [value * factor for value, factor in printed if value is not None and 0 < value * factor < 1e5]
    return max(found, default=None)


def _float(value: Value) -> float | None:
    try:
        if type(value) is str and "," in value:
            value = value.replace(",", "")
        return float(value)  # type: ignore[arg-type]
    except (ValueError, TypeError, OverflowError):
        return None
