"""LitGPT, its predecessors and its offspring (TinyLlama), finetuning and pretraining.

``Epoch 1 | iter 40 step 40 | loss train: 1.6, val: n/a | iter time: 250.10 ms (step) remaining time: 2:03:10``: the time
is of one iteration, that is of one micro-batch. An optimizer step ended only where ``(step)`` stands behind it (once
``(opt.step)``, before that ``(optimizer.step)``): only these lines are steps, the others parts of the next. Where a
step has several (``iter 40 step 10``) its time is the sum of theirs, known where all of them are printed: they are not
equally long, and without a synchronization the last one waits for all of them.
"""

from monitor.parse.family import Line, no_step

GATES = ("iter time:", "train time:", "val time:")
_TIME = r"(?:(?!iter time|train time)[^\n]){0,300}"
LINES = (
    Line(
        "litgpt",
        rf"\biter <counter>(?: \|)? st[eE]p <step>\b(?P<rest>{_TIME})\b(?:iter|train) time:\s*<time>"
        r",?\s*\((?:step|opt\.step|optimizer\.step)\)",
        more=(r"\bloss(?: train)?(?: \(curr\))?:? <loss>",),
    ),
    Line(
        "litgpt",
        rf"\biter <counter>(?: \|)? st[eE]p \d{{1,12}}\b{_TIME}\b(?:iter|train) time:\s*<time>",
        meaning="part",
    ),
    no_step(r"\b(?:iter|step) \d{1,12}: val loss "),
)
