"""NeMo 2 and what is built on it (BioNeMo, the recipes of SageMaker HyperPod).

``Training epoch 0, iteration 9/99 | lr: 3e-04 | global_batch_size: 512 | global_step: 9 | reduced_train_loss: 10.2 |
train_step_timing in s: 7.56 | consumed_samples: 5120``: means over the log interval, in any order, with four digits.
The iteration counts within an epoch and from 0, the number behind the slash is the last iteration of the plan.
``Validation: iteration 3/32`` is an evaluation; val_loss stays on the line of each later step. NeMo 1 draws a bar,
with "=" in place of ":"; Megatron-Bridge prints Megatron's line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading
from monitor.parse.said import Said

FORMAT = "nemo"
GATES = ("reduced_train_loss: ", "train_step_timing in s: ", "Validation: iteration ", "Testing: iteration ")

_ITERATION = re.compile(r"\bTraining epoch \d{1,9}, iteration (?P<step>\d{1,12})/(?P<last>\d{1,12})")
_EVALUATION = re.compile(r"\b(?:Validation|Testing): iteration \d")
_FIELD = re.compile(
    r"\b(global_step|reduced_train_loss|train_step_timing in s|tokens_per_sec_per_gpu|TFLOPS_per_GPU): "
    r"(-?[\d.]+(?:[eE][-+]?\d+)?|nan|inf)"
)
_VALUE = r"(?:-?[\d.]+(?:[eE][-+]?\d+)?|nan|inf)"
INSIGHTS = (
    Said(
        FORMAT,
        (
            re.compile(r"\bglobal_step: (?P<step>\d{1,12})\b"),
            re.compile(rf"\btrain_step_timing in s: (?P<time>{_VALUE})"),
            re.compile(rf"\breduced_train_loss: (?P<loss>{_VALUE})"),
        ),
        rates=(
            ("tokens/s/GPU", re.compile(rf"\btokens_per_sec_per_gpu: (?P<rate>{_VALUE})")),
            ("TFLOP/s/GPU", re.compile(rf"\bTFLOPS_per_GPU: (?P<rate>{_VALUE})")),
        ),
    ),
)


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    iteration = _ITERATION.search(text)
    fields = dict(_FIELD.findall(text))
    step = count(fields.get("global_step"))
    if iteration is not None and step is None:
        step = count(iteration["step"])
    if step is None:
        if _EVALUATION.search(text):
            yield NO_STEP
        return
    last = count(iteration["last"]) if iteration else None
    unit, rate = "tokens/s/GPU", number(fields.get("tokens_per_sec_per_gpu"))
    if rate is None:
        unit, rate = "TFLOP/s/GPU", number(fields.get("TFLOPS_per_GPU"))
    yield Reading(
        format=FORMAT,
        step=step,
        total=None if last is None else last + 1,
        time_s=duration_s(number(fields.get("train_step_timing in s"))),
        meaning="interval",
        throughput=rate,
        throughput_unit="" if rate is None else unit,
        loss=number(fields.get("reduced_train_loss")),
    )
