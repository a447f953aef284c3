"""tqdm bars, and the dicts of the Hugging Face Trainer that stand between them.

`` 37%|███▋  | 79/213 [35:58<1:00:44, 27.20s/it, loss=2.1]``: the rate is a moving average (or the mean since the bar's
start, by the bar's own setting), its unit turns over at 1; the clock is the bar's, in whole seconds; what follows
"<" is an estimate and no time of anything. ``{'loss': 6.6, …, 'epoch': 1.13}`` gives the loss of the bar's last step. Bars
whose unit is another word for a step ("batch", Composer's "ba") are read alike; of one that counts images the rate is a
throughput.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from monitor.parse.columns import Columns, clocks, counts, durations, matched, numbers
from monitor.parse.descriptions import is_other, process_of
from monitor.parse.numbers import clock_s, count, duration_s, number
from monitor.parse.rows import NO_STEP, Meaning, Reading
from monitor.parse.said import Said

FORMAT = "tqdm"
GATES = (
    *("it/s", "s/it", "it [", "'loss':"),
    *("iter/s", "ba/s", "s/ba", "batch/s", "batches/s", "step/s", "s/step", "steps/s", "update/s", "img/s", "s/img"),
)

# What a bar counts; bars over samples are the training's where they show a loss.
_UNIT = r"it|ba|batch(?:es)?|steps?|iters?|updates?|img"
_CLOCK = r"(?P<clock>[\d:, days]{1,40})"
_RATE = (
    rf"(?P<rate>[\d.eE+-]{{1,20}}|\?)\s{{0,2}}(?:s/(?P<each>{_UNIT})|(?P<many>{_UNIT})/s)(?P<rest>[^\]]{{0,1000}})\]"
)
# The description stands before the percentage: it is what lies between the last bar and this match.
_BAR_HEAD = (
    r"(?P<percent>\d{1,3})%(?:\|[^|\n]{0,400}\|)?\s{0,20}(?P<step>\d{1,15})/(?P<total>\d{1,15})\s{0,20}"
    rf"\[{_CLOCK}<[^,\]]{{0,40}}(?:, [\d:]{{1,20}})?,\s{{0,20}}"
)
_BAR = re.compile(_BAR_HEAD + _RATE)
_STEP_UNIT = _UNIT.removesuffix("|img")
_SECONDS_OR_PACE = (
    rf"(?:(?P<time>[\d.eE+-]{{1,20}})\s{{0,2}}s/(?:{_STEP_UNIT})"
    rf"|(?P<pace>[\d.eE+-]{{1,20}})\s{{0,2}}(?:{_STEP_UNIT})/s)"
)
# The bar's clock is left out: "36:27" is no number to an engine that computes.
INSIGHTS = (Said(FORMAT, (re.compile(_BAR_HEAD + _SECONDS_OR_PACE),), names=(("clock", ""),), one_total=True),)
# Past its total a bar loses percentage and picture: "Steps: : 125it [02:39, 1.69it/s, loss=0.02]"; Lightning's, where
# the length of an epoch is not known: "Epoch 0: |          | 15/? [00:01<?, 10.10it/s, v_num=0]".
_NO_TOTAL = re.compile(
    rf"(?<![\w.])(?P<step>\d{{1,15}})(?:/\?|{_UNIT}) \[{_CLOCK}(?:<[^,\]]{{0,40}})?,\s{{0,20}}" + _RATE
)
_LONGEST_DESCRIPTION = 120
_NUMBER = r"(?P<loss>[-+]?(?:\d[\d.]{0,30}(?:[eE][-+]?\d{1,3})?|nan|inf))"
_LOSS = re.compile(rf"(?<![\w/.-])(?:train[_/]|reduced_train_)?loss=\s?{_NUMBER}")
# NeMo's bars also show Lightning's running mean, as "loss=".
_OF_STEP = re.compile(rf"(?<![\w/.-])reduced_train_loss=\s?{_NUMBER}")
_ANY_LOSS = re.compile(
    r"(?i)(?<![\w/.-])(?:(?:train|step|total|batch|avg|avr|mean|running|cur|tr)[_/ ]){0,2}"
    rf"loss(?:_step|_mean|/train(?:/total)?| \(batch\))?\s?[=:]\s?{_NUMBER}"
)
_LOSS_IN_DESCRIPTION = re.compile(
    rf"(?i)(?<![\w/.-])(?:(?<!val )(?<!valid )(?<!eval )(?<!test )|(?:train(?:ing)?|batch|step)[_ ])loss[:= ]{{1,3}}{_NUMBER}"
)
# What trainers print behind the rate: neuronx-nemo its own step time, Lightning's loggers the global step (rounded to
# four digits, so that large ones are useless).
_STEP_TIME = re.compile(r"\b(?:iteration_time|step_time|train_step_timing)(?: in s)?=(?P<time>[\d.eE+-]+)")
_GLOBAL_STEP = re.compile(
    r"\bglobal_step=(?P<step>\d{1,4})(?:\.0*)?(?=[,\]\s]|$)|\bnum_updates=(?P<updates>\d{1,12})\b"
)
_EPOCH = re.compile(r"(?i)\bepoch\s{0,9}[:#\[]?\s{0,9}(?P<epoch>\d{1,9})")
_DICT = re.compile(
    rf"[{{,]\s?'loss':\s{{0,9}}'?{_NUMBER}'?(?=[,}}])[^{{}}]{{0,4000}}?'epoch':\s{{0,9}}'?(?P<epoch>[\d.]{{1,30}})'?[,}}]"
)
# What a callback adds.
_OWN_TIME = re.compile(r"'(?:step|iter)_time':\s{0,9}'?(?P<time>[\d.]{1,30})'?(?=[,}])")
_OWN_STEP = re.compile(r"'(?:(?:global_|current_)?steps?|iter(?:ation)?)': ?'?\d")
_OF_BAR = re.compile(r"step_time|iteration_time|train_step_timing|global_step|num_updates|v_num")
_FASTEST_PER_S = 1e5
_NUMBERS = re.compile(r"[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?|\bnan\b|\binf\b")


def read(text: str) -> Iterator[Reading]:
    """The redraws of training bars and the losses in ``text``; bars of downloads, evaluations and such are left out."""
    found = _bars(_BAR, text) if "%" in text else []
    yield from found
    if "it [" in text or (not found and "[" in text):
        yield from _bars(_NO_TOTAL, text)
    # A loop that names its step is no Trainer: it is read as any dict of names and numbers.
    if "'loss'" in text and _OWN_STEP.search(text) is None:
        for match in _DICT.finditer(text):
            own = _OWN_TIME.search(text, match.start())
            yield Reading(
                format="hf-trainer",
                loss=number(match["loss"]),
                epoch_share=number(match["epoch"]),
                time_s=duration_s(number(own["time"]) or 0.0) if own else None,
                meaning="interval",
            )


def _bars(pattern: re.Pattern[str], text: str) -> list[Reading]:
    found, last = [], 0
    for match in pattern.finditer(text):
        start = match.start()
        what = text[max(last, start - _LONGEST_DESCRIPTION) : start].strip().rstrip(":| ")
        last = match.end()
        bar = _NUMBERS.sub("N", what) if what else ""
        # No optimizer step takes less than ten microseconds; bars over bytes and records do.
        fast = match["many"] is not None and (number(match["rate"]) or 0.0) > _FASTEST_PER_S
        if fast or (bar and is_other(bar)):
            found.append(NO_STEP)
        else:
            found.append(_redraw(match, what, bar, count(match["total"]) if pattern is _BAR else None))
    return found


def _loss(rest: str) -> re.Match[str] | None:
    return _OF_STEP.search(rest) or _LOSS.search(rest) or _ANY_LOSS.search(rest)


def _redraw(match: re.Match[str], what: str, bar: str, total: int | None) -> Reading:
    rate, rest = number(match["rate"]), match["rest"]
    per_second = match["many"] is not None
    steps, clock = count(match["step"]), clock_s(match["clock"])
    time_s = duration_s(1.0 / rate if per_second else rate) if rate else None
    unit = "it/s" if per_second and rate is not None else ""
    meaning: Meaning = "smoothed"
    loss = own = counter = None
    if rest:
        if "oss" in rest:
            loss = _loss(rest)
        own, counter = _STEP_TIME.search(rest), _GLOBAL_STEP.search(rest)
    if what and loss is None and ("oss" in what or "OSS" in what):
        loss = _LOSS_IN_DESCRIPTION.search(what)
    if "img" in (match["each"], match["many"]):
        if loss is None:
            return NO_STEP
        rate = rate if per_second or not rate else 1.0 / rate
        time_s, unit = None, "images/s" if rate else ""
    elif own is not None and (own_s := duration_s(number(own["time"]))) is not None:
        time_s, meaning, unit = own_s, "step", ""
    elif "v_num=" in rest:
        meaning = "running-mean"  # Lightning's bar shows the mean since the epoch began
        if rate == 0.0 and steps and clock:
            # Rounded down to nothing, as Lightning does not turn its rate over.
            time_s, rate, unit = duration_s(clock / steps), None, ""
    epoch = _EPOCH.search(what) if what else None
    rank, local_rank = process_of(what) if what else (None, None)
    return Reading(
        format=FORMAT,
        step=steps,
        total=total,
        time_s=time_s,
        meaning=meaning,
        clock_s=clock,
        clock_tick_s=1.0,
        throughput=rate if unit else None,
        throughput_unit=unit,
        loss=number(loss["loss"]) if loss else None,
        epoch=count(epoch["epoch"]) if epoch else None,
        counter=count(counter["step"] or counter["updates"]) if counter else None,
        bar=bar[-60:],
        rank=rank,
        local_rank=local_rank,
    )


# The usual bar alone on its line: description, postfix in brackets; other spellings are read one by one.
_USUAL = (
    r"([^%\n]{0,120}?)(\d{1,3})%(?:\|[^|\n]{0,400}\|)? {0,20}(\d{1,15})/(\d{1,15}) {0,20}"
    r"\[(\d{1,4}(?::\d\d){1,2})<[\d:?]{1,20}, {0,20}(\d{1,9}(?:\.\d{1,9})?)(it/s|s/it)(?:, ([^\]\n]{0,1000}))?\]\s*"
)


def read_many(texts: Sequence[str]) -> Iterator[tuple[list[int], Columns]]:
    """The same of lines that hold one bar with a total and nothing but a loss behind its rate, as columns."""
    at, columns = matched(_USUAL, texts, sure=1)
    if not at:
        return
    heads, _, steps, totals, printed_clocks, printed, units, postfixes = columns
    rates = numbers(printed)
    is_rate = np.array([unit == "it/s" for unit in units])
    with np.errstate(divide="ignore"):
        times = durations(np.where(is_rate, 1.0 / rates, rates))
    losses = [_loss_of(postfix) for postfix in postfixes] if any(postfixes) else [None] * len(at)
    bars = [_bar_of(head) for head in heads] if any(heads) else [""] * len(at)
    good = ~(is_rate & (rates > _FASTEST_PER_S)) & (rates > 0)
    for place in [place for place, loss in enumerate(losses) if loss == "?" or bars[place] is None]:
        good[place] = False
    if not good.all():
        # What needs a closer look is read one by one; the rest once more without it.
        rest = [at[place] for place in np.flatnonzero(good).tolist()]
        for known, columns_ in read_many([texts[place] for place in rest]) if rest else ():
            yield [rest[place] for place in known], columns_
        return
    yield (
        at,
        {
            "format": FORMAT,
            "meaning": "smoothed",
            "step": counts(steps),
            "total": counts(totals),
            "time_s": times,
            "clock_s": clocks(printed_clocks),
            "clock_tick_s": np.ones(len(at)),
            "throughput": np.where(is_rate, rates, np.nan),
            "throughput_unit": "it/s" if is_rate.all() else ["it/s" if unit == "it/s" else "" for unit in units],
            "loss": numbers(losses),
            "bar": [bar or "" for bar in bars] if any(bars) else "",
        },
    )


def _loss_of(postfix: str) -> str | None:
    """The loss as printed, "?" where the postfix holds more that counts."""
    if not postfix:
        return None
    if _OF_BAR.search(postfix):
        return "?"
    found = _loss(postfix) if "oss" in postfix else None
    return found["loss"] if found else None


@lru_cache(maxsize=1024)
def _bar_of(head: str) -> str | None:
    """The bar's name, None where what stands before the percentage needs a closer look."""
    what = head[-_LONGEST_DESCRIPTION:].strip().rstrip(":| ")
    bar = _NUMBERS.sub("N", what)
    if (
        "oss" in what
        or "OSS" in what
        or _EPOCH.search(what)
        or "it [" in head
        or (bar and (is_other(bar) or any(number is not None for number in process_of(what))))
    ):
        return None
    return bar[-60:]
