"""Reports that tell a loss and count nothing: "loss: 0.52, time: 1.31", once a step."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from monitor.parse.columns import Floats
from monitor.parse.fields.keys import SPEEDS
from monitor.parse.strangers import words as w
from monitor.parse.strangers.collection import Found
from monitor.parse.strangers.courses import FEWEST, FEWEST_UNNAMED, moves
from monitor.parse.strangers.roles import TOTAL, Roles, plan_of
from monitor.parse.table import At, by_code

# Of an epoch so many steps are reported at least.
_EACH_EPOCH = 3
# A count that moves on by more than so many between two losses: these are not of each step. Nor are they where they come so
# many times more seldom than what they say that each took.
_SEVERAL = 1.5


def uncounted(all_found: Sequence[Found], epochs: int) -> tuple[Found, Roles] | None:
    """Lines that come once a step, with the number of each writer's step in a column behind their own; None where there are none.

    They come far more often than any line that names an epoch or tells a loss or a measure of an evaluation, and tell of
    nothing else, but where they tell how long each took. So many ``epochs`` are told at least.
    """
    evaluated = (len(found.line) for found in all_found if _of_evaluation(" ".join(found.shape).lower()))
    epochs = max(epochs, *evaluated, 0)
    for found in all_found:
        plan = plan_of(found.shape)
        if len(found.line) < max(FEWEST_UNNAMED, _EACH_EPOCH * epochs):
            return None
        if plan is None or not plan.losses or plan.evaluates or plan.other_work:
            continue
        if w.words(found.shape[plan.losses[0]])[-1:] == ["mse"] and not plan.trains:
            continue  # as often the measure of an evaluation
        if plan.epoch >= 0 and not _stays(found, found.numbers[:, plan.epoch]):
            continue
        loss = found.numbers[:, plan.losses[0]]
        if _tells_other_things(found, plan) or not moves(loss) or (loss == np.floor(loss)).all():
            continue
        if any(_counts_several(other, found) for other in all_found if other is not found):
            return None
        number = np.ones(len(found.line))
        for own in _by_writer(found):
            number[own] = np.arange(1, len(own) + 1)
        return found._replace(numbers=np.column_stack([found.numbers, number])), plan
    return None


def _tells_other_things(found: Found, plan: Roles) -> bool:
    """The lines hold numbers that are none of training; or, where they tell how long each took, another count."""
    if _is_timed(found, plan):
        goes_on = found.numbers.min(axis=0) < found.numbers.max(axis=0)
        # What a line is about it says first: "case 7, loss: 0.52, took 3 s".
        whole = (found.numbers == np.floor(found.numbers)).all(axis=0)
        about = {place for place in range(plan.losses[0]) if whole[place]}
        about |= {counter.place for counter in plan.counters}
        return any(goes_on[place] for place in about - {plan.epoch})
    known = {plan.epoch, *plan.losses, *plan.learning, *plan.quality, *(entry.place for entry in plan.entries)}
    if plan.epoch >= 0 and found.shape[plan.epoch + 1].strip() in TOTAL:
        known.add(plan.epoch + 1)
    others = [place for place in range(found.numbers.shape[1]) if place not in known]
    return not np.isnan(found.numbers[:, others]).all()


def _is_timed(found: Found, plan: Roles) -> bool:
    """Each line says how long it took, and by their clock no other work lies between two."""
    times = [entry for entry in plan.entries if entry.key.what == "time"]
    if not times:
        return any(entry.key.what in SPEEDS for entry in plan.entries)
    took_ms = 1000.0 * (times[0].key.factor or 1.0) * found.numbers[:, times[0].place]
    return all(
        not np.median(np.diff(found.time_ms[own])) > _SEVERAL * np.median(took_ms[own])
        for own in _by_writer(found)
        if len(own) > 1
    )


def _counts_several(other: Found, losses: Found) -> bool:
    """Lines between the losses name a count that moves on by several from one loss to the next."""
    for place, (before, behind) in enumerate(pairwise(other.shape)):
        # "batch: 100", "for 100 training generator step:"
        names = w.words(before)[-1:], w.words(behind.partition(":")[0])[-1:]
        if {w.counter(name) for name in names}.isdisjoint({w.STEP, w.BATCH}):
            continue
        for who in np.unique(other.writer):
            told, own = other.writer == who, losses.line[losses.writer == who]
            moved, between = np.diff(other.numbers[told, place]), np.diff(np.searchsorted(own, other.line[told]))
            on = (moved > 0) & (between > 0)
            if on.sum() >= FEWEST and float(np.median(moved[on] / between[on])) > _SEVERAL:
                return True
    return False


def _by_writer(found: Found) -> list[At]:
    return [at for _, at in by_code(found.writer, np.arange(len(found.writer)))]


def _stays(found: Found, epoch: Floats) -> bool:
    """Most lines name the epoch of the line before: they come several times an epoch, however often the epochs begin again."""
    return sum(int((np.diff(epoch[own]) == 0).sum()) for own in _by_writer(found)) >= len(epoch) / 2


def _of_evaluation(text: str) -> bool:
    """ "test_mean loss: 0.5", "val acc 0.8", "Dev BLEU = 27.1"."""
    words = w.words(text)
    return w.is_evaluation(words) and not (w.LOSS | w.QUALITY).isdisjoint(words)
