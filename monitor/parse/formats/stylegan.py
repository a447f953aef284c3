"""NVIDIA's generative models: StyleGAN2-ADA, StyleGAN3, EDM.

``tick 12    kimg 48.1     time 5m 12s       sec/tick 28.1    sec/kimg 7.02    maintenance 0.1    cpumem 5.1    gpumem 12.1``: a
tick is a few thousand images, and the step here; the rate over the tick follows from the seconds of a thousand images, of all
GPUs. How many steps a tick had is not said. gpumem is the peak of the tick in GiB.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, number
from monitor.parse.rows import Reading

FORMAT = "stylegan"
GATES = (" sec/kimg ",)

_LINE = re.compile(
    r"\btick (?P<tick>\d{1,9})\s{1,12}kimg \d{1,12}(?:\.\d{1,3})?\s[^\n]{0,120}? sec/kimg (?P<each>\d{1,9}\.\d{1,3})"
    r"(?:[^\n]{0,120}? gpumem (?P<gib>\d{1,6}\.\d{1,3}))?"
)


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    match = _LINE.search(text)
    if match is None:
        return
    each = number(match["each"])
    yield Reading(
        format=FORMAT,
        step=count(match["tick"]),
        meaning="interval",
        throughput=1000 / each if each else None,
        throughput_unit="images/s" if each else "",
        gpu_memory_gib=number(match["gib"]) or None,
    )
