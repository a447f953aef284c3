"""NVIDIA's DLLogger (DeepLearningExamples).

``DLL 2024-05-06 10:00:00.123456 - Training Epoch: 0 Training Iteration: 150  step_loss : 6.9  learning_rate : 1e-4``; other
examples write the step as ``Epoch: 0 Iteration: 150``, as ``(0, 150)`` or as ``epoch 1 | iter 15/48 | loss 38.1 | … | took
1.2 s``. Which metrics follow is the example's choice: the time of an iteration and the rate are taken where they are
named so. "Training Iteration" is the global step, the others count within an epoch. A step of three numbers, or with
"Validation Iteration", is a validation; ``PARAMETER``, ``Summary:``, an epoch alone or ``()`` are no steps. The JSON
lines, ``DLLL {…}``, have a clock beside the metrics.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "dllogger"
GATES = ("DLL 20", "DLLL {")

_HEAD = re.compile(
    r"\bDLL 20[\d:. -]{10,30} - (?:"
    r"Training Epoch: \d{1,9} Training Iteration: (?P<global>\d{1,12})\b(?! +Validation)"
    r"|Epoch: (?P<epoch>\d{1,9}) Iteration: (?P<step>\d{1,12})\b(?! +Validation)"
    r"|\((?P<epoch2>\d{1,9}), (?P<step2>\d{1,12})\)"
    r"|epoch +(?P<epoch3>\d{1,9}) \| iter +(?P<step3>\d{1,12})/ *\d{1,12} \|)"
)
_JSON_HEAD = re.compile(
    r'\bDLLL \{[^\n{}]{0,200}"elapsedtime": "(?P<clock>[\d.]+)", "type": "LOG", '
    r'"step": \[(?P<epoch>\d{1,9}), (?P<step>\d{1,12})\]'
)
_ANY = re.compile(r"\bDLL 20[\d:. -]{10,30} - |\bDLLL \{")
_LOSSES = ("step_loss", "train.loss", "train_loss", "loss")
_TIMES = ("train_iter_time", "iter_time", "took")
_RATES = {"train.total_ips": "images/s", "train_items_per_sec": "items/s", "throughput_train": "samples/s"}
_METRIC = re.compile(
    rf"(?<![\w.])({'|'.join(re.escape(name) for name in (*_LOSSES, *_TIMES, *_RATES))})"
    r'(?: : |": | )(-?[\d.]+(?:[eE][-+]?\d+)?|-?nan|NaN|inf)'
)


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    head = _HEAD.search(text)
    clock = None
    if head is not None:
        epoch = count(head["epoch"] or head["epoch2"] or head["epoch3"])
        step = count(head["global"] or head["step"] or head["step2"] or head["step3"])
    elif (head := _JSON_HEAD.search(text)) is not None:
        epoch, step, clock = count(head["epoch"]), count(head["step"]), number(head["clock"])
    else:
        if _ANY.search(text):
            yield NO_STEP
        return
    metrics: dict[str, float | None] = {}
    for name, value in _METRIC.findall(text, head.end()):
        # The first of a name: "loss 38.1 | mel loss 31.2".
        metrics.setdefault(name, number(value))
    time_s = next((metrics[name] for name in _TIMES if name in metrics), None)
    loss = next((metrics[name] for name in _LOSSES if name in metrics), None)
    rate = next((name for name in _RATES if metrics.get(name) is not None), None)
    if time_s is None and loss is None and rate is None:
        yield NO_STEP
        return
    yield Reading(
        format=FORMAT,
        step=step,
        epoch=epoch,
        time_s=duration_s(time_s),
        clock_s=clock if time_s is None else None,
        throughput=metrics[rate] if rate else None,
        throughput_unit=_RATES[rate] if rate else "",
        loss=loss,
    )
