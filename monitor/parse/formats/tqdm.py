"""tqdm bars, and the dicts of the Hugging Face Trainer that stand between them.

`` 37%|███▋  | 79/213 [35:58<1:00:44, 27.20s/it, loss=2.1]``: the rate is a moving average (or the mean since the bar's
start, by the bar's own setting), its unit turns over at 1; the clock is the bar's, in whole seconds; what follows
"<" is an estimate and no time of anything. ``{'loss': 6.6, …, 'epoch': 1.13}`` gives the loss of the bar's last step.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import clock_s, count, duration_s, number
from monitor.parse.rows import NO_STEP, Meaning, Reading

FORMAT = "tqdm"
GATES = ("it/s", "s/it", "it [", "'loss':")

_RATE = r"(?P<rate>[\d.eE+-]+|\?)\s*(?P<unit>s/it|it/s)(?P<rest>[^\]]*)\]"
# The description stands before the percentage: it is what lies between the last bar and this match.
_BAR = re.compile(
    r"(?P<percent>\d{1,3})%(?:\|[^|\n]*\|)?\s*(?P<step>\d+)/(?P<total>\d+)\s*"
    r"\[(?P<clock>[\d:, days]+)<(?P<left>[^,\]]*(?:, [\d:]+)?),\s*" + _RATE
)
# Past its total a bar loses percentage and picture: "Steps: : 125it [02:39, 1.69it/s, loss=0.02]".
_OVERRUN = re.compile(r"\b(?P<step>\d+)it \[(?P<clock>[\d:, days]+),\s*" + _RATE)
_LONGEST_DESCRIPTION = 120
_LOSS = re.compile(r"\b(?:train_|reduced_train_)?loss=(?P<loss>[-+\d.eEnainf]+)")
# What trainers print behind the rate: neuronx-nemo its own step time, Lightning's loggers the global step (rounded to
# four digits, so that large ones are useless).
_STEP_TIME = re.compile(r"\b(?:iteration_time|step_time|train_step_timing)(?: in s)?=(?P<time>[\d.eE+-]+)")
_GLOBAL_STEP = re.compile(r"\bglobal_step=(?P<step>\d{1,4})(?:\.0*)?(?=[,\]\s]|$)")
_EPOCH = re.compile(r"(?i)\bepoch:?\s*(?P<epoch>\d+)")
_DICT = re.compile(r"\{'loss':\s*'?(?P<loss>[-+\d.eEnainf]+)'?,.*'epoch':\s*'?(?P<epoch>[\d.]+)'?")
# Bars that move while nothing is trained.
_NOT_TRAINING = re.compile(
    r"(?i)\b(?:download|load|eval|valid|sanity|test|predict|map|token|filter|generat|sav|writ|extract|group"
    r"|flatten|creat|fetch|upload|prepar|processing|preprocess|convert|cast|resolv|comput|shard|checkpoint|pack|cach)"
)
_FASTEST_PER_S = 1e5
_DIGITS = re.compile(r"\d+")


def read(text: str) -> Iterator[Reading]:
    """The redraws of training bars and the losses in ``text``; bars of downloads, evaluations and such are left out."""
    yield from _bars(_BAR, text)
    if "it [" in text:
        yield from _bars(_OVERRUN, text)
    if "'loss'" in text:
        for match in _DICT.finditer(text):
            yield Reading(
                format="hf-trainer", loss=number(match["loss"]), epoch_share=number(match["epoch"]), meaning="interval"
            )


def _bars(pattern: re.Pattern[str], text: str) -> Iterator[Reading]:
    last = 0
    for match in pattern.finditer(text):
        start = match.start()
        what = text[max(last, start - _LONGEST_DESCRIPTION) : start].strip().rstrip(": ")
        last = match.end()
        # No optimizer step takes less than ten microseconds; bars over bytes and records do.
        fast = match["unit"] == "it/s" and (number(match["rate"]) or 0.0) > _FASTEST_PER_S
        if fast or (what and _NOT_TRAINING.search(what)):
            yield NO_STEP
        else:
            yield _redraw(match, what, count(match["total"]) if pattern is _BAR else None)


def _redraw(match: re.Match[str], what: str, total: int | None) -> Reading:
    rate = number(match["rate"])
    per_second = match["unit"] == "it/s"
    time_s = duration_s(1.0 / rate if per_second else rate) if rate else None
    meaning: Meaning = "smoothed"
    loss = own = counter = None
    rest = match["rest"]
    if rest:
        loss, own, counter = _LOSS.search(rest), _STEP_TIME.search(rest), _GLOBAL_STEP.search(rest)
        if own is not None and (own_s := duration_s(number(own["time"]))) is not None:
            time_s, meaning = own_s, "step"
        elif "v_num=" in rest:
            meaning = "running-mean"  # Lightning's bar shows the mean since the epoch began
    epoch = _EPOCH.search(what) if what else None
    return Reading(
        format=FORMAT,
        step=count(match["step"]),
        total=total,
        time_s=time_s,
        meaning=meaning,
        clock_s=clock_s(match["clock"]),
        clock_tick_s=1.0,
        throughput=rate if per_second and meaning != "step" else None,
        throughput_unit="it/s" if per_second and rate is not None and meaning != "step" else "",
        loss=number(loss["loss"]) if loss else None,
        epoch=count(epoch["epoch"]) if epoch else None,
        counter=count(counter["step"]) if counter else None,
        bar=_DIGITS.sub("N", what)[-60:],
    )
