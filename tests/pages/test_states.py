"""Every page over every kind of job: something is said, nothing is healthy that was not seen, and no trace of a program."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest

from monitor.errors import NoSuchJob, NotAllowed
from monitor.model import Report
from tests import situations
from tests.builders import metrics, nodes_of, report
from tests.pages.conftest import Open
from tests.pages.fake import FakeAccount, texts

LONG = "a-job-name-that-is-as-long-as-sagemaker-takes-one-2026-09-25-12"
BUSY = {"gpu_utilization": 93.0, "gpu_memory_utilization": 61.0, "cpu_utilization": 30.0}


def just_started() -> Report:
    """A minute old: no minute of metrics, no line."""
    now = datetime.now(UTC)
    return report("new-1", status="InProgress", start=now - timedelta(minutes=1), minutes=1, reviewed_at=now)


def old_and_coarse() -> Report:
    """Older than 15 days: CloudWatch has five minutes a point."""
    names = [node.name for node in nodes_of(2)]
    frame = metrics(names, 90, BUSY)
    frame = frame[frame["timestamp"].dt.minute % 5 == 0].assign(period_s=300)
    old = report("old-1", nodes=nodes_of(2), metric_frame=frame)
    return replace(old, run=replace(old.run, metrics_period_s=300))


@cache
def huge() -> Report:
    """256 nodes, of which one reports steps."""
    hosts = nodes_of(256)
    names = [node.name for node in hosts]
    return report(LONG, nodes=hosts, minutes=40, metric_frame=metrics(names, 40, BUSY))


@cache
def _situations() -> tuple[Report, ...]:
    return (
        situations.healthy(),
        situations.failed(),
        situations.gappy(),
        situations.no_gpu(),
        situations.no_steps(),
        situations.never_started(),
        just_started(),
        old_and_coarse(),
        huge(),
    )


@pytest.mark.parametrize("page", ["jobs", "logs", "compare", "plan", "thresholds"])
def test_every_page_has_something_to_say_of_every_kind_of_job(open_page: Open, page: str) -> None:
    account = FakeAccount(_situations())
    names = [each.job.name for each in _situations()]
    asked = {
        "jobs": [{}],
        "logs": [{"job": name} for name in names],
        "compare": [{"jobs": f"{names[0]},{name}"} for name in names[1:]],
        "plan": [{"from": "job", "of": name} for name in names],
        "thresholds": [{"when": "gpu_utilization < 40 for 10m"}],
    }[page]
    for parameters in asked:
        shown = open_page(account, page, **parameters)
        said = texts(shown)
        assert len(said) > 60, parameters
        assert "Traceback" not in said


@pytest.mark.parametrize("built", [just_started(), old_and_coarse(), huge()], ids=["new", "old", "huge"])
def test_the_job_page_says_what_it_could_not_see(open_page: Open, built: Report) -> None:
    said = texts(open_page(FakeAccount((built,)), "job", job=built.job.name))
    if built.job.name == "new-1":
        assert "ealthy" not in said
    if built.job.name == "old-1":
        assert "mean over 5 min per column" in said
    if built.job.name == LONG:
        assert "on all 256 nodes" in said


@pytest.mark.parametrize("page", ["job", "logs", "plan"])
@pytest.mark.parametrize(
    "error",
    [
        NotAllowed("AWS refused sagemaker:DescribeTrainingJob.", "Allow sagemaker:DescribeTrainingJob for this role."),
        NoSuchJob('There is no training job "gone-1".', "The nearest name is gone-2."),
    ],
    ids=["denied", "missing"],
)
def test_why_a_job_cannot_be_shown_is_said_with_the_remedy(open_page: Open, page: str, error: NotAllowed) -> None:
    parameters = {"from": "job", "of": "gone-1"} if page == "plan" else {"job": "gone-1"}
    said = texts(open_page(FakeAccount(error=error, log_error=error), page, **parameters))
    assert error.message.rstrip(".") in said
    assert (error.remedy or "").rstrip(".") in said
