"""MLPerf's result log.

``:::MLLOG {…, "key": "tracked_stats", "value": {"train_step_timing": 11.0}, "metadata": {…, "step": 8388608}}``: seconds
of an iteration. What "step" counts is the submitter's choice: tokens, samples or steps; it is given as printed;
"step_num" counts steps. Also ``"key": "train_loss"`` with its value, and trackers that print the loss beside their
throughput. Validation timings, and the throughput of a whole block, are no steps. NVIDIA's callbacks print
``Step 19 train_step_timing 1.93 timestamp: …`` besides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "mllog"
GATES = (":::MLLOG", " train_step_timing ")

_KEY = re.compile(r'"key":\s*"(?P<key>tracked_stats|train_loss)"')
_TIME = re.compile(r'"train_step_tim(?:e|ing)(?: in s)?":\s*(?P<time>[\d.eE+-]+)')
_LOSS = re.compile(r'"(?:(?:reduced_)?train_)?loss":\s*(?P<loss>[-+\d.eE]+|NaN|-?Infinity)')
_VALUE = re.compile(r'"value":\s*(?P<loss>[-+\d.eE]+|NaN|-?Infinity)')
_STEP = re.compile(r'"(?P<what>step|step_num|samples_count)":\s*(?P<step>\d{1,15})')
_PRINTED = re.compile(r"\bStep (?P<step>\d{1,12}) train_step_timing (?P<time>[\d.eE+-]+)")


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    if (printed := _PRINTED.search(text)) is not None:
        yield Reading(format=FORMAT, step=count(printed["step"]), time_s=duration_s(number(printed["time"])))
        return
    if ":::MLLOG" not in text:
        return
    key = _KEY.search(text)
    step = _STEP.search(text) if key else None
    time = _TIME.search(text) if key else None
    loss = (_VALUE if key["key"] == "train_loss" else _LOSS).search(text) if key else None
    if step is None or (time is None and loss is None):
        yield NO_STEP
        return
    yield Reading(
        format=f"{FORMAT}-steps" if step["what"] == "step_num" else FORMAT,
        step=count(step["step"]),
        time_s=duration_s(number(time["time"])) if time else None,
        loss=number(loss["loss"]) if loss else None,
    )
