"""fairseq and its descendants (metaseq): what ``train_inner`` prints, as text and as JSON.

``… | INFO | train_inner | epoch 003:   1200 / 8190 loss=4.1, wps=9120, ups=2.51, num_updates=17580, wall=7021``:
num_updates is the global step (the counter behind "epoch" begins again with each epoch), ups the updates per second
over the log interval, with two decimals; wall counts whole seconds since the trainer was built, and is right where ups
is not (on TPUs one update of each interval is counted). Releases before 2020 print ``| epoch 003:`` without a logger;
the oldest have words per second and per batch only, and the mean loss in brackets behind the current one. Lines of a validation,
``| epoch 003 | valid on …  10 / 80 loss=…``, and the summary ``| epoch 003 | train | loss …`` are no steps.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number, whole_number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "fairseq"
GATES = ("wps=", 'wps":', "| wps ", "| words/s ", "| valid on ")

_TEXT = re.compile(r"\bepoch (?P<epoch>\d{1,6}):?\s+(?P<place>\d{1,12}) / \d{1,12}\s+(?=\w+=)")
_FIELD = re.compile(r"\b(loss|wps|wpb|ups|num_updates|wall)=([^\s,]+)")
# An epoch's end and a validation have the same keys behind "train_" and "valid_", or between bars.
_SUMMARY = re.compile(r'\bepoch \d{1,6} \||"(?:train|valid\w{0,40})_num_updates":')
_JSON_FIELD = re.compile(r'"(loss|wps|ups|num_updates|wall)":\s*"?([^\s",}]+)')


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    head = _TEXT.search(text)
    if head is not None:
        fields = dict(_FIELD.findall(text, head.end()))
    elif '"num_updates":' in text:
        fields = dict(_JSON_FIELD.findall(text))
    else:
        fields = {}
    if "wps" not in fields:
        if _SUMMARY.search(text):
            yield NO_STEP
        return
    updates = _whole(fields.get("num_updates"))
    rate = _positive(fields["ups"] if "ups" in fields else fields["wps"])
    per_update = rate is not None and "ups" in fields
    words = _positive(fields.get("wpb"))
    each_s = 1.0 / rate if rate and per_update else words / rate if rate and words and "wall" not in fields else None
    yield Reading(
        format=FORMAT,
        step=count(head["place"]) if updates is None and head else updates,
        epoch=count(head["epoch"]) if updates is None and head else None,
        time_s=None if each_s is None else duration_s(each_s),
        meaning="interval",
        clock_s=_positive(fields.get("wall")),
        clock_tick_s=1.0,
        throughput=rate,
        throughput_unit="" if rate is None else "it/s" if per_update else "words/s",
        loss=number(fields.get("loss")),
    )


def _positive(text: str | None) -> float | None:
    """A rate or clock; the 0 of a first report says that nothing was measured yet."""
    value = number(text)
    return value if value is not None and math.isfinite(value) and value > 0 else None


def _whole(text: str | None) -> int | None:
    """A counter, which is printed with six digits at most: "1.23457e+06"."""
    return whole_number(number(text))
