"""A part of a page that fails says so in its place; the rest of the page is drawn, and no traceback is seen."""

from __future__ import annotations

import importlib
from dataclasses import replace

import pytest

from monitor.errors import NotAllowed
from monitor.faults import fault
from monitor.model import Gap
from monitor.review import Snapshot
from monitor.show import data
from monitor.show.jobs.table import standing
from tests import situations
from tests.pages.conftest import Open
from tests.pages.fake import FakeAccount, texts

FAILED = "failed because of an error in Trainwatch itself (KeyError: 'oops'). Its traceback is in"
# Where a part is drawn -> what the page calls it.
PARTS = {
    ("job.header", "show_header"): "Header",
    ("job.header", "show_links"): "Links of the job",
    ("job.findings", "show_answer"): "Verdict and findings",
    ("job.findings", "_rest"): "Finding raise-active-microbatches",
    ("job.findings", "_note"): "Finding node-timing-unobservable",
    ("trouble", "show_gaps"): "What could not be read",
    ("job.header", "show_figures"): "Figures",
    ("job.pictures", "_phases"): "Where the time went",
    ("job.pictures", "_strip"): "Overview strip",
    ("job.pictures", "show_steps"): "Chart of the step times",
    ("job.pictures", "show_utilization"): "Chart of GPU utilization",
    ("job.pictures", "show_timeline"): "Timeline",
    ("job.pictures", "saved_rules"): "Charts",
    ("job.tables", "show_nodes"): "Nodes",
    ("job.tables", "show_configuration"): "Configuration",
    ("job.tables", "show_coverage"): "Coverage",
    ("job.pictures", "_times"): "Chart of the step times",
}


def _fails(*_: object, **__: object) -> None:
    raise KeyError("oops")


@pytest.mark.parametrize(("place", "part"), PARTS.items(), ids=[f"{room}.{name}" for room, name in PARTS])
def test_a_part_of_the_job_page_that_fails_costs_itself(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, place: tuple[str, str], part: str
) -> None:
    report = situations.low_utilization()
    report = replace(report, findings=(*report.findings, *situations.healthy().findings))
    account = FakeAccount((report,))
    room, name = place
    monkeypatch.setattr(importlib.import_module(f"monitor.show.{room}"), name, _fails)
    page = open_page(account, "job", job=report.job.name)
    said = texts(page)
    assert f"{part} {FAILED}" in said
    assert "Report to copy" in [each.label for each in page.expander]
    assert any(f"Failed: {part}" in each.value for each in page.code)
    assert "Traceback" not in said
    # What is drawn after it, and what before it.
    if part != "Coverage":
        assert "GetMetricData" in said or "calls" in said
    if part != "Verdict and findings":
        assert report.findings[0].title in said
    if part not in {"Figures"}:
        assert len(page.metric) >= 5


@pytest.mark.parametrize(
    ("page", "parameters", "room", "name", "part"),
    [
        (
            "compare",
            {"jobs": "gpt-60b-run-7,bert-large-run-3"},
            "compare.board",
            "show_spread",
            "Chart of the step times",
        ),
        (
            "compare",
            {"jobs": "gpt-60b-run-7,bert-large-run-3"},
            "compare.board",
            "show_answer",
            "Verdict of the comparison",
        ),
        ("plan", {"from": "job", "of": "gpt-60b-run-7"}, "plan.board", "show_curve", "Curve of the plan"),
        ("plan", {"from": "preset-gpt2-10b"}, "plan.board", "show_schedule", "Chart of the schedule"),
        ("logs", {"job": "gpt-60b-run-7"}, "logs.board", "_nothing", "Log lines"),
        ("thresholds", {}, "thresholds.board", "_none_saved", "Saved thresholds"),
    ],
)
def test_a_part_of_another_page_that_fails_costs_itself(
    open_page: Open,
    monkeypatch: pytest.MonkeyPatch,
    page: str,
    parameters: dict[str, str],
    room: str,
    name: str,
    part: str,
) -> None:
    other = situations.healthy()
    other = replace(other, run=replace(other.run, job=replace(other.job, name="bert-large-run-3")))
    monkeypatch.setattr(importlib.import_module(f"monitor.show.{room}"), name, _fails)
    shown = open_page(FakeAccount((situations.low_utilization(), other)), page, **parameters)
    assert f"{part} {FAILED}" in texts(shown)


