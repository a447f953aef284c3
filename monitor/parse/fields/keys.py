"""What the name of a printed number means: ``step_time_ms``, ``Train Steps/Sec``, ``tok/s``, ``max mem``, ``val_loss``.

The generic recognizers share it. A name is cut into words, words that only decorate are taken off, and what is left is
looked up in ``monitor.parse.fields.vocabulary``. A name that is not known means nothing: so ``data_time``, ``eta`` and
``ckpt_time`` drop out.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from monitor.parse.fields import vocabulary as v
from monitor.parse.fields.vocabulary import word_set
from monitor.parse.rows import Meaning

What = Literal[
    "step", "micro", "total", "epoch", "rank", "time", "rate", "throughput", "loss", "memory", "learning", "evaluation",
    "setting", "measure", "wait", "data", "left", "timed", "duration", "size", "share", "magnitude", "ahead",
]  # fmt: skip
#: What tells how long a step takes.
SPEEDS = frozenset({"time", "rate", "throughput"})
AVERAGED = 20
"""Added to the order of a throughput that is a mean over more than the last report."""
# "tps: 2.93s" is the time per step, "sps: 0.5s" the seconds.
_OR_TIMES = frozenset({"tokens/s", "samples/s"})
_OF_DATA = frozenset({"data", "data time", "dataloading", "data loading"})
_OF_DEVICE = 10
# HiFi-GAN and its kin: "s/b : 0.31".
_SECONDS_A_BATCH = ["s", "per", "b"]


class Key(NamedTuple):
    """One name understood; ``duration``, ``size``, ``share`` and ``magnitude`` are units without a name, ``timed`` is a name
    that means a time where a unit says so; ``ahead`` is no name at all: at the head of a line, or of
    minutes.
    """

    what: What
    order: int = 0
    """Of several keys of a kind in one line the lowest counts."""
    factor: float = 0.0
    """Seconds, GiB, steps or 1 of one printed unit; 0 where the name tells no unit."""
    meaning: Meaning = "step"
    unit: str = ""
    """Of a throughput as the ``throughput_unit`` column says it; of a time of one step what is counted as one; of a
    magnitude its letter.
    """
    whole_run: bool = False
    """Of a step: it counts over the run, not within an epoch."""
    over: int = 1
    """Of a time: so many steps took it, by the name."""


_COUNTS = v.COUNTED | v.PLURALS
_WHOSE_STEPS = word_set("global optimizer optim opt")
#: Every word of the vocabulary: a name without any of them means nothing.
WORDS = frozenset(
    word
    for title, table in vars(v).items()
    if title.isupper() and isinstance(table, dict | frozenset)
    for name in table
    if isinstance(name, str)
    for word in name.split()
) | {"lr", "learning", "num", "per", "l", "ups"}
# Longer names are paths, sentences or junk; each of their parts would be looked at again.
_LONGEST = 200
_WORD = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z]?[a-zµμ]+|[A-Z]+|/")
_UNIT_IN_BRACKETS = re.compile(r"\s?[(\[]\s?([^()\[\]]{1,24}?)\s?[)\]]$")
# "time_per_100_steps", "seconds/10iters", "last_50_iterations_time"
_MANY = re.compile(
    r"(?i)(?<![A-Za-z\d.])(?P<many>\d{1,6})[ _-]?(?:steps?|its?|iters?|iterations?|batch(?:es)?|updates?)(?![A-Za-z])"
)
_LINKS = word_set("per for of over last the")
# "loss on training batch"
_OF_BATCH = word_set("on over for in the this current last train training batch minibatch mini data set")
# One of several losses: "loss1", "loss_2".
_OF_TRAINING = re.compile(r"(?i)/train(?:ing)?$")
_NUMBERED = re.compile(r"(?i)loss[_-]?\d")


def words_of(name: str) -> list[str]:
    """``timing_s/perStep`` -> timing, s, per, per, step."""
    found: list[str] = []
    for word in _WORD.findall(name):
        lower = "per" if word == "/" else word.lower()
        found.extend(v.JOINED[lower].split() if lower in v.JOINED else (lower,))
    return found


@lru_cache(maxsize=4096)
def key_of(name: str) -> Key | None:
    """What ``name`` means as a whole; None if that is not known, or if it is no name by its length."""
    if len(name) > _LONGEST:
        return None
    if name[-1:] in {")", "]"} and (match := _UNIT_IN_BRACKETS.search(name)) and match.start():
        unit = unit_of(match[1])
        if unit is not None:
            return measured(key_of(name[: match.start()]), unit)
        return key_of(f"{name[: match.start()]} {match[1]}")
    if (match := _MANY.search(name)) and (found := _over_many(name, match)):
        return found
    key = _understood(words_of(name))
    if key is not None and key.what == "loss" and _NUMBERED.search(name):
        return Key("loss", v.PART_OF_LOSS)
    if key is None and name[:2] == "l_":
        return key_of(f"{name[2:]} loss")  # "l_g_pix"
    if key is None and (of_training := _OF_TRAINING.search(name)) and of_training.start():
        return key_of(name[: of_training.start()])  # "Time/train"
    if key is None and (mark := "/" if "/" in name else "." if "." in name else ""):
        # "throughput/device/tokens_per_second", "runtime.steptime": what stands before the last slashes is a path.
        folder, _, rest = name.partition(mark)
        inner = key_of(rest)
        return inner if inner is not None and _may_stand_in(words_of(folder), inner) else None
    return key


def _over_many(name: str, match: re.Match[str]) -> Key | None:
    """The time that a name with a number of steps in it means; None if it is no time."""
    before, behind = words_of(name[: match.start()]), words_of(name[match.end() :])
    while before and before[-1] in _LINKS:
        before.pop()
    key = _understood([*before, "per", "step", *behind])
    many = int(match["many"])
    if key is None or key.what != "time" or key.order > v.MEAN_OF_STEPS or not many:
        return None
    return key._replace(meaning="interval" if many > 1 else key.meaning, over=many)


def _may_stand_in(folder: list[str], key: Key) -> bool:
    if key.what in {"step", "total", "epoch", "rank"}:
        # "words/batch" and "steps/epoch" are no paths.
        counts = _COUNTS | v.SUB_TIMERS | v.SAMPLED.keys() | v.DURATIONS.keys()
        return not any(word in counts for word in folder)
    if key.what == "time":
        least = v.ANY_TIME if v.OF_SPEED.issuperset(folder) else v.RATE
        return key.order <= least and v.SUB_TIMERS.isdisjoint(folder)
    return key.what in {"loss", "throughput", "rate", "memory", "evaluation", "measure"}


def _understood(words: list[str]) -> Key | None:
    if WORDS.isdisjoint(words):
        return None
    if words[-2:] == ["obj", "val"]:
        words = [*words[:-2], "objective", "value"]
    if _is_evaluation(words):
        return Key("evaluation")
    if "loss" in words and _OF_BATCH.issuperset(words[(end := words.index("loss") + 1) :]):
        words = words[:end]
    bare, averaged = _bare(words)
    if not bare:
        return None
    joined = " ".join(bare)
    counter = _counter(joined, bare)
    if counter is not None and not v.MEANS.isdisjoint(words):
        return Key("measure")  # "avg_steps": how long games are
    return (
        counter
        or _speed(bare, averaged)
        or _time(joined, bare, averaged)
        or _loss(joined, words, averaged)
        or _memory(words)
        or _setting(words)
        or _measure(joined, bare)
    )


def _is_evaluation(words: list[str]) -> bool:
    flat = [word for word in words if word != "per"]
    for word, behind in zip(flat, [*flat[1:], ""], strict=False):
        if word in v.EVALUATION and not (word == "valid" and behind in v.SAMPLED):
            return True
        if word in v.HELD_OUT and behind in v.OF_HELD_OUT:
            return True
    return False


def _bare(words: list[str]) -> tuple[list[str], Meaning | None]:
    """(the words without decoration, of what mean the decoration tells)."""
    averaged: Meaning | None = None
    first, last = 0, len(words)
    while first < last and words[first] in v.DECORATION:
        if words[first] in v.TIME_WORDS and words[first + 1 : first + 2] == ["per"]:
            break  # "timing/step"
        averaged = v.AVERAGES.get(words[first], averaged)
        first += 1
    while last > first + 1 and words[last - 1] in v.DECORATION_BEHIND:
        averaged = v.AVERAGES.get(words[last - 1], averaged)
        last -= 1
    return words[first:last], averaged


def _counter(joined: str, words: list[str]) -> Key | None:
    if len(words) > 1 and words[-1] in v.INDEX and words[-2] in v.COUNTED:
        joined = " ".join(words[:-1])
    if (order := v.STEP_NAMES.get(joined)) is not None:
        return Key("step", order, whole_run=order == v.GLOBAL_STEP)
    if joined in v.MICRO_NAMES:
        return Key("micro")
    if words[0] in v.TOTAL_WORDS and words[-1] in _COUNTS and len(words) <= 3:
        return Key("total")  # "max_steps", "num_training_steps"
    if joined in v.EPOCH_NAMES:
        return Key("epoch")
    return Key("rank") if joined in v.RANK_NAMES else None


def _speed(words: list[str], averaged: Meaning | None) -> Key | None:
    """Rates, throughputs, and times written as one: "it/s", "tokens_per_second_per_gpu", "ms/batch"."""
    if len(words) == 5 and words[1] == words[3] == "per" and words[2] in v.DEVICES:
        words = [words[0], "per", words[4], "per", words[2]]
    device = ""
    if len(words) > 2 and words[-1] in v.DEVICES:
        device = f"/{v.DEVICES[words[-1]]}"
        words = words[:-2] if words[-2] == "per" else words[:-1]
    order = (_OF_DEVICE if device else 0) + (AVERAGED if averaged else 0)
    if len(words) == 1:
        return _short_speed(words[0], order, device, averaged)
    if words[0] in _WHOSE_STEPS and words[1] in _COUNTS:
        words = words[1:]  # "global_step/sec"
    if len(words) == 2 and (words[0] == "it" or words[0] in v.PLURALS) and words[1] in v.SECOND:
        words = [words[0], "per", words[1]]  # "it_s", "steps_sec": a slash cannot stand in a name
    if len(words) == 3 and words[1] == "per":
        counted, per = words[0], words[2]
    elif len(words) == 2 and words[0] not in v.COUNTED:
        counted, per = words
    else:
        return None
    if per in v.SECOND and counted in v.SAMPLED:
        name = v.SAMPLED[counted]
        return Key("throughput", v.SAMPLED_ORDER.get(name, 3) + order, 1.0, unit=f"{name}/s{device}")
    if per in v.SECOND and counted in _COUNTS:
        return Key("rate", v.RATE, 1.0, averaged or "interval")
    if len(words) == 3 and counted in v.DURATIONS and (per in _COUNTS or words == _SECONDS_A_BATCH):
        return _of_one_step(v.DURATIONS[counted], averaged, per)
    return None


def _short_speed(word: str, order: int, device: str, averaged: Meaning | None) -> Key | None:
    if word == "ups":
        return Key("rate", v.RATE, 1.0, averaged or "interval")
    if word in v.SPEED_WORDS:
        return Key("throughput", 8 + order)
    unit = v.THROUGHPUTS.get(word)
    return Key("throughput", 4 + order, 1.0, unit=unit + device) if unit else None


def _time(joined: str, words: list[str], averaged: Meaning | None) -> Key | None:
    factor = 0.0
    if len(words) > 1 and words[-1] in v.DURATIONS and " ".join(words[:-1]) in _OF_DATA:
        return Key("wait", 0, v.DURATIONS[words[-1]])
    if joined in _OF_DATA:
        return Key("data")
    if len(words) > 1 and words[-1] in v.DURATIONS and words[-2] != "per":
        # "step_time_ms", "duration in s", "step_ms"
        factor = v.DURATIONS[words[-1]]
        words = words[:-2] if words[-2] == "in" and len(words) > 2 else words[:-1]
        joined = " ".join(words)
        if joined in v.COUNTED:
            return _of_one_step(factor, averaged, joined)
    if joined in v.REMAINING:
        return Key("left", 0, factor)
    if joined == "dt" or (words[0] in v.COUNTED and " ".join(words[1:]) in v.TIME_WORDS):
        return _of_one_step(factor, averaged, words[0])
    if len(words) > 1 and words[-1] in v.COUNTED:
        # "time_per_step", "time_this_iter", "t_iter"; "time_step" counts something mostly.
        before = words[:-1]
        while len(before) > 1 and before[-1] in v.OF_ONE:
            before = before[:-1]
        if " ".join(before) in v.TIME_WORDS and (joined not in v.TIMES_BY_UNIT or factor):
            return _of_one_step(factor, averaged, words[-1])
    if order := v.MAYBE_CLOCKS.get(joined):
        return Key("time", order, factor or v.DURATIONS.get(joined, 0.0), averaged or "either")
    by_unit = v.TIMES_BY_UNIT.get(joined)
    return Key("timed", by_unit) if by_unit and not factor else None


def _of_one_step(factor: float, averaged: Meaning | None, counted: str) -> Key:
    return Key("time", v.MEAN_OF_STEPS if averaged else v.OF_ONE_STEP, factor, averaged or "step", counted)


def _loss(joined: str, words: list[str], averaged: Meaning | None) -> Key | None:
    if "per" in words and "loss" in words:
        joined = " ".join(word for word in joined.split() if word != "per")  # "train/loss/total"
    if averaged is None and not v.AVERAGES.keys().isdisjoint(words):
        joined = " ".join(word for word in words if word not in v.AVERAGES)  # "batch avg loss"
        averaged = "interval"
    if (order := v.LOSS_NAMES.get(joined)) is not None:
        # "loss" itself comes before "train_loss", that before "avg_loss", and last what is a mean over all of it.
        if averaged:
            return Key("loss", order + (8 if "total" in words else 3))
        return Key("loss", order + (1 if len(words) > 1 and order == 0 else 0))
    return Key("loss", v.PART_OF_LOSS) if "loss" in words and v.NO_LOSS.isdisjoint(words) else None


def _memory(words: list[str]) -> Key | None:
    if v.MEMORY.isdisjoint(words) or not v.NO_GPU_MEMORY.isdisjoint(words):
        return None
    return Key("memory", 0, v.SIZES.get(words[-1], 0.0) if len(words) > 1 else 0.0)


def _setting(words: list[str]) -> Key | None:
    if words[-1] == "lr" or words[-2:] == ["learning", "rate"]:
        return Key("learning")
    return Key("setting") if words[-1] in v.SETTINGS or words[0] in {"max", "min", "num"} else None


def _measure(joined: str, words: list[str]) -> Key | None:
    """What a report tells beside its loss; of order 1 what nothing but training has."""
    if not v.NO_MEASURE.isdisjoint(words) and joined not in v.ONLY_TRAINING:
        return None
    if joined in v.ONLY_TRAINING:
        return Key("measure", 1)
    words = [word for word in words if word != "per"]
    return Key("measure") if words[0] in v.OUTCOMES or words[-1] in v.OUTCOMES else None


_LONG_UNITS = frozenset({"min", "mins", "minute", "minutes", "h", "hr", "hrs", "hour", "hours", "day", "days"})


@lru_cache(maxsize=2048)
def unit_of(text: str) -> Key | None:
    """What a unit says that stands behind a number or in brackets behind a name: ms, s/step, it/s, MiB, %, k; else None."""
    text = text.strip()
    lower = text.lower()
    if lower in v.DURATIONS and text not in {"M", "H"}:
        return Key("duration", v.BARE, v.DURATIONS[lower], "either")
    if text == "M":
        return Key("size", 0, v.SIZES["mb"], unit=text)
    if lower in v.SIZES and text != "g":
        return Key("size", 0, v.SIZES[lower])
    if text == "%":
        return Key("share")
    if text in v.MAGNITUDES:
        return Key("magnitude", 0, v.MAGNITUDES[text], unit=text)
    if lower in {"/s", "/sec"}:
        return Key("throughput", 1, 1.0, unit="samples/s")
    if lower in v.PLURALS:
        return Key("setting")  # how many there are: "200/2983 batches"
    words = words_of(text)
    key = _speed(words, None) if "per" in words else None
    if "per" in words[:-1] and words[-1] in _LONG_UNITS:
        return Key("setting")  # "24 steps/min": no seconds
    return key if key is not None and key.what in SPEEDS else None


def measured(key: Key | None, unit: Key | None) -> Key | None:
    """A name and the unit beside its number, taken together; None where nothing is known, or they do not go together."""
    if key is None:
        return unit if unit is not None and unit.what in SPEEDS else None
    if key.what == "wait":
        return key if unit is None else None
    if key.what == "data":
        return key if unit is None or unit.what == "duration" else None
    if key.what == "left" and unit is not None:
        return key._replace(factor=unit.factor) if unit.what == "duration" else None
    if key.what == "timed":
        if unit is None or unit.what != "duration":
            return None
        return unit._replace(what="time", order=key.order, meaning="step" if key.order <= v.MEAN_OF_STEPS else "either")
    if key.what == "step" and unit is not None and (steps := v.MAGNITUDES.get(unit.unit)):
        return key._replace(factor=steps)
    if unit is None:
        return None if key.what == "memory" and not key.factor else key
    if key.what in SPEEDS and unit.what in SPEEDS:
        # A mean stays a mean, whatever the unit says.
        if unit.what == "throughput":
            return unit._replace(order=unit.order + (AVERAGED if key.order >= AVERAGED else 0))
        return unit._replace(meaning=key.meaning) if key.meaning in v.AVERAGES.values() else unit
    if key.what == "time" and unit.what in {"duration", "magnitude"}:
        return key._replace(factor=unit.factor * (key.factor or 1.0) if unit.what == "magnitude" else unit.factor)
    if key.what == "loss" and key.order == v.COST and unit.what == "duration":
        return unit._replace(what="time", order=v.ANY_TIME)
    if key.what == "throughput" and unit.what == "duration" and key.unit in _OR_TIMES:
        return _of_one_step(unit.factor, None, "step")
    if key.what == "throughput" and unit.what == "magnitude":
        return key._replace(factor=unit.factor)
    if key.what == "memory" and unit.what == "size":
        return key._replace(factor=unit.factor)
    if key.what in {*SPEEDS, "memory"}:
        return None
    if key.what == "step" and unit.what == "duration":
        return _of_one_step(unit.factor, None, "step")
    if key.what == "measure" and unit.what == "share":
        return key
    return None if unit.what in {"duration", "size", "share", "magnitude"} else key
