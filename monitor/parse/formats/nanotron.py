"""Nanotron.

``iteration: 40 / 500 | consumed_tokens: 10.2M | time_per_iteration_ms: 1.23K | tokens_per_sec: 331K |
tokens_per_sec_per_gpu: 41.4K | … | lm_loss: 6.71 | …``: of that iteration alone, with three digits and K, M, B for
thousands; earlier releases wrote ``elapsed_time_per_iteration_ms: 1.23K``, at first with exponents, and the memory
reserved, in bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "nanotron"
GATES = ("time_per_iteration_ms: ",)

_HEAD = re.compile(r"\biteration: (?P<step>\d{1,12}) / (?P<total>\d{1,12}) \|")
_FIELD = re.compile(
    r"(?<=\| )(?:elapsed_)?(time_per_iteration_ms|tokens_per_sec_per_gpu|lm_loss|cuda_max_memory_reserved): "
    r"(-?[\d.]+(?:[eE][-+]?\d+)?|nan|inf)([KMBT]?)"
)
_TIMES = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    head = _HEAD.search(text)
    if head is None:
        return
    fields: dict[str, float] = {}
    for name, digits, suffix in _FIELD.findall(text, head.end() - 1):
        if (value := number(digits)) is not None:
            fields[name] = value * _TIMES[suffix]
    time_ms, rate = fields.get("time_per_iteration_ms"), fields.get("tokens_per_sec_per_gpu")
    yield Reading(
        format=FORMAT,
        step=count(head["step"]),
        total=count(head["total"]),
        time_s=None if time_ms is None else duration_s(time_ms * 0.001),
        throughput=rate,
        throughput_unit="" if rate is None else "tokens/s/GPU",
        loss=fields.get("lm_loss"),
        gpu_memory_gib=fields["cuda_max_memory_reserved"] / 2**30 if fields.get("cuda_max_memory_reserved") else None,
    )