@pytest.mark.parametrize("page", ["jobs", "job", "logs", "compare", "thresholds"])
def test_a_page_that_fails_shows_a_box_with_the_log_and_a_report(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    monkeypatch.setattr(data, "jobs", _fails)
    monkeypatch.setattr(data, "find", _fails)
    shown = open_page(FakeAccount((situations.healthy(),)), page)
    assert not shown.exception
    (box,) = shown.error
    assert box.proto.title == "An error in Trainwatch"
    said = texts(shown)
    assert f"This page {FAILED}" in said
    assert [each.label for each in shown.expander if each.label == "Report to copy"]
    assert any("Failed: This page" in code.value for code in shown.code)


def test_what_a_timer_draws_again_and_fails_shows_the_box_too(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    report = situations.running()
    account = FakeAccount((report,))

    def snapshot(name: str, *_: object, **__: object) -> Snapshot:
        if len(account.asked) > 2:
            raise KeyError("oops")
        account.asked.append(name)
        return Snapshot(report=report, updated_at=report.reviewed_at)

    monkeypatch.setattr(account, "snapshot", snapshot)
    shown = open_page(account, "job", job=report.job.name)
    assert not shown.exception
    assert f"This page {FAILED}" in texts(shown)


def test_a_button_that_fails_is_logged(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shown = open_page(FakeAccount(error=NotAllowed("No.", "", "sagemaker:ListTrainingJobs")), "jobs")
    monkeypatch.setattr(data, "forget", _fails)
    shown.run().button(key="again-jobs").click().run()
    log = tmp_path_factory.getbasetemp() / "state" / "trainwatch.log"
    assert "Failed: Trying again" in log.read_text(encoding="utf-8")


def test_a_review_that_failed_says_so_on_its_page_and_in_its_row(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = situations.healthy()
    told = fault(KeyError("oops"), "The review")
    account = FakeAccount((report,))
    monkeypatch.setattr(account, "snapshot", lambda *_, **__: Snapshot(error=told))
    page = open_page(account, "job", job=report.job.name)
    assert f"The review {FAILED}" in texts(page)
    assert any("Failed: The review" in code.value for code in page.code)
    assert standing(Snapshot(error=told)).words == f"Review failed: {told.message}"


def refused(action: str, what: str) -> Gap:
    """What AWS's refusal of a right leaves."""
    why = f"AWS does not allow {action} to arn:aws:sts::123456789012:assumed-role/Dev/kim."
    return Gap(what, why, "Have it allowed.", True, action, "", "arn:aws:logs:eu-west-1:123456789012:")  # type: ignore[arg-type]


@pytest.mark.parametrize("page", ["job", "compare", "jobs"])
def test_a_missing_right_is_the_first_thing_on_a_page(open_page: Open, page: str) -> None:
    report = situations.gappy()
    logs = refused("logs:FilterLogEvents", "logs")
    report = replace(report, run=replace(report.run, gaps=(*report.run.gaps, logs)))
    other = situations.low_utilization()
    parameters = {
        "job": {"job": report.job.name},
        "compare": {"jobs": f"{report.job.name},{other.job.name}"},
        "jobs": {},
    }[page]
    shown = open_page(FakeAccount((report, other)), page, **parameters)
    titles = [each.proto.title.replace("\\", "") for each in shown.warning]
    assert titles[:2] == ["Missing right: logs:FilterLogEvents", "Missing right: cloudwatch:GetMetricData"]
    body = [_kind(element) for element in shown.main]
    first = body.index("warning") if "warning" in body else 0
    assert not {"metric", "vega_lite_chart", "arrow_data_frame"} & set(body[:first])
    statement = shown.code[0].value
    assert '"logs:FilterLogEvents"' in statement
    assert "arn:aws:logs:eu-west-1:123456789012:log-group:/aws/sagemaker/TrainingJobs:*" in statement


def test_a_log_that_may_not_be_read_leads_with_the_right(open_page: Open) -> None:
    error = NotAllowed(
        "AWS does not allow logs:FilterLogEvents to these credentials.",
        "Have it allowed.",
        "logs:FilterLogEvents",
        "service control policy",
        "arn:aws-cn:logs:cn-north-1:123456789012:log-group:x",
    )
    report = situations.low_utilization()
    shown = open_page(FakeAccount((report,), log_error=error), "logs", job=report.job.name)
    said = texts(shown)
    assert "Missing right: logs:FilterLogEvents" in said
    assert "A service control policy denies it explicitly" in said
    assert "arn:aws-cn:logs:cn-north-1:123456789012:log-group:/aws/sagemaker/TrainingJobs" in shown.code[0].value


def _kind(element: object) -> str:
    return str(getattr(element, "type", ""))
