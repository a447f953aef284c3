"""torchtune: its bars, and the lines of its metric logger.

``2|410|Loss: 0.8712:  26%|██▌       | 84/326 [02:01<05:50,  1.45s/it]``: epoch, global step and that step's loss stand in
front of a tqdm bar that counts within the epoch. ``Step 410 | loss:0.8712 lr:2e-05 tokens_per_second_per_gpu:1210.5
peak_memory_reserved:31.2``: tokens per second of that step, memory in GiB; no time. Lines that start with val_loss are
a validation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.formats import tqdm
from monitor.parse.numbers import count, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "torchtune"
GATES = ("|Loss: ", " | loss:", " | val_loss:")

_NUMBER = r"-?[\d.]+(?:[eE][-+]?\d+)?|nan|inf"
_BAR = re.compile(rf"(?<!\d)(?P<epoch>\d{{1,6}})\|(?P<step>\d{{1,12}})\|Loss: (?P<loss>{_NUMBER}): ")
_LINE = re.compile(rf"\bStep (?P<step>\d{{1,12}}) \| loss:(?P<loss>{_NUMBER})(?= |$)")
_VALIDATION = re.compile(r"\bStep \d{1,12} \| val_loss:")
_FIELD = re.compile(rf"(?<= )(tokens_per_second_per_gpu|peak_memory_reserved):({_NUMBER})")


def read(text: str) -> Iterator[Reading]:
    """The redraws or the report in ``text``."""
    bar = _BAR.search(text)
    if bar is not None:
        for redraw in tqdm.read(text):
            yield redraw._replace(
                counter=count(bar["step"]), epoch=count(bar["epoch"]), loss=number(bar["loss"]), bar="Loss"
            )
        return
    line = _LINE.search(text)
    if line is None:
        if _VALIDATION.search(text):
            yield NO_STEP
        return
    fields = dict(_FIELD.findall(text, line.end()))
    rate = number(fields.get("tokens_per_second_per_gpu"))
    yield Reading(
        format=FORMAT,
        step=count(line["step"]),
        throughput=rate,
        throughput_unit="" if rate is None else "tokens/s/GPU",
        loss=number(line["loss"]),
        gpu_memory_gib=number(fields.get("peak_memory_reserved")) or None,
    )
