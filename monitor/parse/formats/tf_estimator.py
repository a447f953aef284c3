"""TensorFlow's Estimator (Tensor2Tensor and other trainers on it included).

``INFO:tensorflow:loss = 2.29, step = 101 (12.933 sec)``: the seconds since the line before, which stands
``log_step_count_steps`` steps earlier: 100 by default, and the line does not say otherwise. The first line of a run has no
time. A LoggingTensorHook's ``cross_entropy = 1.2, step = 50, loss = 2.3 (5.123 sec)`` names tensors in any order; how many
steps its seconds are is its own choice, so no time is taken. ``global_step/sec: 7.73`` in front of the loss says the same as
a rate but no step, and is not read. Traps: two loggers print every line twice; ``Saving dict for global step`` is an
evaluation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "tf-estimator"
GATES = (", step = ", " sec)")

#: RunConfig's default of log_step_count_steps.
STEPS_BETWEEN_LINES = 100

_LINE = re.compile(
    r"\bloss = (?P<loss>-?(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?|nan|inf)), step = (?P<step>\d{1,15})"
    r"(?: \((?P<seconds>\d{1,9}(?:\.\d{0,20})?) sec\))?"
)
_TENSORS = re.compile(
    r"(?:INFO:tensorflow:|basic_session_run_hooks\.py:\d{1,6}\] )(?P<tensors>[^\n]{1,600}) \((?P<seconds>\d{1,9}\.\d{1,9}) sec\)"
)
_TENSOR_STEP = re.compile(r"(?:^|, )(?:global_)?step = (?P<step>\d{1,15})(?=,|$)")
_TENSOR_LOSS = re.compile(r"(?:^|, )loss = (?P<loss>-?\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?|nan|-?inf)(?=,|$)")


def read(text: str) -> Iterator[Reading]:
    """The reports in ``text``."""
    found = False
    for match in _LINE.finditer(text):
        found = True
        seconds = number(match["seconds"])
        time_s = None if seconds is None else duration_s(seconds)
        yield Reading(
            format=FORMAT,
            step=count(match["step"]),
            time_s=time_s,
            meaning="span",
            loss=number(match["loss"]),
        )
    if not found and (hook := _TENSORS.search(text)) is not None:
        step, loss = _TENSOR_STEP.search(hook["tensors"]), _TENSOR_LOSS.search(hook["tensors"])
        if step is None:
            return
        yield Reading(
            format=FORMAT,
            step=count(step["step"]),
            time_s=duration_s(number(hook["seconds"])),
            meaning="span",
            loss=number(loss["loss"]) if loss else None,
        )
