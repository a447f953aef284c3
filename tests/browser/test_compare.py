"""The Compare page in a browser: a link opens it with its charts, another job is chosen, the address follows."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

_DRAWN = '[data-testid="stVegaLiteChart"] :is(canvas, svg)'


def test_a_proposed_pair_opens_with_its_charts_and_another_job_moves_the_address(page: Page, demo: str) -> None:
    page.goto(f"{demo}/compare")
    page.get_by_role("link", name="vit-630m-mics-4 vs. vit-630m-mics-32").click()
    page.wait_for_url(re.compile(r"/compare\?.*jobs=vit-630m-mics-32.*vit-630m-mics-4"))
    verdict = page.get_by_text("B takes 14.0 % less time")
    expect(verdict).to_be_visible()
    expect(page.locator(_DRAWN).nth(2)).to_be_attached()
    expect(page.get_by_text("The prediction held.").first).to_be_visible()
    box = verdict.bounding_box()
    assert box is not None
    assert box["y"] < 450
    pair = page.url
    chosen = page.locator(".st-key-compare-jobs input")
    chosen.fill("churn-mlp")
    page.get_by_role("option", name=re.compile("churn-mlp")).first.click()
    expect(page.get_by_text("1 of 2 takes less time than A", exact=False)).to_be_visible()
    page.wait_for_url(re.compile("churn-mlp"))
    assert unquote(page.url).count(",") == 2
    page.go_back()
    expect(verdict).to_be_visible()
    page.go_back()
    expect(page.get_by_text("Choose two or more jobs")).to_be_visible()
    page.goto(pair)
    expect(verdict).to_be_visible()
    expect(page.locator(_DRAWN).nth(2)).to_be_attached()
