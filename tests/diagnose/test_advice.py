"""What an advice says, that following it makes it silent, and that advices do not contradict each other."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.diagnose.rulebook import diagnose
from monitor.diagnose.verdict import gain_words, judge
from monitor.model import Finding, Parameter, Price, Run
from monitor.predict.outcome import bubble_fraction
from monitor.predict.setup import setup_of
from monitor.review import report
from monitor.words import usd
from tests.builders import metrics
from tests.diagnose import useful_work_cases
from tests.diagnose.advice_cases import EMPTY, FEW, MICS, WINDOW, advised, levels, ran_out
from tests.diagnose.cases import END, fires
from tests.diagnose.failure_cases import out_of_memory
from tests.diagnose.runs import MINUTES
from tests.diagnose.said import said, says

LEVERS = ("raise-active-microbatches", "raise-microbatches", "lower-active-microbatches", "sharding-across-nodes")
# With the other tests of the rule, whose runs these are.
each_lever = pytest.mark.parametrize(
    "id", [pytest.param(id, id=id, marks=pytest.mark.xdist_group(id)) for id in LEVERS]
)


def _finding(run: Run, id: str, price: Price | None = None) -> Finding | None:
    if price is None:
        return says(run, id)
    return next((found for found in diagnose(run, END, price) if found.id == id), None)


def _said(run: Run, id: str) -> Finding:
    found = _finding(run, id)
    assert found is not None
    return found


def _followed(run: Run, finding: Finding) -> Run:
    """The same job after an advice was followed, with the memory that was predicted."""
    advice = finding.recommendation
    assert advice is not None
    assert advice.parameter is not None
    configuration = dict(run.job.configuration)
    changes = {advice.parameter: advice.to_value}
    if advice.parameter == "microbatches":
        window = re.search(r"active_microbatches from \d+ to (\d+)", advice.text)
        batch = re.search(r"the batch from \d+ to (\d+)", advice.text)
        changes |= {"active_microbatches": int(window[1])} if window else {}
        changes |= {"train_batch_size": int(batch[1])} if batch else {}
    for name, value in changes.items():
        written = next((each for each in configuration if each.replace("-", "_") == name), name)
        elsewhere = "mp_parameters" if run.job.smp_version else "hyperparameters"
        place = configuration[written].read_from if written in configuration else elsewhere
        configuration[written] = Parameter(value, place)
    job = replace(run.job, configuration=configuration)
    memory = finding.prediction.gpu_memory_utilization if finding.prediction else None
    gpu = 100 * (1 - (bubble_fraction(setup_of(job)) or 0.1))
    frame = metrics([node.name for node in job.nodes], MINUTES, levels(min(gpu, 95), memory[2] if memory else 50.0))
    return replace(run, job=job, metrics=frame)


@each_lever
def test_following_an_advice_makes_it_silent(id: str) -> None:
    for run in fires(id):
        after = _followed(run, _said(run, id))
        assert not says(after, id)


@each_lever
def test_advice_gains_in_all_of_its_range_and_fits(id: str) -> None:
    for run in fires(id):
        found = _said(run, id)
        if id == "sharding-across-nodes" and found.severity == "info":
            # With NVLink, nothing calibrates a figure.
            assert found.prediction is None
            assert not found.savings
            continue
        assert found.prediction is not None
        low, middle, high = found.prediction.step_time_change_percent
        assert low <= middle <= high
        assert "model-based, not measured" in gain_words(found.prediction)
        assert found.recommendation is not None
        assert found.recommendation.source
        if found.severity == "warning" and id != "lower-active-microbatches":
            assert middle <= -3
            assert high < 0
        if found.prediction.gpu_memory_utilization is not None and id != "lower-active-microbatches":
            assert found.prediction.gpu_memory_utilization[2] < 92


def test_the_window_is_raised_to_the_widest_that_fits() -> None:
    found = _said(advised(EMPTY, WINDOW), "raise-active-microbatches")
    assert found.recommendation is not None
    assert found.prediction is not None
    advice = found.recommendation
    assert (advice.parameter, advice.from_value, advice.to_value) == ("active_microbatches", 2, 4)
    assert found.prediction.step_time_change_percent[1] == pytest.approx(-35.3, abs=0.1)
    memory = found.prediction.gpu_memory_utilization
    assert memory is not None
    # At most all that was measured doubles.
    assert 80 < memory[2] < 92
    assert found.severity == "warning"
    assert found.confidence == "high"


def test_money_is_saved_for_the_same_work_where_a_price_is_known() -> None:
    run = advised(EMPTY, WINDOW)
    priced = _finding(run, "raise-active-microbatches", Price(32.77, "test"))
    assert priced is not None
    assert priced.recommendation is not None
    cost = report(run, END, Price(32.77, "test")).cost
    assert cost.usd is not None
    assert priced.share == pytest.approx(0.353, abs=0.03)
    assert f"would have cost about {usd(cost.usd * priced.share)} less" in priced.recommendation.text
    plain = _said(run, "raise-active-microbatches")
    assert plain.recommendation is not None
    assert "$" not in plain.recommendation.text


def test_the_window_is_the_cause_that_is_named_first_and_alone() -> None:
    ids = [found.id for found in diagnose(advised(EMPTY, WINDOW), END)]
    assert ids[0] == "raise-active-microbatches"
    assert "low-gpu-utilization" not in ids
    verdict = judge(report(advised(EMPTY, WINDOW), END))
    assert verdict.level == "warning"
    assert "-35 %" in verdict.detail


def test_a_bubble_that_does_not_explain_idle_gpus_leaves_the_question_open() -> None:
    ids = [found.id for found in diagnose(advised(levels(30, 40), FEW), END)]
    assert ids.index("raise-microbatches") < ids.index("low-gpu-utilization")
    assert "low-gpu-utilization" not in [found.id for found in diagnose(advised(levels(58, 40), FEW), END)]


@pytest.mark.xdist_group("raise-microbatches")
@pytest.mark.parametrize(
    ("place", "parameter", "to"), [(2, "global_batch_size", 128), (3, "gradient_accumulation_steps", 16)]
)
def test_other_frameworks_are_spoken_to_in_their_own_words(place: int, parameter: str, to: int) -> None:
    advice = _said(fires("raise-microbatches")[place], "raise-microbatches").recommendation
    assert advice is not None
    assert (advice.parameter, advice.to_value) == (parameter, to)
    assert "active_microbatches" not in advice.text


@pytest.mark.xdist_group("sharding-across-nodes")
def test_sharding_is_advised_with_the_words_of_each_library() -> None:
    parameters = [_said(run, "sharding-across-nodes").recommendation for run in fires("sharding-across-nodes")]
    assert [advice.parameter for advice in parameters if advice] == [
        "sharded_data_parallel_degree",
        "hybrid_shard_degree",
        "fsdp",
        "mics_shard_size",
    ]
    severities = [_said(run, "sharding-across-nodes").severity for run in fires("sharding-across-nodes")]
    assert severities == ["warning", "info", "warning", "warning"]


def test_out_of_memory_names_what_fits_with_predicted_memory() -> None:
    shape = {"num_layers": 24, "hidden_width": 2048, "num_heads": 16, "vocab_size": 50_000, "max_context_width": 1024}
    run = ran_out({"ddp": True, "pipeline_parallel_degree": 1, "fp16": True}, {**shape, "train_batch_size": 16})
    found = _said(run, "cuda-out-of-memory")
    assert found.recommendation is not None
    assert (found.recommendation.parameter, found.recommendation.to_value) == ("train_batch_size", 8)
    assert "peak GPU memory ≥ 1" in found.recommendation.text
    assert found.prediction is not None
    memory = found.prediction.gpu_memory_utilization
    assert memory is not None
    assert memory[1] < 100
    unknown = _said(out_of_memory(), "cuda-out-of-memory")
    assert unknown.recommendation is not None


@settings(deadline=None, max_examples=12)
@given(
    st.sampled_from([2, 4, 8]), st.integers(1, 24), st.integers(1, 24), st.floats(5, 98), st.floats(5, 98), st.booleans()
)  # fmt: skip
def test_no_advice_contradicts_another_whatever_the_job(
    p: int, m: int, a: int, gpu: float, memory: float, checkpointed: bool
) -> None:
    library: dict[str, Any] = {
        "ddp": True,
        "pipeline_parallel_degree": p,
        "microbatches": m,
        "active_microbatches": min(a, m),
    }
    run = advised(levels(gpu, memory), library, {"activation_checkpointing": int(checkpointed)})
    found = {id: finding for id in LEVERS if (finding := says(run, id))}
    assert not {"raise-active-microbatches", "lower-active-microbatches"} <= found.keys()
    assert not {"raise-active-microbatches", "raise-microbatches"} <= found.keys()
    for id in ("raise-active-microbatches", "raise-microbatches"):
        if id in found:
            assert not says(_followed(run, found[id]), id)


def test_a_job_that_shards_inside_its_nodes_gets_no_advice() -> None:
    run = advised(levels(92, 75), {**MICS, "sharded_data_parallel_degree": 8})
    assert [found.id for found in diagnose(run, END) if found.severity != "info"] == []


def test_degrees_have_the_names_that_the_launcher_gives_them() -> None:
    degrees = {"tensor-model-parallel-size": 16, "pipeline-model-parallel-size": 2, "micro-batch-size": 1}
    found = {each.id: each for each in said(useful_work_cases.script({**degrees, "global-batch-size": 32}))}
    across = found["tensor-parallel-across-nodes"]
    assert across.recommendation is not None
    assert "tensor-model-parallel-size=16" in across.summary
    assert "Set tensor-model-parallel-size to 8" in across.recommendation.text
    assert "tensor_parallel_degree" not in across.summary + across.recommendation.text
