"""A plan: what is asked, what follows, what is advised, what is said against it, for any values whatever."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.predict.outcome import Point, advised_window
from monitor.predict.parameters import CANONICAL
from monitor.predict.presets import PRESETS, preset
from monitor.review.planning import Plan, plan, plan_document, start_from

PIPELINE: dict[str, Any] = {"pipeline_parallel_degree": 4, "microbatches": 8, "active_microbatches": 2}
KEYS = {"schema", "start", "change", "prediction", "curve", "problems", "distribution"}
PREDICTION = {"step_time_change_percent", "bubble_fraction", "gpu_memory_gib", "fits", "method", "basis"}


def check_form(document: dict[str, Any]) -> None:
    """The contract's form, and numbers that are numbers."""
    assert set(document) == KEYS
    found = document["prediction"]
    assert set(found) == PREDICTION
    change, bubble, memory = (found[name] for name in ("step_time_change_percent", "bubble_fraction", "gpu_memory_gib"))
    assert change is None or (len(change) == 3 and change == sorted(change))
    assert bubble is None or set(bubble) == {"start", "change"}
    for share in bubble.values() if bubble else ():
        assert share is None or 0 <= share < 1
    assert memory is None or set(memory) == {"start", "change", "limit", "components"}
    assert found["fits"] in {"yes", "borderline", "no", "unknown"}
    assert found["basis"] in {"measured", "model"}
    assert "odel-based, not measured" in found["method"]
    for point in document["curve"]:
        assert set(point) == {"parameter", "value", "step_time_relative", "gpu_memory_gib"}
    for problem in document["problems"]:
        assert problem["summary"]
        assert problem["severity"] in {"warning", "info"}
        assert set(problem["recommendation"]) == {"text", "parameter", "from", "to", "source"}
    text = json.dumps(document, allow_nan=False)
    assert all(math.isfinite(number) and number > -1e-9 for number in _figures(document))
    assert json.loads(text) == document


def _figures(document: dict[str, Any]) -> list[float]:
    memory = document["prediction"]["gpu_memory_gib"] or {"components": {}}
    figures = [point[name] for point in document["curve"] for name in ("step_time_relative", "gpu_memory_gib")]
    figures += [*memory["components"].values(), memory.get("start"), memory.get("change"), memory.get("limit")]
    return [each for each in figures if each is not None]


def _of(name: str) -> Any:
    found = preset(name)
    assert found is not None
    return start_from({}, found)


@pytest.mark.parametrize(
    ("start", "change", "low", "middle", "high"),
    [
        # The reference of two stages: full at 2 already.
        (None, {"active_microbatches": 4}, -7, 0, 0),
        (PIPELINE, {"active_microbatches": 4}, -38, -35.3, -28),
        (PIPELINE, {"active_microbatches": 2}, 0, 0, 0),
        ({**PIPELINE, "pipeline_parallel_degree": 1}, {"active_microbatches": 8}, 0, 0, 0),
        ({**PIPELINE, "active_microbatches": 8}, {"active_microbatches": 4}, 0, 0, 16),
    ],
)
def test_a_change_of_the_window(
    start: dict[str, Any] | None, change: dict[str, Any], low: float, middle: float, high: float
) -> None:
    found = plan(_of("gpt2-60b") if start is None else start_from(start), change).step_time_change_pct
    assert found is not None
    assert found[1] == pytest.approx(middle, abs=0.1)
    assert low - 1e-9 <= found[0] <= found[2] <= high + 1e-9


def test_without_a_change_there_is_no_change_of_the_time_and_the_memory_is_the_starts() -> None:
    found = plan(_of("gpt2-30b"), {})
    document = plan_document(found)
    assert document["prediction"]["step_time_change_percent"] is None
    assert document["change"] == {}
    memory = document["prediction"]["gpu_memory_gib"]
    assert memory["change"] == memory["start"] == pytest.approx(33.1, abs=0.1)
    assert memory["limit"] == 40
    assert sum(memory["components"].values()) == pytest.approx(memory["start"])
    assert document["prediction"]["fits"] == "yes"


