"""Transformer-XL and PyTorch's language model examples.

``| epoch   1 |   200/ 2983 batches | lr 5.00 | ms/batch 18.42 | loss  7.20 | ppl  1339.43``, Transformer-XL's with
``epoch   1 step      200 |    200 batches``, NVIDIA's with ``| batches    200 / 32733 | … | tok/s 20010 |`` besides: means
over the log interval. The step is global where there is one, else the batch within the epoch. ``| end of epoch …`` and
``| Eval …`` have no ms/batch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "ms/batch"
GATES = ("ms/batch", "| end of epoch ", "| Eval ")

_LINE = re.compile(
    r"\|\s*epoch\s+(?P<epoch>\d{1,9})\s+(?:step\s+(?P<step>\d{1,12})\s+)?\|\s*(?:batches\s+)?(?P<batch>\d{1,12})\b"
    r"(?P<rest>[^\n]{0,300})"
)
_EVALUATION = re.compile(r"\| end of epoch\s|\| Eval\s+\d{1,9} at step\s")
_FIELD = re.compile(r"\b(ms/batch|tok/s|loss)\s+(-?[\d.]+(?:[eE][-+]?\d+)?|nan|inf)")


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    match = _LINE.search(text)
    if match is None:
        if _EVALUATION.search(text):
            yield NO_STEP
        return
    fields = dict(_FIELD.findall(match["rest"]))
    time_ms, rate = number(fields.get("ms/batch")), number(fields.get("tok/s"))
    if time_ms is None:
        return
    step = count(match["step"])
    yield Reading(
        format=FORMAT,
        step=count(match["batch"]) if step is None else step,
        epoch=count(match["epoch"]) if step is None else None,
        time_s=duration_s(time_ms * 0.001),
        meaning="interval",
        throughput=rate,
        throughput_unit="" if rate is None else "tokens/s",
        loss=number(fields.get("loss")),
    )
