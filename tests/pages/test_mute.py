"""Muting on the Job page: with a reason, shown in a closed list, and taken back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from monitor.model import Report
from monitor.review.muted import muted_file, mutes
from monitor.settings import READ_ONLY
from tests import situations
from tests.pages.conftest import Open
from tests.pages.fake import FakeAccount, texts

NAME = "gpt-60b-2026-09-25-12-05-00-123"
WINDOW = "raise-active-microbatches"


def _report() -> Report:
    report = situations.low_utilization()
    return replace(report, run=replace(report.run, job=replace(report.job, name=NAME)))


def _muted(page: AppTest, reason: str, jobs: str | None = None) -> AppTest:
    page.text_input(key=f"mute-reason-{WINDOW}").input(reason)
    if jobs is not None:
        page.radio(key=f"mute-jobs-{WINDOW}").set_value(jobs)
    return page.button(key=f"mute-save-{WINDOW}").click().run()


def test_a_finding_is_muted_with_its_reason_and_unmuted(open_page: Open) -> None:
    page = _muted(open_page(FakeAccount((_report(),)), "job", job=NAME), "it is planned")
    assert not page.exception
    said = texts(page)
    assert "Healthy as far as can be seen, but for 1 muted finding" in said
    assert "Muted: it is planned, since" in said
    assert [part.label for part in page.expander if "muted" in part.label] == ["1 muted finding"]
    assert not page.success
    assert mutes()[0].job == NAME
    page = page.button(key=f"unmute-{WINDOW}").click().run()
    assert "Healthy" not in texts(page)
    assert mutes() == ()


def test_all_runs_of_a_base_can_be_meant(open_page: Open) -> None:
    page = _muted(open_page(FakeAccount((_report(),)), "job", job=NAME), "known", "All runs of gpt\\-60b")
    assert "for all runs of gpt-60b." in texts(page)
    (kept,) = mutes()
    assert (kept.job, kept.all_runs) == ("gpt-60b", True)


def test_without_a_reason_nothing_is_muted(open_page: Open) -> None:
    page = _muted(open_page(FakeAccount((_report(),)), "job", job=NAME), "  ")
    assert "A finding is muted with a reason." in texts(page)
    assert mutes() == ()


def test_what_ended_the_job_offers_no_mute(open_page: Open) -> None:
    page = open_page(FakeAccount((situations.failed(),)), "job", job="llama-ft-3")
    assert not [each for each in page.button if each.key == "mute-save-cuda-out-of-memory"]


def test_a_file_that_cannot_be_read_is_said_and_the_page_stays(open_page: Open) -> None:
    muted_file().parent.mkdir(parents=True)
    muted_file().write_text("[[mute]", encoding="utf-8")
    said = texts(open_page(FakeAccount((_report(),)), "job", job=NAME))
    assert "The muted findings in" in said
    assert "GPUs wait half of the time" in said


def test_a_visitor_mutes_and_unmutes_nothing(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    page = _muted(open_page(FakeAccount((_report(),)), "job", job=NAME), "it is planned")
    kept = mutes()
    muted_page = page
    monkeypatch.setenv(READ_ONLY, "1")
    # The page that was open before offers it, and is refused.
    page = muted_page.button(key=f"unmute-{WINDOW}").click().run()
    assert mutes() == kept
    page = open_page(FakeAccount((_report(),)), "job", job=NAME)
    assert [each.key for each in page.button if "mute" in str(each.key)] == []
    assert "Muted: it is planned, since" in texts(page)
