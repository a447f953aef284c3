"""Two jobs side by side: what differs, what is compared, what was predicted, and what is said where nothing can be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from monitor.diagnose.comparison.comparability import comparable, differences, is_own
from monitor.diagnose.comparison.compare import Comparison, compare, pairs_of
from monitor.diagnose.comparison.words import prediction_words, verdict_words
from monitor.model import Cost, Finding, Node, Parameter, Prediction, Recommendation, Report, steps_frame
from tests.builders import START, nodes_of, report, steps

SMP1 = {
    "pipeline_parallel_degree": 2,
    "tensor_parallel_degree": 8,
    "microbatches": 4,
    "active_microbatches": 4,
    "prescaled_batch": True,
    "train_batch_size": 48,
    "optimize": "speed",
}


def job(
    name: str = "run-1",
    step_s: float = 2.0,
    changes: Mapping[str, Any] | None = None,
    count: int = 300,
    nodes: tuple[Node, ...] | None = None,
    **others: Any,
) -> Report:
    values = {name: value for name, value in {**SMP1, **(changes or {})}.items() if value is not None}
    configuration = {name: Parameter(value, "mp_parameters") for name, value in values.items() if name in _LIBRARY}
    configuration |= {n: Parameter(value, "hyperparameters") for n, value in values.items() if n not in _LIBRARY}
    made = report(
        name,
        step_frame=steps(["algo-1"], count, step_s),
        nodes=nodes_of(4) if nodes is None else nodes,
        cost=Cost(100.0, 10.0, 25.25, "settings file"),
        configuration=configuration,
        **others,
    )
    return replace(made, goodput=0.9)


_LIBRARY = {*SMP1, "partitions"} - {"train_batch_size"}


def said(found: Comparison, place: int = 1) -> str:
    result, first, other = found.against[place - 1], found.figures[0], found.figures[place]
    return " ".join([verdict_words(result, "B", (first.step_s, other.step_s)), *prediction_words(result)])


def test_the_verdict_is_by_step_where_steps_do_the_same() -> None:
    found = compare([job(), job("run-2", 1.8)])
    result = found.against[0]
    assert result.verdict == "faster"
    assert result.step_pct is not None
    assert result.step_pct[1] == pytest.approx(-10, abs=0.5)
    assert result.work_pct is None
    assert result.judged_pct == result.step_pct
    assert "B takes 10.0 % less time a step (" in said(found)
    assert "1.80 s, not 2.00 s" in said(found)
    assert [figures.usd_per_step for figures in found.figures] == pytest.approx(
        [2.0 * 4 * 25.25 / 3600, 1.8 * 4 * 25.25 / 3600], rel=0.01
    )
    assert found.figures[0].samples_per_step == 48 * 2
    assert found.figures[0].goodput_pct == 90


def test_the_verdict_is_by_sample_where_batches_differ() -> None:
    found = compare([job(), job("run-2", 3.6, {"microbatches": 8, "train_batch_size": 96})])
    result = found.against[0]
    assert result.step_pct is not None
    assert result.work_pct is not None
    assert result.step_pct[1] == pytest.approx(80, abs=1)
    assert result.work_pct[1] == pytest.approx(-10, abs=0.5)
    assert result.verdict == "faster"
    assert "%): its steps have 2 x the samples and take 3.60 s, not 2.00 s" in said(found)
    assert "Predicted step time for the same samples -10.0 %" in said(found)
    assert result.came == "held"


def test_longer_sequences_are_compared_by_token() -> None:
    shape = {"sequence_length": 1024}
    found = compare([job(changes=shape), job("run-2", 4.4, {"sequence_length": 2048})])
    result = found.against[0]
    assert result.work is not None
    assert result.work.unit == "token"
    assert result.verdict == "slower"
    assert result.judged_pct is not None
    assert result.judged_pct[1] == pytest.approx(10, abs=0.5)
    assert result.for_same_samples_pct == result.step_pct


def test_an_unknown_number_of_samples_is_no_comparison() -> None:
    unknown = {"train_batch_size": None, "prescaled_batch": None, "tensor_parallel_degree": None, "microbatches": 8}
    found = compare([job(changes=unknown), job("run-2", changes={**unknown, "microbatches": 16})])
    result = found.against[0]
    assert (result.verdict, result.answer, result.judged_pct) == ("cannot tell", "not comparable", None)
    assert said(found).startswith(
        "Not comparable: steps of B may have more or fewer samples than those of A (microbatches 8 and 16); their "
        "number is not known. Print the samples per step"
    )


def test_what_differs_is_what_was_set_differently() -> None:
    one = {"lr": 0.1, "output_dir": "s3://bucket/run-1", "data": "s3://in/run-1/x", "flag": "true", "job_name": "a"}
    two = {"lr": 0.1, "output_dir": "s3://bucket/run-2", "data": "s3://in/run-2/x", "flag": 1, "seed": 7}
    a = job("run-1", changes={**one, "api_key": "***"})
    b = job("run-2", changes={**two, "microbatches": 8, "api_key": "***"}, nodes=nodes_of(2))
    assert [(each.parameter, each.values) for each in differences([a.job, b.job])] == [
        ("instance_count", (4, 2)),
        ("microbatches", (4, 8)),
        ("seed", (None, 7)),
    ]


def test_a_parameter_by_its_other_name_and_a_default_are_no_difference() -> None:
    a = job(changes={"pipeline_parallel_degree": None, "partitions": 2})
    b = job("run-2", changes={"shard_optimizer_state": False})
    assert differences([a.job, b.job]) == ()
    other = report("run-3", configuration={"lr": Parameter(1, "hyperparameters")})
    other = replace(other, run=replace(other.run, job=replace(other.job, smp_version=None)))
    names = [each.parameter for each in differences([a.job, other.job])]
    assert "pipeline_parallel_degree" in names
    assert "auto_partition" not in names  # what one library takes by default, the other does not know


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("output_dir", True), ("--checkpoint-dir", True), ("run_name", True), ("WANDB_RUN_ID", True), ("region", True),
        ("wandb_group", True), ("ddp_port", True), ("trainer.log_dir", True), ("model_name_or_path", False),
        ("train_dir", False), ("model_name", False), ("logging_steps", False), ("num_workers", False),
    ],
)  # fmt: skip
def test_what_is_a_runs_own(name: str, own: bool) -> None:
    assert is_own(name) == own


@pytest.mark.parametrize(
    ("a", "b"), [(8, "8"), (8.0, 8), (True, "true"), ("1", 1.0), ("no", False), ([1, 2], ["1", 2.0])]
)
def test_values_that_say_the_same(a: Any, b: Any) -> None:
    assert comparable(a) == comparable(b)


def test_advice_that_was_followed_is_named_with_what_it_predicted() -> None:
    advice = Finding(
        "raise-active-microbatches",
        "warning",
        "medium",
        "The window is small",
        "The window is small.",
        recommendation=Recommendation("Raise it.", "active_microbatches", 1, 4),
        prediction=Prediction((-40.0, -35.0, -30.0)),
    )
    a = job(changes={"active_microbatches": 1}, findings=(advice,))
    found = compare([a, job("run-2", 1.3, {"active_microbatches": 4})])
    told = found.against[0].predicted
    assert [(each.finding, each.from_value, each.to_value) for each in told.followed] == [
        ("raise-active-microbatches", 1, 4)
    ]
    assert "Follows the advice of raise-active-microbatches: active_microbatches 1 → 4" in said(found)
    assert told.change_pct is not None
    (pair,) = pairs_of(found, START)
    assert pair.findings == ("raise-active-microbatches",)
    assert pair.changed == {"active_microbatches": ("1", "4")}
    # Nobody followed it in a job that has another value.
    assert compare([a, job("run-3", changes={"active_microbatches": 2})]).against[0].predicted.followed == ()


def test_what_the_model_does_not_know_is_named_and_nothing_is_predicted_of_nothing() -> None:
    found = compare([job(), job("run-2", 1.5, {"num_workers": 8})])
    told = found.against[0].predicted
    assert told.change_pct is None
    assert told.beyond == ("num_workers",)
    assert pairs_of(found, START) == ()
    both = compare([job(), job("run-2", 1.5, {"num_workers": 8, "microbatches": 8})])
    assert both.against[0].predicted.change_pct is not None
    assert "It leaves out num_workers." in said(both)
    unknown = compare([job(), job("run-2", changes={"tensor_parallel_degree": 4})])
    assert unknown.against[0].predicted.change_pct is None
    assert "No prediction: " in said(unknown)


def test_a_pair_is_of_jobs_that_are_over_and_goes_forward_in_time() -> None:
    a, b = job(), job("run-2", 1.8, {"microbatches": 8}, start=START + timedelta(hours=2))
    assert len(pairs_of(compare([a, b]), START)) == 1
    assert pairs_of(compare([b, a]), START) == ()
    assert pairs_of(compare([a, job("run-2", 1.8, {"microbatches": 8}, status="InProgress")]), START) == ()
    files = replace(b, run=replace(b.run, job=replace(b.job, source="logs")))
    assert pairs_of(compare([a, files]), START) == ()


def test_a_pair_holds_no_value_of_a_script() -> None:
    secret = {"microbatches": 8, "hf_token": "hf_abcdefghijklmnop", "precision": "AKIAIOSFODNN7EXAMPLE1234567"}
    (pair,) = pairs_of(compare([job(), job("run-2", 1.8, secret)]), START) or (None,)
    assert pair is None or "AKIA" not in str(pair)
    (pair,) = pairs_of(compare([job(), job("run-2", 1.8, {**secret, "precision": None})]), START)
    assert "hf_" not in str(pair)
    assert set(pair.changed) == {"microbatches"}


def test_scaling_is_against_the_fewest_nodes() -> None:
    large = job(nodes=nodes_of(8))
    small = job("run-2", 2.2, nodes=nodes_of(4))
    found = compare([large, small, job("run-3", 2.0, nodes=nodes_of(2))])
    # One step has as many samples a node everywhere; 2.0 s on two nodes is the reference.
    assert [figures.scaling_pct for figures in found.figures] == pytest.approx([100, 91, 100], abs=1)
    other = job("run-4", nodes=nodes_of(2, "ml.p5.48xlarge"))
    assert [figures.scaling_pct for figures in compare([large, other]).figures] == [None, None]
    assert [figures.scaling_pct for figures in compare([large, large]).figures] == [None, None]


def test_a_running_job_is_compared_and_said_to_be_running() -> None:
    found = compare([job(), job("run-2", 1.8, status="InProgress")])
    assert found.against[0].verdict == "faster"
    assert "B is still running: its figures are those so far." in found.notes


def test_the_same_job_twice_cannot_be_told() -> None:
    found = compare([job(), job()])
    assert found.against[0].verdict == "cannot tell"
    assert said(found).startswith("Cannot tell: both are the same job.")
    assert found.different == ()


def test_a_job_without_steps_says_which_and_why() -> None:
    empty = report("run-2", step_frame=steps_frame())
    result = compare([job(), empty]).against[0]
    assert (result.verdict, result.step_pct) == ("cannot tell", None)
    assert result.reason == "For B, no numbered steps were recognized."


def test_times_of_lines_that_say_the_opposite_of_the_printed_ones_leave_it_open() -> None:
    fast = job("run-2", 1.8)
    rows = fast.run.steps.copy()
    rows["timestamp"] = rows["timestamp"].iloc[0] + (rows["timestamp"] - rows["timestamp"].iloc[0]) * 1.5
    found = compare([job(), replace(fast, run=replace(fast.run, steps=steps_frame(rows)))])
    assert found.against[0].verdict == "cannot tell"
    assert "times of the lines" in found.against[0].reason
    milder = rows.assign(timestamp=rows["timestamp"].iloc[0] + (rows["timestamp"] - rows["timestamp"].iloc[0]) * 0.5)
    found = compare([job(), replace(fast, run=replace(fast.run, steps=steps_frame(milder)))])
    assert found.against[0].verdict == "faster"
    assert any("By the times of the log lines" in note for note in found.notes)


def test_a_difference_too_small_to_see_says_what_would_help() -> None:
    rough = [
        replace(each, run=replace(each.run, steps=_rougher(each.run.steps, seed)))
        for seed, each in enumerate((job(count=40), job("run-2", 2.03, count=40)))
    ]
    found = compare(rough)
    assert found.against[0].verdict == "cannot tell"
    assert "more steps of each would" in said(found)
    near = compare([job(), job("run-2", 2.002)])
    assert "two runs of one configuration differ by as much" in said(near)


def _rougher(rows: Any, seed: int) -> Any:
    noise = np.exp(np.random.default_rng(seed).normal(0, 0.06, len(rows)))
    return steps_frame(
        rows.assign(step_time_s=rows["step_time_s"] * noise, timestamp=rows["timestamp"].where(rows["step"] < 0))
    )
