"""tqdm bars, and the dicts of the Hugging Face Trainer that stand between them.

`` 37%|███▋  | 79/213 [35:58<1:00:44, 27.20s/it, loss=2.1]``: the rate is a moving average (or the mean since the bar's
start, by the bar's own setting), its unit turns over at 1; the clock is the bar's, in whole seconds; what follows
"<" is an estimate and no time of anything. ``{'loss': 6.6, …, 'epoch': 1.13}`` gives the loss of the bar's last step. Bars
whose unit is another word for a step ("batch", Composer's "ba") are read alike; of one that counts images the rate is a
throughput. ``datasets`` counted the batches of its maps as "ba", without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from monitor.parse.family import Line
from monitor.parse.numbers import clock_s, count, duration_s, number, process_number
from monitor.parse.rows import NO_STEP, Meaning, Reading

FORMATS = ("tqdm", "hf-trainer")
GATES = (
    *("%|", "it/s", "s/it", "it [", "'loss':", "train_step_timing in s="),
    *("iter/s", "ba/s", "s/ba", "atch/s", "atches/s", "s/batch", "s/Batch", "tep/s", "s/step", "teps/s", "s/ step"),
    *("pdate/s", "img/s", "s/img"),
)

BEFORE = {
    "pytorch_mnist": "as the description of a bar it tells samples, where the bar tells the step and its time",
    "pytorch_cifar": "as the description of a bar it tells no time",
}

# What a bar counts; bars over samples are the training's where they show a loss.
_UNIT = r"it|ba|[Bb]atch(?:es)?|[Ss]teps?|[Ii]ter(?:ation)?s?|[Uu]pdates?|BATCH|STEP|img"
_CLOCK = r"(?P<hms>[\d:, days]{1,40})"
_RATE = (
    rf"(?P<rate>[\d.eE+-]{{1,20}}|\?)\s{{0,2}}(?:s/ ?(?P<each>{_UNIT})|(?P<many>{_UNIT})/s)(?P<rest>[^\]]{{0,1000}})\]"
)
# The description stands before the percentage: it is what lies between the last bar and this match. With ``unit_scale`` counts
# have three digits: "7.00/12.0".
_BAR_SINCE = (
    r"(?:(?P<percent>\d{1,3})%(?:\|[^|\n]{0,400}\|)?|\|[^|\n]{0,400}\|)\s{0,20}"
    rf"(?P<step>\d{{1,15}})(?:\.00?)?/(?P<total>\d{{1,15}})(?:\.00?)?\s{{0,20}}\[{_CLOCK}"
)
_BAR_HEAD = rf"{_BAR_SINCE}<[^,\]]{{0,40}}(?:, [\d:]{{1,20}})?,\s{{0,20}}"
_BAR = re.compile(_BAR_HEAD + _RATE)
_STEP_UNIT = _UNIT.removesuffix("|img")
_SECONDS_OR_PACE = (
    rf"(?:(?P<s>[\d.eE+-]{{1,20}})\s{{0,2}}s/ ?(?:{_STEP_UNIT})"
    rf"|(?P<pace>[\d.eE+-]{{1,20}})\s{{0,2}}(?:{_STEP_UNIT})/s)"
)
#: As Logs Insights is asked for them, which needs no clock.
LINES = (Line("tqdm", _BAR_HEAD + _SECONDS_OR_PACE, meaning="smoothed", one_total=True),)
# A narrow screen cuts a bar off: of its rate what is left of the unit tells which it is, if a letter is there.
_CUT = re.compile(
    _BAR_HEAD
    + r"(?P<rate>[\d.]{0,20})\s{0,2}(?:(?P<each>s)(?:/[a-z]{0,6})?|(?P<many>(?:i|b|B|u)[a-z]{0,6})(?:/s?)?)?(?P<rest>)\s*$"
)
# A bar that is drawn without a rate, as ``bar_format`` may ask for: its clock tells.
_UNRATED = re.compile(
    rf"{_BAR_SINCE}(?:<[^,\]]{{0,40}})?(?P<rate>)(?P<each>)(?P<many>)"
    # What has a rate of its own counts something else.
    r"(?P<rest>(?:,\s(?![^\]]{0,400}(?:/s|s/))[^\]]{0,1000})?)\]"
)
# NeMo's newer bars tell the time of the step in place of a rate.
_TIMED = re.compile(
    _BAR_HEAD + r"(?P<rate>)(?P<each>)(?P<many>)(?P<rest>[^\]]{0,1000}?\btrain_step_timing in s=[^\]]{0,1000})\]"
)
# Past its total a bar loses percentage and picture: "Steps: : 125it [02:39, 1.69it/s, loss=0.02]"; Lightning's, where
# the length of an epoch is not known: "Epoch 0: |          | 15/? [00:01<?, 10.10it/s, v_num=0]".
_NO_TOTAL = re.compile(
    rf"(?<![\w.])(?P<step>\d{{1,15}})(?:/\?|{_UNIT}) \[{_CLOCK}(?:<[^,\]]{{0,40}})?,\s{{0,20}}" + _RATE
)
_LONGEST_DESCRIPTION = 120
_NUMBER = r"(?:tensor\()?(?P<loss>[-+]?(?:\d[\d.]{0,30}(?:[eE][-+]?\d{1,3})?|nan|inf))"
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
# The Trainer's epochs are fractions, whose zeros it leaves away where it quotes them; another dict whose epoch is whole tells
# of all of it.
_DICT = re.compile(
    rf"[{{,]\s?'loss':\s{{0,9}}'?{_NUMBER}'?(?=[,}}])[^{{}}]{{0,4000}}?'epoch':\s{{0,9}}'?"
    r"(?P<epoch>\d{0,15}(?:\.\d{0,25}|(?=')))'?[,}]"
)
# What a callback adds.
_OWN_TIME = re.compile(r"'(?:step|iter)_time':\s{0,9}'?(?P<time>[\d.]{1,30})'?(?=[,}])")
_OWN_STEP = re.compile(r"'(?:(?:global_|current_)?steps?|iter(?:ation)?)': ?'?\d")
_FASTEST_PER_S = 1e5
_NUMBERS = re.compile(r"[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?|\bnan\b|\binf\b")
# In a description: words that tell of other work wherever they stand; then those that do where it begins with them.
_OTHER = re.compile(
    r"(?i)\b(?:download|(?:pre|re)?load|eval|valid|val\b(?! (?:loss|acc))|dev\b|sanity|test|predict|infer(?:ence|ring)|map|token"
    r"|filter|generat(?!ors?[ _]?loss)|sav|writ|extract|group|flatten|creat|fetch|upload|prepar|process(?:ed|ing)|preprocess"
    r"|convert|cast|resolv"
    r"|comput|calc(?:ulat|\b)|shard|checkpoint|pack|cach|denoising|class +images\b|classes +top\d"
    r"|(?:encod|decod|embedd|index|scor|sampl|collect|merg|splitt|verify|scann|calibrat|quantiz|copy|read|build|unzipp|unpack)ing)"
    r"|^\W*(?:rollouts?|prompts?|requests?|ddim|sampler"
    r"|(?:add|annotat|answer|benchmark|captur|check|compil|count|crawl|delet|export|gather|hash|import|install|label|measur|mov"
    r"|pars|profil|rank|remov|render|retriev|rewrit|scrap|search|summariz|transcrib|translat|truncat|wait|warm)ing)\b"
)
# Sentence Transformers' bar over texts that it embeds.
_ENCODES = "Batches"
# A bar that shows a figure of each tells of the training: "train_psnr = 27.1 test_psnr = 0.00".
_OF_TRAINING = re.compile(r"(?i)\btrain(?:ing)?[_ ]\w{1,20} ?[=:] ?N")
# "rank 3", "[GPU0]", "cuda:1"; not the gigabytes of a GPU.
_RANK = re.compile(r"(?i)(?<![a-z])(?P<local>local[_ ]?)?rank[ =:#_]{0,2}(?P<rank>\d{1,6})(?![\d.])")
_LOCAL = re.compile(r"(?i)(?<![a-z])(?:gpu|cuda|device)[ =:#_]{0,2}(?P<number>\d{1,4})(?![\d.]|\s?[GM%])")


def read(text: str) -> Iterator[Reading]:
    """The redraws of training bars and the losses in ``text``; bars of downloads, evaluations and such are left out."""
    found = _bars(_BAR, text) if "%" in text or "| " in text else []
    if not found and "train_step_timing" in text:
        found = _bars(_TIMED, text)
    if not found and "%|" in text:
        found = _bars(_UNRATED, text) or _bars(_CUT, text)
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
        if fast or (bar and _is_other(bar)) or (bar == _ENCODES and _loss(match["rest"]) is None):
            found.append(NO_STEP)
        else:
            found.append(_redraw(match, what, bar, count(match["total"]) if pattern is not _NO_TOTAL else None))
    return found


def _loss(rest: str) -> re.Match[str] | None:
    return _OF_STEP.search(rest) or _LOSS.search(rest) or _ANY_LOSS.search(rest)


def _redraw(match: re.Match[str], what: str, bar: str, total: int | None) -> Reading:
    rate, rest = number(match["rate"]), match["rest"]
    per_second = match["many"] is not None
    if not match["each"] and not match["many"]:
        rate = None
    steps, clock = count(match["step"]), clock_s(match["hms"])
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
    if "ba" in (match["each"], match["many"]) and loss is None and not what:
        return NO_STEP
    if "img" in (match["each"], match["many"]):
        if loss is None and _EPOCH.search(what) is None:
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
    rank, local_rank = _process_of(what) if what else (None, None)
    return Reading(
        format="tqdm",
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


@lru_cache(maxsize=1024)
def _is_other(description: str) -> bool:
    """True for a bar of a download, an evaluation, a generation: of work that is no training."""
    found = _OTHER.search(description)
    return found is not None and _OF_TRAINING.search(description, 0, found.start()) is None


@lru_cache(maxsize=1024)
def _process_of(description: str) -> tuple[int | None, int | None]:
    """(global rank, number of the process on its node) that the description names."""
    found = _RANK.search(description)
    if found is not None:
        named = process_number(found["rank"])
        return (None, named) if found["local"] else (named, None)
    found = _LOCAL.search(description)
    return None, None if found is None else process_number(found["number"])
