"""What a change would do: step time, bubble and memory together, and what is said where something is not known."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.diagnose.advised import estimated
from monitor.predict.memory import fits
from monitor.predict.outcome import curve, knob, outcome, what_if
from monitor.predict.presets import PRESETS, preset
from monitor.predict.setup import Setup, setup_from

P4D: dict[str, Any] = {"gpus_per_node": 8, "gpu_memory_gib": 40, "interconnect": "nvswitch"}
G4DN: dict[str, Any] = {"gpus_per_node": 4, "gpu_memory_gib": 16, "interconnect": "none"}
PIPELINE: dict[str, Any] = {"pipeline_parallel_degree": 4, "microbatches": 8, "active_microbatches": 2}


def _preset(name: str, **others: Any) -> Setup:
    found = preset(name)
    assert found is not None
    return setup_from({**found.values, **(G4DN if "g4dn" in found.values["instance_type"] else P4D), **others})


@pytest.mark.parametrize(
    ("name", "change", "gb", "verdict"),
    [
        ("gpt2-10b", {}, 25.9, "yes"),
        ("gpt2-10b", {"shard_optimizer_state": False}, 56.4, "no"),
        ("gpt2-10b", {"activation_checkpointing": False}, 104.0, "no"),
        ("gpt2-10b", {"instance_count": 2}, 32.8, "yes"),
        ("gpt2-10b", {"instance_count": 1}, 40.7, "borderline"),
        ("gpt2-10b", {"sequence_length": 1024}, 38.7, "borderline"),
        ("gpt2-30b", {}, 35.6, "yes"),
        ("gpt2-30b", {"tensor_parallel_degree": 4}, 52.8, "no"),
        ("gpt2-60b", {}, 30.0, "yes"),
        ("gpt2-60b", {"active_microbatches": 3}, 33.7, "yes"),
        ("gpt2-60b", {"active_microbatches": 4}, 37.4, "borderline"),
        ("gpt2-60b", {"active_microbatches": 4, "offload_activations": True}, 23.5, "yes"),
    ],
)
def test_reference_configurations_come_out_as_published(
    name: str, change: dict[str, Any], gb: float, verdict: str
) -> None:
    found = what_if(_preset(name), change).memory
    assert found.expected_gib is not None
    assert found.expected_gib * 2**30 / 1e9 == pytest.approx(gb, rel=0.03)
    assert found.fits == verdict


def test_sharding_inside_a_node_without_nvlink_claims_the_sign_and_5_to_30_percent() -> None:
    plain = what_if(_preset("vit-630m"), {"sharded_data_parallel_degree": 4})
    assert plain.step_time_change_pct is None
    assert "groups inside a node take less time" in plain.method
    # For the finding alone, whose contract claims it.
    found = estimated(plain)
    assert found.step_time_change_pct is not None
    assert "promises no share of changes" in found.method
    low, middle, high = found.step_time_change_pct
    assert (low, high) == pytest.approx((-30, -5))
    assert low < -14 < high
    assert low < middle < high
    assert found.memory.fits == "yes"
    back = what_if(found.change, {"sharded_data_parallel_degree": 32}).time.estimate_pct
    assert back is not None
    assert back[0] > 0


MEGATRON: dict[str, Any] = {
    "instance_count": 4,
    "pipeline_parallel_degree": 4,
    "tensor_parallel_degree": 2,
    "micro_batch_size": 4,
    "global_batch_size": 256,
    "layers": 32,
    "hidden_size": 4096,
    "attention_heads": 32,
    "vocabulary_size": 50257,
    "sequence_length": 2048,
}
FSDP: dict[str, Any] = {
    "sharding_strategy": "full_shard",
    "instance_count": 4,
    "batch_size": 4,
    "parameters_billion": 1.0,
    "step_time_s": 2.0,
    "network_gbps": 400,
}


@pytest.mark.parametrize(
    ("start", "change", "direction", "estimate"),
    [
        (MEGATRON, {"selective_recomputation": True}, "far less than full recomputation", (2.0, 4.5, 7.0)),
        (MEGATRON, {"shard_optimizer_state": True}, "more with every further node", None),
        (FSDP, {"sharding_strategy": "no_shard"}, "save the gathering of parameters", None),
        (FSDP, {"sharding_strategy": "hybrid_shard"}, "with NVLink, groups inside a node", None),
    ],
)
def test_what_no_data_calibrate_has_a_direction_and_no_figure(
    start: dict[str, Any], change: dict[str, Any], direction: str, estimate: tuple[float, ...] | None
) -> None:
    found = what_if(setup_from({**P4D, **start}, "fsdp" if start is FSDP else "megatron"), change)
    assert found.step_time_change_pct is None
    assert direction in found.method
    assert "calibrate" in found.method
    # It still has a place among remedies.
    assert found.time.estimate_pct is not None
    assert estimate is None or found.time.estimate_pct == pytest.approx(estimate)


def test_full_in_place_of_selective_recomputation_was_measured_and_has_a_figure() -> None:
    start = setup_from({**P4D, **MEGATRON, "selective_recomputation": True}, "megatron")
    there = what_if(start, {"selective_recomputation": False, "activation_checkpointing": True})
    assert there.step_time_change_pct is not None
    low, middle, high = there.step_time_change_pct
    assert low < 29.7 < high  # 530 billion parameters, arXiv 2205.05198
    assert middle == pytest.approx(27.6, abs=0.1)
    assert (
        "range that held 6 of 6 published changes that it was not made of: too few to promise a share" in there.method
    )
    back = what_if(there.change, {"selective_recomputation": True, "activation_checkpointing": False})
    assert back.step_time_change_pct is not None
    assert (1 + back.step_time_change_pct[1] / 100) * (1 + middle / 100) == pytest.approx(1, abs=0.001)


@pytest.mark.parametrize(
    "change", [{"network_gbps": 100}, {"interconnect": "none"}, {"gpus_per_node": 4}, {"processes_per_host": 4}]
)
def test_other_links_and_fewer_processes_are_not_called_nothing(change: dict[str, Any]) -> None:
    found = what_if(setup_from({**P4D, **FSDP}, "fsdp"), change)
    assert found.step_time_change_pct is None
    assert found.time.estimate_pct is None


def test_more_accumulation_saves_what_is_done_once_a_step_and_less_costs_it() -> None:
    start = setup_from({**P4D, **FSDP, "gradient_accumulation_steps": 4}, "fsdp")
    more, less = (what_if(start, {"gradient_accumulation_steps": each}) for each in (8, 2))
    assert more.step_time_change_pct is not None
    assert less.step_time_change_pct is not None
    assert more.step_time_change_pct[1:] == pytest.approx((0, 0))
    assert less.step_time_change_pct[:2] == pytest.approx((0, 0))
    assert more.step_time_change_pct[0] < -15
    assert less.step_time_change_pct[2] > 15
    assert "its only source's other setups: too few to promise a share" in more.method
    assert "other machines are untested" in more.method


@pytest.mark.parametrize(
    ("start", "framework", "change", "words"),
    [
        (PIPELINE, "smp1", {"active_microbatches": 4}, "promises no share of changes"),
        (MEGATRON, "megatron", {"global_batch_size": 512}, "held 21 of 21"),
        (MEGATRON, "megatron", {"virtual_stages": 2}, "held 6 of 6 changes of its only source's other setups: too few"),
        (MEGATRON, "megatron", {"sequence_length": 4096}, "within its only source (held 58 of 64"),
        (
            MEGATRON,
            "megatron",
            {"activation_checkpointing": True},
            "held 6 of 6 published changes that it was not made of: too few",
        ),
        ({**MEGATRON, "gpu_memory_utilization": 80}, "megatron", {"tensor_parallel_degree": 4}, "held 38 of 40"),
        ({**MEGATRON, "gpu_memory_utilization": 80}, "megatron", {"virtual_stages": 2}, "held 12 of 12"),
        (MEGATRON, "megatron", {"micro_batch_size": 2}, "held 50 of 55 published peaks"),
        ({**MEGATRON, **FSDP}, "fsdp", {"batch_size": 2}, "the range promises no share"),
    ],
)
def test_every_range_says_what_share_it_promises(
    start: dict[str, Any], framework: Any, change: dict[str, Any], words: str
) -> None:
    assert words in what_if(setup_from({**P4D, **start}, framework), change).method


def test_memory_never_falls_below_what_states_take_in_proportion() -> None:
    values = {**MEGATRON, "batch_size": 16, "microbatches": 8, "gpu_memory_utilization": 20}
    start = setup_from({**P4D, **values}, "smp1")
    found = what_if(start, {"sharded_data_parallel_degree": 4}).memory
    assert found.change_gib is not None
    low, middle, _ = found.change_gib
    assert 0 < low <= middle < 8


@pytest.mark.parametrize(
    ("window", "change_pct", "used_pct"), [(4, -35.3, 82.0), (3, -23.5, 61.5), (8, -35.3, 164.0), (1, 88.2, 41.0)]
)
def test_without_a_shape_measured_memory_bounds_what_a_window_takes(
    window: int, change_pct: float, used_pct: float
) -> None:
    start = setup_from({**PIPELINE, **P4D, "gpu_memory_utilization": 41.0})
    found = what_if(start, {"active_microbatches": window})
    assert found.basis == "measured"
    assert found.step_time_change_pct is not None
    assert found.step_time_change_pct[1] == pytest.approx(change_pct, abs=0.1)
    pct = found.memory.utilization_pct()
    assert pct is not None
    assert pct[2] == pytest.approx(used_pct)


def test_what_is_measured_stays_and_only_the_difference_is_worked_out() -> None:
    plain, measured = _preset("gpt2-60b"), _preset("gpt2-60b", gpu_memory_utilization=80.0)
    one, other = (what_if(start, {"active_microbatches": 4}).memory for start in (plain, measured))
    assert one.start_gib is not None
    assert one.expected_gib is not None
    assert other.start_gib == pytest.approx(32.0)
    assert other.expected_gib == pytest.approx(32.0 + one.expected_gib - one.start_gib)


@pytest.mark.parametrize(
    ("start", "change", "words"),
    [
        (PIPELINE, {"tensor_parallel_degree": 8}, "tensor-parallel degree"),
        (PIPELINE, {"batch_size": 32}, "the batch is known on one side only"),
        (PIPELINE, {"offload_activations": True}, "no measurement of offloading"),
        ({"microbatches": 4}, {"shard_optimizer_state": True}, "ranks that share the states"),
        (
            {"sharded_data_parallel_degree": 32},
            {"sharded_data_parallel_degree": 4},
            "the links between the GPUs of a node",
        ),
    ],
)
def test_what_no_equation_gives_is_named_and_has_no_figure(
    start: dict[str, Any], change: dict[str, Any], words: str
) -> None:
    found = what_if(setup_from(start), change)
    assert found.step_time_change_pct is None
    assert any(words in each for each in found.time.unknown)
    assert found.memory.change_gib is None
    assert found.memory.fits == "unknown"
    assert words in found.method


def test_states_alone_can_say_that_a_model_does_not_fit() -> None:
    start = setup_from({"parameters_billion": 20, "tensor_parallel_degree": 2, "microbatches": 1, **P4D})
    found = what_if(start, {}).memory
    assert found.expected_gib is None
    assert found.components["model states"] == pytest.approx(16 * 10e9 / 2**30)
    assert found.fits == "no"
    small = what_if(setup_from({"parameters_billion": 1, "tensor_parallel_degree": 2, "microbatches": 1, **P4D}), {})
    assert small.memory.fits == "unknown"


def test_more_stages_on_the_same_gpus_do_as_many_samples() -> None:
    start = setup_from({"pipeline_parallel_degree": 2, "microbatches": 64, "active_microbatches": 64, "batch_size": 64})
    found = what_if(start, {"pipeline_parallel_degree": 4})
    assert found.step_time_change_pct is not None
    # (m + p - 1) / m of both, and twice the GPUs for each pipeline.
    assert found.step_time_change_pct[1] == pytest.approx(100 * (67 / 65 - 1), abs=0.1)


def test_ranges_widen_and_signs_agree_where_several_things_change() -> None:
    start = setup_from({**PIPELINE, **P4D, "gpu_memory_utilization": 41.0})
    window = what_if(start, {"active_microbatches": 4}).step_time_change_pct
    both = what_if(start, {"active_microbatches": 4, "activation_checkpointing": True}).step_time_change_pct
    assert window is not None
    assert both is not None
    assert both[1] == pytest.approx(100 * ((1 + window[1] / 100) * 4 / 3 - 1))
    assert both[2] - both[0] > window[2] - window[0]


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 6), st.integers(1, 12), st.integers(1, 12), st.integers(1, 12))
def test_no_change_changes_nothing_and_one_stage_makes_the_window_idle(p: int, m: int, a: int, to: int) -> None:
    start = setup_from({"pipeline_parallel_degree": p, "microbatches": m, "active_microbatches": min(a, m), **P4D})
    assert what_if(start, {}).step_time_change_pct == (0.0, 0.0, 0.0)
    found = what_if(start, {"active_microbatches": min(to, m)})
    assert found.step_time_change_pct is not None
    low, middle, high = found.step_time_change_pct
    assert low <= middle <= high
    if p == 1:
        assert (low, middle, high) == pytest.approx((0, 0, 0))


@pytest.mark.parametrize(("share", "verdict"), [(0.84, "yes"), (0.85, "borderline"), (1.1, "borderline"), (1.11, "no")])
def test_nobody_can_tell_between_085_and_110(share: float, verdict: str) -> None:
    assert fits(share) == verdict


def test_a_curve_runs_through_today_and_is_flat_where_its_knob_does_nothing() -> None:
    start = setup_from({**PIPELINE, **P4D, "gpu_memory_utilization": 41.0})
    assert knob(start) == "active_microbatches"
    points = curve(start, "active_microbatches", [4])
    assert [point.value for point in points] == [1, 2, 3, 4, 5, 6, 7, 8]
    by_value = {point.value: point for point in points}
    assert by_value[2].step_time_relative == pytest.approx(1.0)
    assert by_value[4].step_time_relative == by_value[8].step_time_relative
    flat = curve(setup_from({"microbatches": 4, "active_microbatches": 2}), "active_microbatches")
    assert {point.step_time_relative for point in flat} == {1.0}
    assert curve(start, "placement_strategy") == []


@pytest.mark.parametrize("each", PRESETS, ids=lambda each: each.name)
def test_every_preset_is_a_valid_setup(each: Any) -> None:
    from monitor.predict.problems.rules import problems_of

    assert problems_of(_preset(each.name)) == ()


def test_what_is_too_large_to_simulate_has_a_middle_in_its_curve_and_no_figure_without_a_range() -> None:
    start = setup_from({"pipeline_parallel_degree": 64, "microbatches": 512, "active_microbatches": 32})
    found = what_if(start, {"active_microbatches": 64})
    assert found.step_time_change_pct is None
    assert "too many to simulate here" in found.method
    assert found.bubble_change == pytest.approx(63 / (512 + 63))
    points = {point.value: point for point in curve(start, "active_microbatches")}
    assert points[64].step_time_relative == pytest.approx(575 / (16 * 64 + 31))
    assert points[64].low is None


def test_a_schedule_that_there_is_not_is_no_error() -> None:
    start = setup_from({"pp_size": 4, "tensor_model_parallel_size": 1, "num_microbatches": 8, "virtual_stages": 2})
    found = what_if(start, {"microbatches": 6})
    assert found.step_time_change_pct is None
    assert "divisible by its 4 stages" in found.method
    assert (found.bubble_start, found.bubble_change) == (pytest.approx(3 / 19), None)


def test_without_a_pipeline_the_time_of_a_sample_needs_no_count_of_microbatches() -> None:
    start = setup_from({"fsdp": "full_shard", "per_device_train_batch_size": 2, **P4D, "gpu_memory_utilization": 40})
    found = what_if(start, {"batch_size": 4})
    assert found.changes == {"batch_size", "micro_batch_size"}
    assert found.step_time_change_pct is not None
    low, middle, high = found.step_time_change_pct
    assert low < middle < 0
    assert middle == pytest.approx(100 * ((0.19 * 2**0.5 + 4) / (0.19 * 2**0.5 + 2) / 2 - 1))
    assert high < 20
    assert found.memory.expected_gib == pytest.approx(32)


def test_points_that_matter_are_on_a_curve_however_many_there_are() -> None:
    start = setup_from({"pipeline_parallel_degree": 4, "microbatches": 1000, "active_microbatches": 333})
    values = [point.value for point in curve(start, "active_microbatches", [777])]
    assert {333, 777} <= set(values)
    assert len(values) <= 24
    assert values == sorted(values)


def test_what_the_equations_overrate_saves_no_more_than_what_states_leave() -> None:
    # A start that the equations take for twice as full as it was: less all that they say, nothing would be left.
    start = _preset("gpt2-10b", activation_checkpointing=False, gpu_memory_utilization=60.0)
    found = what_if(start, {"activation_checkpointing": True}).memory
    plain = what_if(_preset("gpt2-10b", activation_checkpointing=False), {"activation_checkpointing": True}).memory
    assert plain.start_gib is not None
    assert plain.start_gib > 2 * 24
    assert found.change_gib is not None
    low, middle, high = found.change_gib
    # States stay; the activations are those of a start of 24 GiB, and shrink as the equations say.
    states = found.components["model states"]
    assert states < middle < states + 0.3 * (24 - states)
    assert low < middle < high


_LLAMA = {
    "activation_checkpointing": True,
    "instance_type": "ml.p4d.24xlarge",
    "gpus_per_node": 8,
    "gpu_memory_gib": 40.0,
    "sequence_length": 4096,
    "vocabulary_size": 32_000,
    "precision": "bf16",
}


@pytest.mark.parametrize(
    "values",
    [
        {"instance_count": 1, "hybrid_shard_degree": 8, "batch_size": 4, "parameters_billion": 6.7, "layers": 32,
         "hidden_size": 4096, "attention_heads": 32},
        {"instance_count": 32, "hybrid_shard_degree": 256, "batch_size": 2, "parameters_billion": 69, "layers": 80,
         "hidden_size": 8192, "attention_heads": 64},
        {"instance_count": 64, "hybrid_shard_degree": 128, "tensor_parallel_degree": 4, "batch_size": 6,
         "parameters_billion": 175, "layers": 96, "hidden_size": 12_288, "attention_heads": 96,
         "sm_activation_offloading": True},
    ],
    ids=["7B", "70B", "175B"],
)  # fmt: skip
def test_the_references_of_smp_v2_fit(values: dict[str, Any]) -> None:
    setup = setup_from({**_LLAMA, **values}, "smp2")
    assert outcome(setup, setup).memory.fits == "yes"


def test_the_promise_counts_what_widens_a_range_without_moving_its_middle() -> None:
    start = setup_from({**P4D, **FSDP, "gradient_accumulation_steps": 4}, "fsdp")
    assert what_if(start, {"gradient_accumulation_steps": 8}).time.promise == "few"
    assert what_if(start, {"log_interval": 7}).time.promise == "none"
