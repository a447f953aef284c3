"""torchtitan, its forks and its relative lingua.

``step: 40  loss:  7.3201  grad_norm:  2.1  memory: 41.20GiB(51.9%)  tps: 6,210  tflops: 310.2  mfu: 31.37%``: tokens per
second and GPU over the log interval (``wps`` in the first releases), the peak of the memory reserved; no time, as the
line does not say how many tokens a step has. lingua, and torchtitan in its first weeks, print ``iter: 0.31``, the seconds of
the last iteration. Each rank that logs prints the same numbers; ``validate step: 40`` is a validation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading
from monitor.parse.said import Said

FORMAT = "torchtitan"
GATES = ("GiB(", "wps: ", "  iter: ")

_HEAD = re.compile(r"(?<!validate )(?<!validation )\bstep:\s{0,8}(?P<step>\d{1,12})\s+(?=\w+:\s)")
_VALIDATION = re.compile(r"\bvalidat(?:e|ion) step:\s{0,8}\d{1,12}\s")
_FIELD = re.compile(r"(?<=\s)(loss|memory|tps|wps|iter):\s+([-+]?(?:[\d,]{1,30}\.?\d{0,30}(?:[eE][-+]?\d{1,4})?|nan|inf))")
_FIELDS_WITHIN = 600
_VALUE = r"[-+]?(?:[\d,]{1,30}\.?\d{0,30}(?:[eE][-+]?\d{1,4})?|nan|inf)"
INSIGHTS = (
    Said(
        FORMAT,
        (
            re.compile(rf"{_HEAD.pattern}.{{0,600}}?\bloss:\s+(?P<loss>{_VALUE})"),
            re.compile(rf"\siter:\s+(?P<time>{_VALUE})"),
        ),
        rates=(("tokens/s/GPU", re.compile(rf"\s(?:tps|wps):\s+(?P<rate>{_VALUE})")),),
        never=r"validat(?:e|ion) step:",
    ),
)


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    head = _HEAD.search(text)
    if head is None:
        if _VALIDATION.search(text):
            yield NO_STEP
        return
    fields = dict(_FIELD.findall(text, head.end() - 1, head.end() + _FIELDS_WITHIN))
    rate = number(fields.get("tps") or fields.get("wps"))
    time_s = duration_s(number(fields.get("iter")))
    if "loss" not in fields or (rate is None and time_s is None):
        return
    yield Reading(
        format=FORMAT,
        step=count(head["step"]),
        time_s=time_s,
        meaning="interval" if time_s is None else "step",
        throughput=rate,
        throughput_unit="" if rate is None else "tokens/s/GPU",
        loss=number(fields["loss"]),
        gpu_memory_gib=number(fields.get("memory")),
    )
