"""TensorFlow's Estimator (Tensor2Tensor and other trainers on it included).

``INFO:tensorflow:loss = 2.29, step = 101 (12.933 sec)``: the seconds since the line before, which stands
``log_step_count_steps`` steps earlier: 100 by default, and the line does not say otherwise. The first line of a run has no
time. ``global_step/sec: 7.73`` in front of it says the same as a rate but no step, and is not read. Traps: two loggers
print every line twice; ``Saving dict for global step`` is an evaluation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "tf-estimator"
GATES = (", step = ",)

#: RunConfig's default of log_step_count_steps.
STEPS_BETWEEN_LINES = 100

_LINE = re.compile(
    r"\bloss = (?P<loss>-?(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?|nan|inf)), step = (?P<step>\d{1,15})"
    r"(?: \((?P<seconds>\d{1,9}(?:\.\d{0,20})?) sec\))?"
)


def read(text: str) -> Iterator[Reading]:
    """The reports in ``text``."""
    for match in _LINE.finditer(text):
        seconds = number(match["seconds"])
        time_s = None if seconds is None else duration_s(seconds / STEPS_BETWEEN_LINES)
        yield Reading(
            format=FORMAT,
            step=count(match["step"]),
            time_s=time_s,
            meaning="interval",
            throughput=1.0 / time_s if time_s else None,
            throughput_unit="it/s" if time_s else "",
            loss=number(match["loss"]),
        )
