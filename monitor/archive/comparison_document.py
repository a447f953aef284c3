"""A comparison as the machine-readable document that ``compare --format json`` prints. The form is a contract with users.

The top-level change, verdict and prediction are those of the second job against the first; ``comparisons`` has the same for
each further job. A change is (low, middle, high) percent, negative where the later job is faster.
"""

from __future__ import annotations

from typing import Any

from monitor.archive.document import SCHEMA, job_document
from monitor.archive.pairs import Record
from monitor.diagnose.comparison.comparability import Difference
from monitor.diagnose.comparison.compare import Against, Comparison, Followed
from monitor.diagnose.comparison.figures import Figures
from monitor.model.document import Forms, document


def comparison_document(comparison: Comparison, record: Record | None = None) -> dict[str, Any]:
    """Plain JSON types; unknown is null. ``record`` is how earlier predictions did on the user's own pairs."""
    whole = {
        "schema": SCHEMA,
        "jobs": [job_document(job) for job in comparison.jobs],
        "configuration_difference": comparison.different,
        **_result(comparison.against[0]),
        "figures": comparison.figures,
        "comparisons": [{"name": each.name, **_result(each)} for each in comparison.against],
        "earlier_predictions": record,
        "notes": comparison.notes,
    }
    found: dict[str, Any] = document(whole, _FORMS)
    return found


def _result(result: Against) -> dict[str, Any]:
    told, work = result.predicted, result.work
    found = None if result.unlike is not None else result.change
    return {
        # As everywhere: for the same work, where it is known and differs.
        "step_time_change_percent": result.judged_pct,
        "per_step_change_percent": result.step_pct,
        "verdict": result.verdict,
        "comparable": result.unlike is None,
        "why_not": None if result.unlike is None else result.unlike.why,
        "would_make_comparable": None if result.unlike is None else result.unlike.remedy,
        "predicted_change_percent": told.change_pct,
        "reason": result.reason or None,
        "compared_by": None if found is None else "step" if work is None or work.unit is None else work.unit,
        "per_sample_change_percent": None
        if found is None or work is None or work.samples == 1
        else found.percent(work.samples),
        "per_token_change_percent": result.work_pct if work is not None and work.unit == "token" else None,
        "timed_by": None if found is None else found.by,
        "steps_compared": None if found is None else found.steps,
        "smallest_difference_percent": None if found is None else found.smallest_percent,
        "more_steps": None
        if found is None or result.verdict != "cannot tell"
        else found.more_steps(1.0 if work is None else work.ratio),
        "prediction": {
            "held": {"held": True, "missed": False}.get(result.came or ""),
            "outcome": result.came,
            "measured_percent": result.for_same_samples_pct,
            "method": told.method or None,
            "not_predicted": told.unknown,
            "says_nothing_of": told.beyond if told.change_pct is not None else (),
            "advice_followed": told.followed,
        },
    }


_FORMS: Forms = {
    Difference: "parameter values",
    Followed: "finding parameter from=from_value to=to_value step_time_change_percent=change_pct",
    Figures: "name instance_count=nodes step_time_s=step_s step_time_p10_s=p10_s step_time_p90_s=p90_s "
    "step_time_came_by=came_by? steps first_step last_step samples_per_step samples_per_second=samples_per_s "
    "gpu_utilization=gpu_utilization_pct gpu_memory_utilization=gpu_memory_utilization_pct goodput_percent=goodput_pct "
    "wasted_percent=wasted_pct cost_usd cost_per_step_usd=usd_per_step cost_per_sample_usd=usd_per_sample "
    "scaling_efficiency_percent=scaling_pct",
    Record: "pairs held too_wide_to_test=too_wide",
}
