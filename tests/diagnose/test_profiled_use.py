"""Where a profiler tells which GPUs are in use, the findings that guess from a host's sum say so exactly, or not at all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.model import Finding, Run
from tests.diagnose.cases import fires
from tests.diagnose.said import said
from tests.diagnose.single_gpu_cases import sampled
from tests.diagnose.utilization_runs import one_gpu


def _said(run: Run, rule_id: str, used: tuple[int, ...], gpus: int) -> Finding | None:
    names = [node.name for node in run.job.nodes]
    levels = {(name, gpu): (97.0, 80.0) if gpu in used else (0.0, 0.4) for name in names for gpu in range(gpus)}
    samples = sampled(odd=levels, gpus=gpus)
    run = replace(run, gpus=samples[samples["node"].isin(names)])
    return next((found for found in said(run) if found.id == rule_id), None)


def test_the_one_gpu_in_use_is_named() -> None:
    guessed = next(found for found in said(one_gpu(4, 97.0, 80.0)) if found.id == "one-gpu-in-use")
    seen = _said(one_gpu(4, 97.0, 80.0), "one-gpu-in-use", (2,), 4)
    assert seen is not None
    assert guessed.summary.startswith("It looks as if only one of 4 GPUs is in use")
    assert guessed.not_checked == ("which GPU is in use: CloudWatch has no figures for single GPUs",)
    assert seen.summary.startswith("Only one of 4 GPUs is in use")
    assert "The profiler shows it on algo-1: GPU 2 is in use, GPUs 0, 1 and 3 are empty." in seen.summary
    assert seen.not_checked == ()
    assert seen.confidence == "high"


def test_a_sum_that_looks_like_one_gpu_is_not_one_where_all_are_seen_at_work() -> None:
    assert _said(one_gpu(4, 97.0, 80.0), "one-gpu-in-use", (0, 1, 2, 3), 4) is None


@pytest.mark.parametrize(
    ("used", "named"), [((0, 1, 2, 3), "GPUs 0 to 3 are in use, GPUs 4 to 7 are empty"), (tuple(range(8)), None)]
)
def test_unused_gpus_are_named_or_seen_at_work(used: tuple[int, ...], named: str | None) -> None:
    run = fires("unused-gpus")[0]
    assert any(found.id == "unused-gpus" for found in said(run))
    found = _said(run, "unused-gpus", used, 8)
    assert (found is None) == (named is None)
    if found is not None and named is not None:
        assert f"The profiler shows it on algo-1: {named}." in found.summary
