"""What would contradict another finding of the same job is not said beside it; and what a person copies stands by itself."""

from __future__ import annotations

import json

import pytest

from benchmarks.planted.catalogue import Ticket, scenario
from benchmarks.planted.source import PlantedSource
from monitor.charts import timeline
from monitor.diagnose.words.charts import phases_sentence
from monitor.diagnose.words.report import recoverable_words
from monitor.model import Finding, Price, Report
from monitor.review import Reviewer

_OTHERS = {"ml.p5.48xlarge": 63.30, "ml.p4de.24xlarge": 40.0}


@pytest.fixture(autouse=True)
def _priced(monkeypatch: pytest.MonkeyPatch) -> None:
    """P4d instances, on which a sample would cost a third more than on P5."""
    monkeypatch.setattr(PlantedSource, "price", lambda *_: Price(37.69, "AWS price list", _OTHERS))


def _report(planted: str | None, number: int) -> Report:
    job = scenario(Ticket(planted, number))
    return Reviewer(PlantedSource(job), job.plan.name).review(job.now)


def _found(report: Report) -> dict[str, Finding]:
    return {finding.id: finding for finding in report.findings}


@pytest.mark.parametrize("number", [0, 2])
def test_a_download_that_was_refused_is_no_slow_one(number: int) -> None:
    report = _report("access-denied", number)
    found = _found(report)
    assert "access-denied" in found
    assert "long-download" not in found
    assert "all before the program started; the longest part is download" in phases_sentence(
        report, timeline.segments(report.buckets)
    )


def test_a_policy_statement_stands_in_a_line_of_its_own() -> None:
    advice = _found(_report("access-denied", 0))["access-denied"].recommendation
    assert advice is not None
    assert json.loads(advice.code)["Action"] == "kms:Decrypt"


@pytest.mark.parametrize(
    ("planted", "number"), [("low-mfu", 1), ("pipeline-bubble", 0), ("needless-sharding", 1)], ids=lambda each: each
)
def test_gpus_that_only_look_busy_are_not_advised_a_faster_type(planted: str, number: int) -> None:
    found = _found(_report(planted, number))
    assert planted in found
    assert "instance-type" not in found


def test_a_cheaper_type_beside_nothing_else_is_no_saving_that_can_be_counted_on() -> None:
    report = _report(None, 11)
    assert "instance-type" in _found(report)
    assert recoverable_words(report) == ("$0", "cheaper prices aside")
