"""NeMo 2 and what is built on it (BioNeMo, the recipes of SageMaker HyperPod).

``Training epoch 0, iteration 9/99 | lr: 3e-04 | global_batch_size: 512 | global_step: 9 | reduced_train_loss: 10.2 |
train_step_timing in s: 7.56 | consumed_samples: 5120``: means over the log interval, in any order, with four digits.
The iteration counts within an epoch and from 0, the number behind the slash is the last iteration of the plan.
``Validation: iteration 3/32`` is an evaluation; val_loss stays on the line of each later step. NeMo 1 draws a bar,
with "=" in place of ":"; Megatron-Bridge prints Megatron's line.
"""

from monitor.parse.family import Line, no_step

GATES = ("reduced_train_loss: ", "train_step_timing in s: ", "Validation: iteration ", "Testing: iteration ")
_ITERATION = r"\bTraining epoch \d{1,9}, iteration %s/<last>"
_FIGURES = (r"\btrain_step_timing in s: <s>", r"\breduced_train_loss: <loss>")
_RATES = (("tokens/s/GPU", r"\btokens_per_sec_per_gpu: <rate>"), ("TFLOP/s/GPU", r"\bTFLOPS_per_GPU: <rate>"))
LINES = (
    Line(
        "nemo",
        r"\bglobal_step: <step>\b",
        (_ITERATION % r"\d{1,12}", *_FIGURES),
        _RATES,
        meaning="interval",
        anywhere=True,
    ),
    Line("nemo", _ITERATION % "<step>", _FIGURES, _RATES, meaning="interval", anywhere=True),
    no_step(r"\b(?:Validation|Testing): iteration \d"),
)
