"""LitGPT, its predecessors and its offspring (TinyLlama), finetuning and pretraining.

``Epoch 1 | iter 40 step 40 | loss train: 1.6, val: n/a | iter time: 250.10 ms (step) remaining time: 2:03:10``: the time
is of one iteration, that is of one micro-batch. An optimizer step ended only where ``(step)`` stands behind it (once
``(opt.step)``, before that ``(optimizer.step)``): only these lines are steps, the others parts of the next. Where a
step has several (``iter 40 step 10``) its time is the sum of theirs, known where all of them are printed: they are not
equally long, and without a synchronization the last one waits for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "litgpt"
GATES = ("iter time:", "train time:", "val time:")

_LINE = re.compile(
    r"\biter (?P<iter>\d{1,12})(?: \|)? st[eE]p (?P<step>\d{1,12})\b(?P<between>[^\n]{0,300}?)\b(?:iter|train) time:\s*"
    r"(?P<time>[\d.]+)\s*(?P<unit>ms|s)\b(?P<ended>,?\s*\((?:step|opt\.step|optimizer\.step)\))?"
)
_VALIDATION = re.compile(r"\b(?:iter|step) \d{1,12}: val loss ")
_LOSS = re.compile(r"\bloss(?: train)?(?: \(curr\))?:? (?P<loss>[-+\d.eEnainf]+)")


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``: of an optimizer step, or of a micro-batch as a part of one."""
    match = _LINE.search(text)
    if match is None:
        if _VALIDATION.search(text):
            yield NO_STEP
        return
    iterations, time = count(match["iter"]), number(match["time"])
    time_s = None if time is None else duration_s(time * (0.001 if match["unit"] == "ms" else 1.0))
    if match["ended"] is None:
        yield Reading(format=FORMAT, time_s=time_s, meaning="part", counter=iterations)
        return
    loss = _LOSS.search(match["between"])
    yield Reading(
        format=FORMAT,
        step=count(match["step"]),
        time_s=time_s,
        loss=number(loss["loss"]) if loss else None,
        counter=iterations,
    )
