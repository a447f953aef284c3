"""Which number of a line that no reader knows may be what, by the words around it: what counts, what is watched, what is told.

Words alone do not make a line a report; how its numbers move decides (``monitor.parse.strangers.learned``).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from monitor.parse.fields.gaps import TextBetween, gap
from monitor.parse.fields.keys import SPEEDS, Key, measured
from monitor.parse.fields.records import Entry
from monitor.parse.fields.vocabulary import DECORATION, PART_OF_LOSS
from monitor.parse.lines.stamps import MONTHS
from monitor.parse.strangers import words as w
from monitor.parse.strangers.lines import BEHIND_A_CLOCK, Shape

# Between a name and its number.
_ARROW = re.compile(r"\s?(?:[-=]>|→)\s?$")
# A name behind its number, before the field or the line ends: "1200 updates, ".
_BEHIND = re.compile(r"\s?([^\W\d_]{1,24}(?: [^\W\d_]{1,24})?)\s*(?:[,;|)\]}]|$)")
#: Between a count and how many there are.
TOTAL = frozenset({"/", "of", "out of", "over", "von", "de", "из"})
# "[120]", "#120", "120/5000 |", "120:": a number without a name that may count.
_UNNAMED = re.compile(r"(?:^|[\[(#|:,;\-=>]|\s)\s*$")
_LETTER = re.compile(r"[^\W\d_]")
_MONTH = re.compile(rf"\b(?:{MONTHS})\b")
# What a logger puts in front names no number: "INFO: 100/22000: loss 0.78".
_LEVELS = frozenset({"info", "debug", "root", "main"})
_TRAIN = frozenset({"train", "training", "trn"})
# "trained 10500 images", "processed 120 batches", "120 iterations done"
_DONE = frozenset({"trained", "processed", "done", "completed", "finished", "passed"})
# Words before a loss with which it is still of all there is.
_WHOLE = DECORATION | {"global", "total", "step", "batch", "sum", "overall", "all", "full"}


class Counter(NamedTuple):
    """A number that may be the step."""

    place: int
    order: int
    name: str
    total: int
    """The place of the number behind the slash, -1 if none."""


class Roles(NamedTuple):
    """What the numbers of a shape may be, by their places."""

    counters: tuple[Counter, ...]
    """The likeliest first; there may be none."""
    losses: tuple[int, ...]
    learning: tuple[int, ...]
    quality: tuple[int, ...]
    epoch: int
    rank: int
    entries: tuple[Entry, ...]
    """What is understood of times, rates, throughputs, losses and memory."""
    trains: bool
    """The words say training."""
    evaluates: bool
    """A number is named as one of an evaluation."""
    other_work: bool
    """They may also be of other work, unless a loss is told."""
    rewards: bool = False
    """A number is named as what an agent gains."""
    wordless: bool = False
    """No word says what the numbers are."""


def _likelihood(counter: Counter) -> tuple[float, int]:
    """Less is likelier. "[120/500] loss 2.1, samples 7680": of samples many make a step, so that anything else comes first
    that has a total or is called by a letter."""
    counts = counter.order == w.UNNAMED and (counter.total >= 0 or len(counter.name) == 1)
    return (w.SAMPLES - 0.5 if counts else counter.order, counter.place)


@lru_cache(maxsize=16_384)
def plan_of(shape: Shape) -> Roles | None:
    """What the numbers may be; None where neither a number nor a word is of training, or nothing can count and there is no
    loss."""
    clocks = {place - 1 for place, text in enumerate(shape) if text.startswith(BEHIND_A_CLOCK)}
    shape = tuple(text.removeprefix(BEHIND_A_CLOCK) for text in shape)
    said = "\0".join(shape)
    if not _LETTER.search(_MONTH.sub("", said)):
        return _wordless(shape, clocks)
    if w.never(said) or w.other_moment(said):
        return None
    saids = list(shape)
    gaps = [gap(_ARROW.sub(": ", text[-200:]), head=place == 0) for place, text in enumerate(shape)]
    counters: list[Counter] = []
    watched: dict[str, list[int]] = {"loss": [], "learning": [], "quality": []}
    entries: list[Entry] = []
    lone: dict[str, int] = {}
    epoch = rank = -1
    evaluates = rewards = False
    for place in range(len(gaps) - 1):
        before, after = gaps[place], gaps[place + 1]
        if place and before.text.strip() in TOTAL:
            continue
        name = w.words(before.name) or _behind(after)
        if len(name) == 1 and name[0] in _DONE and w.counter(w.words(after.text)[:1]) is not None:
            name = w.words(after.text)[:1]  # "trained 10500 images"
        if len(name) == 1:
            lone.setdefault(name[0], place)
        key = _key(before, after)
        if w.is_evaluation(name):
            evaluates = True
            if before.name and w.counter(name) is None:
                saids[place] = shape[place].replace(before.name, "")
        if kind := _watched(name, key, after):
            watched[kind].append(place)
            rewards = rewards or not w.REWARD.isdisjoint(name)
            if kind == "loss":
                key = key if key is not None and key.what == "loss" else Key("loss", _order_of(name))
        elif place not in clocks and (order := _counts(name, key, before, after, epoch >= 0)) is not None:
            total = place + 1 if place + 2 < len(gaps) and after.text.strip() in TOTAL else -1
            counters.append(Counter(place, order, " ".join(name), total))
        if key is None:
            continue
        if key.what == "epoch" and epoch < 0:
            epoch = place
        elif key.what == "rank" and rank < 0:
            rank = place
        elif key.what in {*SPEEDS, "ahead", "left", "data", "loss", "memory"}:
            entries.append(Entry(place, key, before.name))
    # A GAN's two parts where they are called nothing else: "D: -0.39, G: 1.59".
    parts = [place for name, place in lone.items() if name in {"d", "g"}]
    if len(parts) == 2 and not watched["loss"]:
        watched["loss"] += parts
        entries += [Entry(place, Key("loss", PART_OF_LOSS), "") for place in parts]
        counters = [one for one in counters if one.place not in parts]
    losses, learning, quality = (tuple(places) for places in watched.values())
    trains = w.trains(said) or epoch >= 0
    if not (losses or (counters and (learning or quality or trains))) or w.evaluates("\0".join(saids)):
        return None
    counters.sort(key=_likelihood)
    return Roles(
        *(tuple(counters), losses, learning, quality, epoch, rank, tuple(entries)),
        *(trains, evaluates, w.other_work(said), rewards),
    )


def _wordless(shape: Shape, clocks: Collection[int]) -> Roles | None:
    """The last number may be a loss, and one before it the count."""
    last = len(shape) - 2
    places = [place for place in range(last) if place not in clocks and _UNNAMED.search(shape[place])]
    counters = [Counter(place, w.UNNAMED, "", -1) for place in places]
    told = (Entry(last, Key("loss"), ""),)
    return (
        Roles(tuple(counters[::-1]), (last,), (), (), -1, -1, told, False, False, False, wordless=True)
        if counters
        else None
    )


def _behind(after: TextBetween) -> list[str]:
    """The words of a name that stands behind its number."""
    match = _BEHIND.match(after.text)
    name = w.words(match[1]) if match else []
    return name[:-1] if name[-1:] and name[-1] in _DONE else name


def _key(before: TextBetween, after: TextBetween) -> Key | None:
    """What is understood of the number between two texts."""
    unit = None if after.names else after.unit
    key = before.key
    if key is None and not before.name:
        if after.trailing is not None:
            return after.trailing
        if unit is not None and unit.what == "duration":
            return after.bare(unit)
    if key is not None and after.strange and key.what in {*SPEEDS, "memory"}:
        return None
    return measured(key, unit)


def _watched(name: list[str], key: Key | None, after: TextBetween) -> str:
    """What training watches, by the name of a number; "" for everything else."""
    if not name or w.is_evaluation(name):
        return ""
    if key is not None and key.what == "loss" and key.order < PART_OF_LOSS:
        return "loss"  # "total loss", of which "total" alone is none
    if not w.NO_MEASURE.isdisjoint(name) and (name[:1] != ["total"] or w.REWARD.isdisjoint(name)):
        return ""
    if key is not None and key.what not in {"loss", "learning", "setting", "measure"}:
        return ""
    if after.unit is not None and not after.names and after.unit.what != "share":
        return ""
    for kind, known in (("learning", w.LEARNING), ("loss", w.LOSS), ("quality", w.QUALITY)):
        if not known.isdisjoint(name) or (kind == "learning" and name[-2:] == ["learning", "rate"]):
            return kind
    # "Train 9.65 | Val 9.64": what it is of is not said, but that it is of training.
    return "quality" if len(name) == 1 and name[0] in _TRAIN and after.text.strip() not in TOTAL else ""


def _counts(name: list[str], key: Key | None, before: TextBetween, after: TextBetween, in_epoch: bool) -> int | None:
    """The order of a number that may count; None for one that cannot. ``in_epoch`` where an epoch is named before it."""
    if after.unit is not None and not after.names and after.unit.what != "setting":
        return None
    if (order := w.counter(name)) is not None:
        # "num steps" is how many there are where it stands still, and how many were made where it climbs.
        own = (key is None or key.what in {"step", "epoch", "total"}) and w.OTHER_COUNT.isdisjoint(name)
        return order if own else None
    if key is not None:
        return None
    if name == ["count"]:
        return w.UNNAMED
    if not w.NO_COUNTER.isdisjoint(name):
        return None
    if not _LEVELS.issuperset(name):
        # "k=120", "[Train 120/5000]", "Epoch: 1 dl: 20/302"
        told = name[0] in _TRAIN or (in_epoch and name[0] not in w.RESULTS)
        lone = len(name) == 1 and (len(name[0]) == 1 or (told and after.text.strip() in TOTAL))
        return w.UNNAMED if lone else None
    return w.UNNAMED if _UNNAMED.search(before.text) else None


def _order_of(name: list[str]) -> int:
    """Of several losses in a line the one that is called nothing else comes first; parts are told only together."""
    if len(name) == 1:
        return 0
    return 2 if _WHOLE.issuperset(name[:-1]) else PART_OF_LOSS
