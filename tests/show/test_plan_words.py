"""The answer of a plan in one sentence: what changes, by how much, and whether it fits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from monitor.predict.presets import preset
from monitor.predict.setup import SourcedValue
from monitor.review.planning import Plan, plan, start_from
from monitor.show.plan.words import (
    MODELLED,
    answer,
    band_words,
    changed_words,
    curve_words,
    literal,
    memory_words,
    start_words,
)

PIPELINE = {
    "pipeline_parallel_degree": 4,
    "microbatches": 8,
    "active_microbatches": 2,
    "instance_type": "ml.p4d.24xlarge",
}
MEASURED = {**PIPELINE, "gpu_memory_utilization": 41.0, "step_time_s": 4.1, "instance_count": 4}


def _plan(start: dict[str, Any] | str, change: dict[str, Any], along: str | None = None) -> Plan:
    found = start_from({}, preset(start)) if isinstance(start, str) else start_from(start)
    return plan(found, change, along=along)


@pytest.mark.parametrize(
    ("start", "change", "level", "title"),
    [
        ("gpt2-10b", {}, "info", "Nothing changed yet; GPU memory 24.0 of 40 GiB: fits"),
        ("gpt2-30b", {}, "info", "Nothing changed yet; GPU memory 33.1 of 40 GiB: fits"),
        (
            "gpt2-60b",
            {"active_microbatches": 4},
            "warning",
            "Step time about the same (-7 to 0 %); GPU memory 28.4 → 35.3 of 40 GiB: borderline",
        ),
        (
            "vit-630m",
            {"sharded_data_parallel_degree": 4},
            "info",
            "The change in step time is not known; GPU memory 4.0 → 6.2 of 16 GiB: fits",
        ),
        (
            "gpt2-10b",
            {"active_microbatches": 2, "microbatches": 2},
            "info",
            "Step time",
        ),
        ("gpt2-10b", {"shard_optimizer_state": False}, "error", "The change in step time is not known; GPU memory"),
        (MEASURED, {"active_microbatches": 4}, "success", "Step time -35 %"),
        (MEASURED, {"active_microbatches": 1}, "info", "Step time +88 %"),
        (MEASURED, {"microbatches": 9, "batch_size": 16}, "warning", "Batch not divisible by microbatches"),
        ({**MEASURED, "pipeline_parallel_degree": 1}, {"active_microbatches": 1}, "info", "Step time unchanged"),
        (PIPELINE, {"tensor_parallel_degree": 8}, "info", "The change in step time is not known; GPU memory is not known"),
        (PIPELINE, {"fp16": True, "bf16": True}, "error", "The library rejects this"),
        ("gpt2-60b", {"microbatches": 0}, "error", "The library rejects this"),
        ("gpt2-60b", {"my_own": 1}, "error", "The library rejects this; GPU memory 28.4 of 40 GiB: fits"),
        ("gpt2-60b", {"hidden_size": -3}, "warning", "hidden_size makes no sense"),
        ({}, {}, "info", "Nothing changed yet; GPU memory is not known"),
    ],
)  # fmt: skip
def test_the_answer_is_one_sentence_as_loud_as_it_has_to_be(
    start: dict[str, Any] | str, change: dict[str, Any], level: str, title: str
) -> None:
    found = answer(_plan(start, change))
    assert found.title.startswith(title)
    assert found.level == level
    assert MODELLED[1:] in found.body or not change


def test_seconds_bubbles_and_money_are_told_where_they_are_known() -> None:
    body = answer(_plan(MEASURED, {"active_microbatches": 4}), usd_per_hour=100.0).body
    assert "A step of 4.10 s becomes 2.65 s (" in body
    assert "stages wait 27 % of the time, 53 % at the start." in body
    assert "$35.29 an hour less for the same work." in body
    more = answer(_plan(MEASURED, {"instance_count": 8}), usd_per_hour=100.0).body
    assert "$" not in more, "other instances cost otherwise"
    nothing = answer(_plan(MEASURED, {})).body
    assert "Measured; the effect of a change is model-based" in nothing
    assert "Advised: active_microbatches 4, step time -35 %." in nothing


def test_a_step_time_that_was_not_simply_printed_says_how_it_was_measured() -> None:
    start = start_from(MEASURED)
    clocked = replace(
        start, values={**start.values, "step_time_s": SourcedValue(4.1, "measured", came_by="by the lines' clock")}
    )
    body = answer(plan(clocked, {"active_microbatches": 4})).body
    assert "A step of 4.10 s (by the lines' clock) becomes 2.65 s" in body
    assert "The measured step time, 4.10 s, is by the lines' clock." in answer(plan(clocked, {})).body
    assert "clock" not in answer(_plan(MEASURED, {})).body


def test_a_bound_is_called_one() -> None:
    found = _plan(MEASURED, {"active_microbatches": 4})
    assert "GPU memory 16.4 → at most 32.8 of 40 GiB" in answer(found).title
    assert "No breakdown without layers" in memory_words(found)
    assert "Upper bound: as if all measured memory grew" in memory_words(found)


@pytest.mark.parametrize(
    ("start", "change", "along", "words"),
    [
        ("gpt2-60b", {}, None, "Shortest from active_microbatches 2 upward, 100 % of the starting point. Advised: "
        "stay at 2"),
        (MEASURED, {}, None, "Shortest from active_microbatches 4 upward, 65 % of the starting point. Advised: 4 "
        "(the pipeline model)."),
        ("gpt2-10b", {}, "pipeline_parallel_degree", "Shortest at pipeline_parallel_degree 1, 100 % of the starting "
        "point."),
        ({**PIPELINE, "pipeline_parallel_degree": 1}, {}, "active_microbatches", "Flat: active_microbatches does not change"),
        ("gpt2-10b", {}, "tensor_parallel_degree", "The effect of tensor_parallel_degree on step time is not known: the cost"),
        ("gpt2-60b", {"microbatches": 5}, "pipeline_parallel_degree", "on step time is not known: A batch of 56 does"),
    ],
)  # fmt: skip
def test_a_curve_is_said_in_words(
    start: dict[str, Any] | str, change: dict[str, Any], along: str | None, words: str
) -> None:
    assert words in curve_words(_plan(start, change, along))


def test_what_changed_and_where_it_started_are_told_by_their_names() -> None:
    found = _plan("gpt2-60b", {"active_microbatches": 4, "offload_activations": True, "sequence_parallel": True})
    assert (
        changed_words(found)
        == "active_microbatches 2 → 4, offload_activations off → on, sequence_parallel not known → on"
    )
    assert start_words(found.start) == "SMP v1 · 32 x ml.p4d.24xlarge · 48 layers of 10,240"
    assert start_words(start_from({})) == "SMP v1 · instances not known · model not known"


def test_the_snippet_is_python() -> None:
    found = _plan("gpt2-60b", {"active_microbatches": 4}).distribution
    written = literal(found)
    assert eval(written) == found
    assert '"active_microbatches": 4,' in written
    assert literal({}) == "{}"
    assert eval(literal({"a": {"b": 'it\'s "so"', "c": None, "d": [1, "x"]}})) == {
        "a": {"b": 'it\'s "so"', "c": None, "d": [1, "x"]}
    }


@pytest.mark.parametrize(
    ("start", "along", "words"),
    [
        (MEASURED, "microbatches", "The band is for 9 of 10 changes."),
        (MEASURED, "active_microbatches", "The band promises no share of changes."),
        (MEASURED, "pipeline_parallel_degree", "The band promises no share of changes: too few were published."),
    ],
)
def test_the_band_of_a_curve_says_what_it_promises(start: dict[str, Any], along: str, words: str) -> None:
    assert band_words(_plan(start, {}, along)) == words
