"""MaxText (JAX).

``completed step: 12, seconds: 5.66, TFLOP/s/device: 135.1, Tokens/s/device: 8690.2, total_weights: 196608, loss: 8.1``:
seconds from one dispatch to the next as the host sees it, so step 0 holds the compilation and step 1, at times 2 too,
is far too short; they are given as printed. Throughput is per device. ``Completed eval step: 3, seconds: …`` and
``eval metrics after step: …`` are evaluations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "maxtext"
GATES = ("completed step: ", "deactivation step: ", "Completed eval ", "eval metrics after step: ")

_HEAD = re.compile(r"\bcompleted (?:profiler activation/deactivation )?step: (?P<step>\d{1,12}),")
_FIELD = re.compile(r"(?<=, )(seconds|TFLOP/s|Tokens/s|loss)(?:/device)?: ([-+\d.eE]+|nan|inf)")
_EVALUATION = re.compile(r"\bCompleted eval (?:step|after train step)\b|\beval metrics after step: \d")
_FIELDS_WITHIN = 1000


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    head = _HEAD.search(text)
    if head is None:
        if _EVALUATION.search(text):
            yield NO_STEP
        return
    fields = {name: number(value) for name, value in _FIELD.findall(text, head.end(), head.end() + _FIELDS_WITHIN)}
    if "seconds" not in fields and "loss" not in fields:
        return
    unit, rate = "tokens/s/device", fields.get("Tokens/s")
    if rate is None:
        unit, rate = "TFLOP/s/device", fields.get("TFLOP/s")
    yield Reading(
        format=FORMAT,
        step=count(head["step"]),
        time_s=duration_s(fields.get("seconds")),
        throughput=rate,
        throughput_unit="" if rate is None else unit,
        loss=fields.get("loss"),
    )
