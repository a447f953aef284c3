"""What a person sees of jobs that nobody prepared: an account of 64 nodes and more, logs of many pages, under quotas."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.started import TABLE
from tests.browser.strangers import FAILED, FINISHED, HUGE, RESTARTED, RUNNING

pytestmark = pytest.mark.browser

_STILL_READ = re.compile(r"still (?:being read|coming in)")


def _whole(page: Page) -> None:
    """Nothing on the page is an error of this program."""
    assert page.locator('[data-testid="stException"]').count() == 0
    assert page.get_by_text("Report to copy").count() == 0


@pytest.mark.parametrize(
    ("job", "status", "verdict"),
    [
        (FINISHED, "completed", None),
        (RUNNING, "running", None),
        (FAILED, "failed", "GPU memory"),
        (RESTARTED, "completed", None),
        (HUGE, "running", None),
    ],
)
def test_a_job_is_judged_while_its_log_comes_in_and_after(
    page: Page, strangers: str, job: str, status: str, verdict: str | None
) -> None:
    page.goto(f"{strangers}/job?job={job}")
    answer = page.locator('[data-testid="stAlert"]').first
    expect(answer).to_be_visible()
    expect(page.get_by_text(status, exact=True).first).to_be_visible()
    _whole(page)
    # A log of fifty thousand lines takes its time under the quotas; the page says so until it is there.
    expect(page.get_by_text(_STILL_READ)).to_have_count(0, timeout=150_000)
    expect(answer).to_be_visible()
    if verdict:
        expect(answer).to_contain_text(verdict)
    expect(page.locator('[data-testid="stVegaLiteChart"]').nth(2)).to_be_attached()
    _whole(page)


@pytest.mark.parametrize(("job", "line"), [(FINISHED, "DEBUG worker"), (FAILED, "CUDA out of memory")])
def test_its_lines_are_shown(page: Page, strangers: str, job: str, line: str) -> None:
    page.goto(f"{strangers}/logs?job={job}")
    expect(page.get_by_text(re.compile(r"Read .* with \d+ calls?"))).to_be_visible()
    expect(page.locator(TABLE).first).to_contain_text(line)
    _whole(page)


def test_they_are_all_listed_and_reviewed(page: Page, strangers: str) -> None:
    page.goto(strangers)
    table = page.locator(TABLE).first
    for job in (FINISHED, RUNNING, FAILED, RESTARTED, HUGE):
        expect(table).to_contain_text(job)
    expect(table).to_contain_text("GPU memory", timeout=150_000)
    _whole(page)
