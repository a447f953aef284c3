"""NeMo Automodel.

``step 30 | epoch 0 | loss 1.2031 | grad_norm 0.81 | lr 1e-05 | mem 31.22 GiB | tps 9120.55(1140.07/gpu) | …``: tokens per
second in the last step, of all GPUs and of one (``tps 1140.07/gpu`` at first), and the peak of the memory allocated. The
recipes for retrieval end in ``time 0.53s``, that step's own. Lines of a validation have no memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "nemo-automodel"
GATES = (" GiB | tps ", " GiB | time ", "[val] ")

_LINE = re.compile(
    r"\bstep (?P<step>\d{1,12}) \| epoch \d{1,9} \| loss (?P<loss>[-+\d.eEnainf]+) \|"
    r"[^\n]{0,300}?\| mem (?P<gib>[\d.]+) GiB \| "
    r"(?:tps (?:(?P<all>[\d.]+)(?![\d./])(?:\((?P<each>[\d.]+)/gpu\))?|(?P<only>[\d.]+)/gpu)|time (?P<time>[\d.]+)s)"
)
_VALIDATION = re.compile(r"\[val\] [^\n]{0,80}?\bstep \d{1,12} \| epoch ")


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    match = _LINE.search(text)
    if match is None:
        if _VALIDATION.search(text):
            yield NO_STEP
        return
    each = match["each"] or match["only"]
    rate = number(each or match["all"])
    yield Reading(
        format=FORMAT,
        step=count(match["step"]),
        time_s=duration_s(number(match["time"])),
        throughput=rate,
        throughput_unit="" if rate is None else "tokens/s/GPU" if each else "tokens/s",
        loss=number(match["loss"]),
        gpu_memory_gib=number(match["gib"]),
    )
