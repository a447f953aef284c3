"""The learning rate that a line prints beside its step is kept, whoever wrote the line."""

from __future__ import annotations

import pytest

from monitor.parse.fields.learning import rate_of
from tests.parse.read import parse

PRINTED = {
    "lr: 1.5e-4": 1.5e-4,
    "| learning rate: 1.500E-04 | global batch size: 8 |": 1.5e-4,
    '{"step": 3, "learning_rate": 5e-05}': 5e-5,
    "{'loss': 2.1, 'learning_rate': 5e-05, 'epoch': 1.0}": 5e-5,
    "step=20, skipped=0, lr=[0.001, 0.002], mom=[0.9]": 1e-3,
    "[epoch:  2, iter:  12,300, lr:(1.000e-04,)]": 1e-4,
    "step 7 train/lr 3e-4": 3e-4,
    "lr(Cosine): 0.05, CELoss: 6.9": 0.05,
    "LR: 1.000e-02": 0.01,
    "lr='0.001'": 1e-3,
    "base_lr: 3 | lr 5.00 |": 5.0,
    "lr: 0": 0.0,
    "lr: 0.1%": None,
    "base_lr: 3": None,
    "warmup-lr: 3": None,
    "lr_scale: 3": None,
    "already 3": None,
    "learning rate decayed to 0.1": None,
    "": None,
}


@pytest.mark.parametrize(("text", "rate"), PRINTED.items())
def test_a_learning_rate_is_read_however_it_is_set(text: str, rate: float | None) -> None:
    assert rate_of(text) == rate


LOGS = {
    "key-value": [f"step={step} step_time_s=0.50 loss=2.{step} lr={step}e-05" for step in range(1, 5)],
    "json": [f'{{"step": {step}, "step_time_s": 0.5, "learning_rate": {step}e-05}}' for step in range(1, 5)],
    "megatron": [
        f" iteration {step:8d}/     500 | elapsed time per iteration (ms): 123.4 | learning rate: {step}.000E-05 | "
        "global batch size:     8 | lm loss: 4.1E+00 |"
        for step in range(1, 5)
    ],
    "hf-trainer": [
        f"{{'loss': 2.{step}, 'learning_rate': {step}e-05, 'epoch': {step / 10}, 'step_time': 0.5}}"
        for step in range(1, 5)
    ],
}


@pytest.mark.parametrize("lines", LOGS.values(), ids=LOGS)
def test_it_stands_in_the_frame_beside_its_step(lines: list[str]) -> None:
    steps = parse(lines).steps
    assert steps["learning_rate"].tolist() == pytest.approx([1e-5, 2e-5, 3e-5, 4e-5])


def test_a_log_without_one_has_none() -> None:
    assert (
        parse(["step=1 step_time_s=0.5 loss=2.1", "step=2 step_time_s=0.5 loss=2.0"])
        .steps["learning_rate"]
        .isna()
        .all()
    )