def test_what_follows_from_a_change_is_in_it() -> None:
    found = plan(
        start_from({"pipeline_parallel_degree": 2, "microbatches": 2}), {"partitions": 4, "num_microbatches": 8}
    )
    assert found.asked == {"pipeline_parallel_degree": 4, "microbatches": 8}
    assert found.changes == {"pipeline_parallel_degree": 4, "microbatches": 8, "active_microbatches": 6}
    other = plan(_of("gpt2-60b"), {"instance_type": "p5.48xlarge", "instance_count": None}).changes
    assert other["instance_type"] == "ml.p5.48xlarge"
    assert other["gpu_memory_gib"] == 80
    assert other["instance_count"] is None


def test_an_instance_type_brings_its_facts_unless_they_are_given() -> None:
    start = start_from({"instance_type": "ml.g4dn.12xlarge", "gpu_memory_gib": 15})
    assert start.gpus_per_node == 4
    assert start.read_from("gpus_per_node") == "the table of instance types"
    assert start.real("gpu_memory_gib") == 15
    assert start.text("interconnect") == "none"
    unknown = plan(start_from({"instance_type": "ml.p99.huge", **PIPELINE}), {})
    assert "instance_type is not known" in [finding.title for finding in unknown.problems]
    no_gpu = plan(start_from({"instance_type": "ml.m5.xlarge", **PIPELINE}), {})
    assert any("has no GPU" in finding.summary for finding in no_gpu.problems)


@pytest.mark.parametrize(
    ("values", "framework"),
    [
        ({}, "smp1"),
        ({"tensor_parallel_degree": 8}, "smp1"),
        ({"tensor_parallel_degree": 8, "ddp": True}, "smp1"),
        ({"batch_size": 8, "layers": 12}, "smp1"),
        ({"hybrid_shard_degree": 8, "tensor_parallel_degree": 2}, "smp2"),
        ({"fsdp": "full_shard"}, "fsdp"),
        ({"zero_stage": 2}, "deepspeed"),
        ({"tensor_model_parallel_size": 2}, "megatron"),
    ],
)
def test_parameters_are_smp_v1s_unless_a_name_tells_otherwise(values: dict[str, Any], framework: str) -> None:
    assert start_from(values).framework == framework


@pytest.mark.parametrize(
    ("start", "change", "parameter", "words"),
    [
        (PIPELINE, {"active_microbatches": 9}, "active_microbatches", "above microbatches=8"),
        ({"microbatches": "abc"}, {}, "microbatches", "not a whole number"),
        ({"microbatches": 4.5}, {}, "microbatches", "not a whole number"),
        ({**PIPELINE, "batch_size": 30}, {"microbatches": 4}, "batch_size", "2 samples are left over"),
        ({"tensor_parallel_degree": 6}, {}, "tensor_parallel_degree", "not a power of two"),
        ({"tensor_parallel_degree": 2, "ddp": False}, {}, "tensor_parallel_degree", "needs ddp=true"),
        (PIPELINE, {"zero_infinity": True}, "zero_infinity", "knows no parameter"),
        ({"partitions": 2, "pipeline_parallel_degree": 4}, {}, "pipeline_parallel_degree", "two values"),
        (PIPELINE, {"partitions": 2, "pipeline_parallel_degree": 4}, "pipeline_parallel_degree", "two values"),
        ({"hidden_size": -4}, {}, "hidden_size", "is treated as not known"),
        ({"gpu_memory_utilization": 4000}, {}, "gpu_memory_utilization", "not a percentage"),
        ({"precision": "fp17"}, {}, "precision", "not one of fp16"),
        ({"activation_checkpointing": "perhaps"}, {}, "activation_checkpointing", "neither true nor false"),
        (
            {"tensor_model_parallel_size": 1, "pp_size": 4, "num_microbatches": 6},
            {"virtual_stages": 2},
            "virtual_stages",
            "divisible by the 4 stages",
        ),
    ],
)
def test_what_is_invalid_is_a_problem_with_a_remedy(
    start: dict[str, Any], change: dict[str, Any], parameter: str, words: str
) -> None:
    found = plan(start_from(start), change)
    said = [finding for finding in found.problems if words in finding.summary]
    assert said, [finding.summary for finding in found.problems]
    assert said[0].evidence[0].label.startswith(parameter)
    assert said[0].severity == "warning"
    assert said[0].recommendation is not None
    assert said[0].recommendation.text


