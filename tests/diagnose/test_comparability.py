"""Which jobs can be held against each other, and what is said of those that cannot: why, and what would help."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import pytest

from monitor.archive.comparison import comparison_document
from monitor.diagnose.comparison.comparability import is_batch
from monitor.diagnose.comparison.compare import compare
from monitor.model import Parameter, Report, events_frame, steps_frame
from tests.builders import nodes_of, report, steps

CPU, GPU = nodes_of(1, "ml.c5.4xlarge", 0), nodes_of(2)
Make = Callable[[], Report]
SCRIPT = {"sagemaker_program": "train.py"}


def job(
    name: str,
    step_s: float = 2.0,
    given: Mapping[str, Any] | None = None,
    hyperparameters: Mapping[str, str] | None = None,
    formats: tuple[str, ...] = ("key-value",),
    unit: str = "",
    parameters: float | None = None,
    count: int = 300,
    **others: Any,
) -> Report:
    """A run of no library: what its configuration, its script and its log say of the work of a step."""
    frame = steps(["algo-1"], count, step_s)
    if unit:
        frame = steps_frame(frame.assign(throughput=64 / frame["step_time_s"], throughput_unit=unit))
    made = report(
        name,
        step_frame=frame,
        configuration={key: Parameter(value, "hyperparameters") for key, value in (given or {}).items()},
        **{"nodes": GPU, **others},
    )
    events = made.run.events
    if parameters is not None:
        row = (None, "algo-1", 0, "model-size", f"parameters={parameters:.0f}", "algo-1", 1)
        columns = ("timestamp", "node", "rank", "kind", "text", "stream", "line")
        events = events_frame(pd.DataFrame([row], columns=columns))
    run = replace(
        made.run,
        events=events,
        job=replace(made.job, hyperparameters=dict(hyperparameters or {}), smp_version=None),
    )
    return replace(made, run=run, steps=None if made.steps is None else replace(made.steps, formats=formats))


def made(*given: Any, **named: Any) -> Make:
    """The job, for the test that wants it."""
    return partial(job, *given, **named)


LLM = {"num_layers": 24, "hidden_size": 2048, "train_batch_size": 8, "seq_length": 2048}


@pytest.mark.parametrize(
    ("a", "b", "why", "remedy"),
    [
        (
            made("a", 4.4, {"batch_size": 8192, "lr": 0.1}, nodes=CPU),
            made("b", 1.3, LLM, formats=("smp-v1",), status="Failed"),
            "A ran on CPUs (1 x ml.c5.4xlarge), B on GPUs (2 x ml.p4d.24xlarge), and nothing shows that both train the same",
            "name or shape as a hyperparameter",
        ),
        (
            made("a", given=LLM),
            made("b", given={**LLM, "num_layers": 48}),
            "A and B train different models (layers 24 and 48).",
            "two runs of one model",
        ),
        (
            made("a", given={"model_name": "bert-base", "batch_size": 8}),
            made("b", given={"model_name_or_path": "bert-large", "batch_size": 8}),
            "A and B train different models (model bert-base and bert-large).",
            "one model",
        ),
        (made("a", parameters=1.2e9), made("b", parameters=6.7e9), "models of different size (1.2 billion and 6.7 billion", ""),
        (
            made("a", given={"model": "vit", "image_size": 224, "batch_size": 8}),
            made("b", given={"model": "vit", "image_size": 384, "batch_size": 8}),
            "Samples of A and B differ (image_size 224 and 384).",
            "samples of one size",
        ),
        (
            made("a", given={"lr": 1}, hyperparameters={"sagemaker_program": "src/train.py"}),
            made("b", given={"lr": 1}, hyperparameters={"sagemaker_program": "mnist.py"}),
            "A runs train.py, B runs mnist.py, and nothing shows",
            "one model",
        ),
        (
            made("a", formats=("hf-trainer",)),
            made("b", formats=("tqdm",)),
            "A's steps are read as hf-trainer, B's as tqdm, and nothing else shows",
            "Print the samples per step",
        ),
        (
            made("a", given={"num_layers": 24, "lr": 1}),
            made("b", given={"lr": 1}),
            "layers is known for A only",
            "Give layers as a hyperparameter of both jobs.",
        ),
        (
            made("a", given={"my_batch": 8}, hyperparameters=SCRIPT),
            made("b", given={"my_batch": 16}, hyperparameters=SCRIPT),
            "more or fewer samples than those of A (my_batch 8 and 16); their number is not known.",
            "Print the samples per step",
        ),
        (
            made("a", given={"my_batch": 8, "lr": 1}, hyperparameters=SCRIPT),
            made("b", given={"lr": 1}, hyperparameters=SCRIPT),
            "(my_batch 8 and not given)",
            "",
        ),
        (
            made("a", given={"lr": 1}, hyperparameters=SCRIPT),
            made("b", given={"lr": 1}, hyperparameters=SCRIPT, nodes=nodes_of(4)),
            "(instance_count 2 and 4)",
            "",
        ),
        (made("a", given={**LLM, "seq_length": None}), made("b", given=LLM), "(seq_length not given and 2048)", ""),
        (made("a", unit="tokens/s"), made("b", unit="samples/s"), "their number is not known", ""),
        (made("a"), made("b", count=6, status="Failed"), "For B, fewer than 8 reports", "number and the time of each step"),
        (made("a"), made("b", count=6, status="InProgress"), "For B, fewer than 8 reports", "when B has done more steps"),
    ],
)  # fmt: skip
def test_what_is_no_comparison_says_why_and_what_would_be_one(a: Make, b: Make, why: str, remedy: str) -> None:
    one, other = a(), b()
    for first, second in ((one, other), (other, one)):
        found = compare([first, second]).against[0]
        assert found.answer == "not comparable", found
        assert found.unlike is not None
        assert (found.verdict, found.judged_pct, found.for_same_samples_pct) == ("cannot tell", None, None)
        assert found.unlike.why.endswith(".")
        assert found.unlike.remedy.endswith(".")
        if first is one:
            assert why in found.unlike.why
            assert remedy in found.unlike.remedy


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (made("a"), made("b", 1.8)),  # log files of which nothing is known
        (made("a", given=LLM), made("b", 1.8, {**LLM, "flash_attention": True})),
        (made("a", given=LLM), made("b", 1.8, {**LLM, "vocab_size": 50304})),
        (made("a", given=LLM), made("b", 1.8, {**LLM, "eval_batch_size": 64})),
        (made("a", given=LLM), made("b", 1.8, LLM, nodes=nodes_of(2, "ml.p5.48xlarge"))),
        # A new script of the same model, and a smoke test of one script on CPUs.
        (
            made("a", given=LLM, hyperparameters=SCRIPT),
            made("b", 1.8, LLM, hyperparameters={"sagemaker_program": "train_fast.py"}, formats=("hf-trainer",)),
        ),
        (
            made("a", given={"batch_size": 64, "lr": 1}, hyperparameters=SCRIPT, nodes=CPU),
            made("b", 1.8, {"batch_size": 64, "lr": 1}, hyperparameters=SCRIPT, nodes=nodes_of(1)),
        ),
        # A checkpoint's place is no other model.
        (
            made("a", given={"model_name_or_path": "/opt/ml/run-1/checkpoint-500", "batch_size": 8}),
            made("b", 1.8, {"model_name_or_path": "/opt/ml/run-2/checkpoint-900", "batch_size": 8}),
        ),
        (made("a", parameters=1.2e9), made("b", 1.8, parameters=1.21e9, formats=("hf-trainer", "key-value"))),
    ],
)
def test_one_knob_leaves_jobs_comparable(a: Make, b: Make) -> None:
    one, other = a(), b()
    found = compare([one, other]).against[0]
    assert (found.unlike, found.verdict) == (None, "faster")
    assert compare([other, one]).against[0].verdict == "slower"


def test_for_programs_the_verdict_keeps_its_three_values() -> None:
    told = comparison_document(compare([job("a", given=LLM), job("b", 1.3, {**LLM, "num_layers": 48})]))
    assert told["verdict"] == "cannot tell"
    assert told["comparable"] is False
    assert told["step_time_change_percent"] is None
    assert told["why_not"] == told["reason"] == "A and B train different models (layers 24 and 48)."
    assert told["would_make_comparable"] == "Compare two runs of one model."
    assert told["compared_by"] is told["steps_compared"] is told["more_steps"] is None
    assert told["prediction"]["outcome"] is told["prediction"]["held"] is None
    same = comparison_document(compare([job("a"), job("b", 1.3)]))
    assert (same["comparable"], same["why_not"], same["verdict"]) == (True, None, "faster")


@pytest.mark.parametrize(
    ("name", "bears"),
    [
        ("batch_size", True), ("per-device-train-batch-size", True), ("grad_accum_steps", True),
        ("gradient_accumulation_steps", True), ("max_length", True), ("per_device_eval_batch_size", False),
        ("active_microbatches", False), ("batch_norm", False), ("val_batch_size", False), ("data.batch_size", True),
        ("mbs", True), ("bsz", True), ("obs", False),
    ],
)  # fmt: skip
def test_which_parameters_say_how_much_is_in_a_step(name: str, bears: bool) -> None:
    assert is_batch(name) == bears
