"""A plan that starts from a reviewed job: what was measured, what was corrected, what the job itself refutes."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from monitor.model import Report
from monitor.review import report
from monitor.review.planning import advice_of, plan, plan_document, start_of
from tests.diagnose.configuration_cases import V1, smp1
from tests.diagnose.runs import END
from tests.review.test_planning import check_form
from tests.situations import gappy, healthy, low_utilization, never_started, no_gpu

PIPELINE: dict[str, Any] = {
    "pipeline_parallel_degree": 4,
    "tensor_parallel_degree": 8,
    "microbatches": 8,
    "active_microbatches": 2,
    "ddp": True,
    "prescaled_batch": True,
}


@cache
def _job() -> Report:
    return report(smp1(PIPELINE, nodes=4), END)


def test_what_was_measured_is_where_a_plan_starts() -> None:
    start = start_of(_job())
    assert start.read_from("gpu_memory_utilization") == start.read_from("step_time_s") == "measured"
    assert 70 < (start.real("gpu_memory_utilization") or 0.0) < 80
    assert start.real("step_time_s") == pytest.approx(2.0, rel=0.02)
    found = plan(start, {"active_microbatches": 3})
    document = plan_document(found)
    check_form(document)
    assert document["prediction"]["basis"] == "measured"
    memory = document["prediction"]["gpu_memory_gib"]
    # No shape: at most all of it grows with the microbatches in flight.
    assert memory["change"] == pytest.approx(1.5 * memory["start"])
    assert document["prediction"]["fits"] == "no"


def test_corrections_are_where_a_plan_starts_too() -> None:
    start = start_of(_job(), {"microbatches": 16, "gpu_memory_utilization": 20}, "--set")
    assert start.number("microbatches") == 16
    assert start.read_from("microbatches") == "--set"
    assert start.real("gpu_memory_utilization") == 20
    assert plan(start, {}).changes == {}


def test_a_job_whose_library_is_not_known_is_asked_about_smp_v1s_parameters() -> None:
    start = start_of(healthy())
    found = plan(start, {"tensor_parallel_degree": 8})
    assert found.change.framework == "smp1"
    assert found.asked == {"tensor_parallel_degree": 8}


def test_what_the_job_refutes_is_not_said_of_it_but_of_what_is_changed() -> None:
    ran = start_of(report(smp1({**V1, "zero_infinity": True}), END))

    def said(**changes: Any) -> str:
        return " ".join(finding.summary for finding in plan(ran, changes, ran=True).problems)

    assert "zero_infinity" not in said()
    assert "zero_infinity" in " ".join(finding.summary for finding in plan(ran, {}).problems)
    assert "does not divide" in said(pipeline_parallel_degree=3)


def test_the_reviews_advice_is_the_point_to_look_at() -> None:
    job = low_utilization()
    advice = advice_of(job)
    assert advice is not None
    assert (advice.parameter, advice.value, advice.source) == ("active_microbatches", 4, "raise-active-microbatches")
    found = plan(start_of(_job()), {}, advice)
    assert (found.knob, found.advised) == ("active_microbatches", advice)
    other = plan(start_of(_job()), {"microbatches": 16}, advice)
    assert other.knob == "microbatches"
    assert other.advised is None


@pytest.mark.parametrize("job", [gappy(), never_started(), no_gpu(), healthy()], ids=lambda job: job.job.name)
def test_of_any_job_there_is_a_plan(job: Any) -> None:
    for change in ({}, {"batch_size": 8}, {"instance_count": 2}, {"active_microbatches": 2}):
        check_form(plan_document(plan(start_of(job), change, advice_of(job), ran=True)))