def test_a_size_that_contradicts_its_shape_is_said() -> None:
    shape = {
        "layers": 48,
        "hidden_size": 10_240,
        "attention_heads": 80,
        "vocabulary_size": 50_000,
        "sequence_length": 512,
    }
    assert not plan(start_from({**shape, "parameters_billion": 60}), {}).problems
    said = plan(start_from({**shape, "parameters_billion": 6}), {}).problems
    assert [finding.title for finding in said] == ["parameters_billion is in doubt"]
    assert "60.9 billion" in said[0].summary


def test_a_batch_that_does_not_divide_is_not_the_same_for_all_of_its_sizes() -> None:
    start = start_from({**PIPELINE, "batch_size": 30})
    found = plan(start, {"batch_size": 32})
    assert found.step_time_change_pct is None
    assert "a batch of 30 does not divide into 8 microbatches" in found.method
    # The window does not ask for the size of a microbatch.
    window = plan(start, {"active_microbatches": 4}).step_time_change_pct
    assert window is not None
    assert window[1] == pytest.approx(-35.3, abs=0.1)
    assert (
        "a batch_size divisible by microbatches" in plan(start_from({"microbatches": 4, "batch_size": 30}), {}).method
    )


@pytest.mark.parametrize("each", PRESETS, ids=lambda each: each.name)
def test_a_preset_has_no_problem_and_its_question_has_an_answer(each: Any) -> None:
    found = plan(start_from({}, each), each.change)
    assert found.problems == ()
    assert found.outcome.memory.fits in {"yes", "borderline"}
    if each.change:
        assert found.knob in each.change
        assert {point.value for point in found.curve} >= {each.values[found.knob], each.change[found.knob]}
        told = found.step_time_change_pct is not None
        assert told or "the single measured pair does not calibrate" in found.method


def test_the_advised_window_is_the_narrowest_that_is_as_fast_and_fits() -> None:
    def points(*figures: tuple[int, float, float | None]) -> list[Point]:
        return [Point("active_microbatches", value, time, None, None, gib) for value, time, gib in figures]

    curve = points((1, 1.9, 20), (2, 1.0, 25), (4, 0.652, 30), (6, 0.65, 38), (8, 0.65, 45))
    found = advised_window(curve, 40)
    assert found is not None
    assert found.value == 4
    tight = advised_window(curve, 30)
    assert tight is not None
    assert tight.value == 2
    assert advised_window(points((1, 1.0, None), (2, 1.0, None)), 40) is None
    assert advised_window(points((1, 1.9, 50), (2, 1.0, 55)), 40) is None
    assert plan(start_from(PIPELINE), {}).advised == advised_window(plan(start_from(PIPELINE), {}).curve, None)


def _parameters(found: Plan) -> dict[str, Any]:
    return dict(found.distribution["smdistributed"]["modelparallel"]["parameters"])


def test_the_distribution_is_what_the_sdk_takes() -> None:
    found = plan(_of("gpt2-60b"), {"active_microbatches": 4, "batch_size": 64})
    assert found.distribution["mpi"] == {"enabled": True, "processes_per_host": 8}
    parameters = _parameters(found)
    assert parameters["active_microbatches"] == 4
    assert parameters["prescaled_batch"] is True
    assert not parameters.keys() & {"batch_size", "layers", "memory_weight", "activation_checkpointing", "precision"}
    # What tensor parallelism needs is there, where the plan says nothing against it.
    assert _parameters(plan(start_from({"tensor_parallel_degree": 8}), {})) == {
        "pipeline_parallel_degree": 1,
        "tensor_parallel_degree": 8,
        "ddp": True,
    }
    assert _parameters(plan(start_from({"hybrid_shard_degree": 0}), {})) == {"hybrid_shard_degree": 0}
    assert plan(start_from({"fsdp": "full_shard"}), {}).distribution == {"torch_distributed": {"enabled": True}}


