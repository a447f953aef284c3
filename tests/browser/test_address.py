"""The address in a browser: the account and the filters are in it, links carry them, back and reload bring them again."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.started import TABLE

pytestmark = pytest.mark.browser


def _region(page: Page) -> str:
    return page.locator(".st-key-of-region input").input_value()


def _choose(page: Page, name: str, text: str) -> None:
    page.locator(f".st-key-of-{name} input").click()
    page.keyboard.type(text)
    page.keyboard.press("Enter")


def test_a_link_with_a_region_holds_on_every_page_and_after_a_reload(page: Page, demo: str) -> None:
    page.goto(f"{demo}/job?job=some-job&region=eu-west-1")
    expect(page.get_by_text(re.compile("no training job 'some-job' in eu-west-1"))).to_be_visible()
    for name in ("Plan", "Thresholds", "Job"):
        page.get_by_role("link", name=name, exact=True).first.click()
        page.wait_for_url(re.compile(rf"/{name.lower()}\?.*region=eu-west-1"))
    page.wait_for_url(re.compile("job=some-job"))
    expect(page.get_by_text(re.compile("no training job 'some-job' in eu-west-1"))).to_be_visible()
    page.get_by_role("link", name="See all jobs").click()
    page.wait_for_url(re.compile(r"/\?region=eu-west-1"))
    expect(page.get_by_text("No training jobs in eu-west-1")).to_be_visible()
    page.reload()
    expect(page.get_by_text("No training jobs in eu-west-1")).to_be_visible()


def test_a_region_is_chosen_in_the_sidebar_and_back_undoes_it(page: Page, demo: str) -> None:
    page.goto(demo)
    table = page.locator(TABLE)
    expect(table).to_be_visible()
    page.get_by_test_id("stExpandSidebarButton").click()
    _choose(page, "region", "eu-west-1")
    page.wait_for_url(re.compile(r"[?&]region=eu-west-1"))
    expect(page.get_by_text("No training jobs in eu-west-1")).to_be_visible()
    page.go_back()
    expect(table).to_be_visible()
    page.wait_for_url(re.compile(r"[?&]region=us-east-1"))


def test_filters_stand_in_the_address_and_are_found_again(page: Page, demo: str) -> None:
    page.goto(f"{demo}/?status=Completed")
    grid = page.locator(TABLE)
    page.locator(".st-key-of-search input").fill("gpt2-30b")
    page.keyboard.press("Enter")
    expect(grid).to_have_attribute("aria-rowcount", "3")
    page.wait_for_url(re.compile("status=Completed.*&search=gpt2-30b"))
    page.get_by_role("link", name="Plan", exact=True).first.click()
    page.wait_for_url(re.compile("/plan"))
    page.get_by_role("link", name="Jobs", exact=True).first.click()
    page.wait_for_url(re.compile("search=gpt2-30b"))
    expect(grid).to_have_attribute("aria-rowcount", "3")
    page.reload()
    expect(grid).to_have_attribute("aria-rowcount", "3")
    page.get_by_role("button", name="Clear filters").click()
    page.wait_for_url(re.compile(r"127\.0\.0\.1:\d+/\?region=us-east-1&account=\d{12}$"))


def test_another_job_is_chosen_on_the_job_page_and_its_address_brings_it_back(page: Page, demo: str) -> None:
    page.goto(f"{demo}/job?job=first-name")
    expect(page.get_by_text(re.compile("no training job 'first-name'"))).to_be_visible()
    _choose(page, "job", "second-name")
    page.wait_for_url(re.compile(r"job\?job=second-name"))
    expect(page.get_by_text(re.compile("no training job 'second-name'"))).to_be_visible()
    page.go_back()
    expect(page.get_by_text(re.compile("no training job 'first-name'"))).to_be_visible()
    page.go_forward()
    page.reload()
    expect(page.get_by_text(re.compile("no training job 'second-name'"))).to_be_visible()
