"""tqdm-loggable: the bars that Levanter and others write where there is no terminal, one line a minute or so.

``… tqdm_logging - Progress on:train 640it/20.0kit rate:1.9it/s remaining:2:49:10 elapsed:05:40 postfix:loss=4.31``: the rate is
a moving average with one decimal, which turns over at 1 (``3.2s/it``). Counts beyond 999 are rounded to three digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import duration_s, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "tqdm-loggable"
GATES = ("Progress on:",)

_LINE = re.compile(
    r"\bProgress on:(?P<what>[^\n]{0,80}?):? (?P<done>[\d.]+)(?P<done_si>[kMG]?)(?:it)?/(?P<total>[\d.]+)(?P<total_si>[kMG]?)"
    r"(?:it)? rate:(?:(?P<rate>[\d.,]+)(?P<unit>it/s|s/it)|-)\s(?P<rest>[^\n]{0,600})"
)
_LOSS = re.compile(r"\b(?:train_)?loss=(?P<loss>-?[\d.]+(?:[eE][-+]?\d+)?|nan|inf)")
# Bars that move while nothing is trained.
_NOT_TRAINING = re.compile(
    r"(?i)\b(?:eval|valid|test|load|download|token|shard|cach|writ|read|process|copy|upload|generat)"
)
_SI = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if a bar of training stands there."""
    match = _LINE.search(text)
    if match is None or _NOT_TRAINING.search(match["what"]):
        if "Progress on:" in text:
            yield NO_STEP
        return
    rate = number(match["rate"])
    per_second = match["unit"] == "it/s"
    time_s = duration_s(1.0 / rate if per_second else rate) if rate else None
    loss = _LOSS.search(match["rest"])
    yield Reading(
        format=FORMAT,
        step=_count(match["done"], match["done_si"]),
        total=_count(match["total"], match["total_si"]),
        time_s=time_s,
        meaning="smoothed",
        throughput=rate if per_second else None,
        throughput_unit="it/s" if per_second else "",
        loss=number(loss["loss"]) if loss else None,
    )


def _count(digits: str, si: str) -> int | None:
    value = number(digits)
    return None if value is None else round(value * _SI[si])