@pytest.mark.parametrize(
    ("start", "change"),
    [
        (PIPELINE, {"microbatches": 100_000}),
        (PIPELINE, {"pipeline_parallel_degree": 10**9}),
        (PIPELINE, {"active_microbatches": 10**9}),
        ({**PIPELINE, "microbatches": 10**17, "batch_size": 10**17}, {"active_microbatches": 10**17}),
        ({**PIPELINE, "instance_count": 10**15, "gpus_per_node": 7, "pipeline_parallel_degree": 10**14 + 3}, {}),
        ({"sharded_data_parallel_degree": 10**14 + 3, "instance_count": 10**15, "gpus_per_node": 8}, {}),
        ({"layers": 10**17, "hidden_size": 10**400, "sequence_length": 1e308}, {"layers": 10**18}),
        ({"tp_size": 2, "tensor_model_parallel_size": 2, "pp_size": 64, "num_microbatches": 4096}, {"pp_size": 32}),
    ],
)
def test_huge_numbers_are_answered(start: dict[str, Any], change: dict[str, Any]) -> None:
    check_form(plan_document(plan(start_from(start), change)))


_NUMBERS = st.one_of(
    st.sampled_from([0, 1, 2, 3, 4, 6, 8, 16, 32, 64, 512]),
    st.integers(-3, 70),
    st.sampled_from([10**9, 10**30, -(10**9), 0.5, 4.0, -1.5, 1e300, 97.0]),
)
_VALUES = st.one_of(
    _NUMBERS,
    st.booleans(),
    st.sampled_from(["", "8", "abc", "fp16", "bf16", "cluster", "spread", "simple", "ml.p4d.24xlarge", "ml.x", "true"]),
    st.none(),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.sampled_from(["a", "stage"]), st.integers(), max_size=1),
)
_NAMES = st.sampled_from([*sorted(CANONICAL), "partitions", "per_device_train_batch_size", "fsdp", "no_such_name"])
_LIKELY = st.fixed_dictionaries(
    {},
    optional={
        "pipeline_parallel_degree": st.sampled_from([1, 2, 4, 8]),
        "tensor_parallel_degree": st.sampled_from([1, 2, 8]),
        "microbatches": st.sampled_from([1, 4, 8, 12]),
        "active_microbatches": st.sampled_from([1, 2, 4, 6]),
        "batch_size": st.sampled_from([8, 24, 30]),
        "instance_type": st.sampled_from(["ml.p4d.24xlarge", "ml.g4dn.12xlarge"]),
        "instance_count": st.sampled_from([1, 4]),
        "layers": st.just(24),
        "hidden_size": st.just(1024),
        "attention_heads": st.just(16),
        "vocabulary_size": st.just(50_000),
        "sequence_length": st.just(512),
        "gpu_memory_utilization": st.just(41.5),
    },
)
_ANY = st.dictionaries(_NAMES, _VALUES, max_size=4)


@settings(deadline=None, max_examples=80)
@given(_LIKELY, _ANY, _ANY)
def test_any_values_give_a_plan_of_the_contracts_form(likely: Any, start: Any, change: Any) -> None:
    found = plan(start_from({**likely, **start}), change)
    check_form(plan_document(found))
    now = found.start.number(found.knob or "")
    values = [point.value for point in found.curve]
    if values and now is not None and now > 0 and not isinstance(values[0], bool):
        assert now in values


@settings(deadline=None, max_examples=40)
@given(_LIKELY, st.sampled_from(["active_microbatches", "microbatches", "batch_size", "pipeline_parallel_degree"]))
def test_a_change_to_what_is_there_changes_nothing(likely: dict[str, Any], name: str) -> None:
    start = start_from(likely)
    known = start.known(name)
    if known is None:
        return
    found = plan(start, {name: known.value})
    assert found.asked == {name: known.value}
    assert found.step_time_change_pct == (0, 0, 0)
    memory = found.outcome.memory
    assert memory.expected_gib == memory.start_gib


@settings(deadline=None, max_examples=40)
@given(_LIKELY)
def test_a_curve_runs_through_one_at_its_start(likely: dict[str, Any]) -> None:
    found = plan(start_from(likely), {})
    today = [point for point in found.curve if point.value == found.start.number(found.knob or "")]
    assert len(today) == (1 if found.curve else 0)
    assert all(point.step_time_relative in (None, pytest.approx(1.0)) for point in today)
