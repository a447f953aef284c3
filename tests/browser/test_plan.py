"""The Plan page in a browser: an answer at once, inputs that move it and its address, nothing that jumps."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

_TOPS = (
    "[...document.querySelectorAll('[data-testid=stVegaLiteChart], [data-testid=stCode]')]"
    ".map(each => Math.round(each.getBoundingClientRect().y))"
)


def _drawn(page: Page) -> None:
    expect(page.locator('[data-testid="stVegaLiteChart"] :is(canvas, svg)').nth(3)).to_be_attached()
    expect(page.locator('[data-testid="stCode"]').first).to_be_attached()


def test_an_input_moves_the_answer_in_place_and_its_address_brings_it_back(page: Page, demo: str) -> None:
    page.goto(f"{demo}/plan?from=gpt2-60b&change.active_microbatches=4")
    answer = page.get_by_text("Step time about the same")
    expect(answer).to_be_visible()
    _drawn(page)
    box = page.locator('[data-testid="stVegaLiteChart"]').first.bounding_box()
    assert box is not None
    assert box["y"] < 700, "the curve begins in the first screen"
    before = page.evaluate(_TOPS)
    active = page.locator(".st-key-plan-change-active_microbatches")
    active.get_by_test_id("stNumberInputStepDown").click()
    expect(page.get_by_text("Changed: active_microbatches 2 → 3.")).to_be_visible()
    assert page.evaluate(_TOPS) == before
    page.wait_for_url(re.compile(r"change\.active_microbatches=3"))
    page.reload()
    expect(active.locator("input")).to_have_value("3")
    expect(page.get_by_text("Changed: active_microbatches 2 → 3.")).to_be_visible()
    page.go_back()
    expect(active.locator("input")).to_have_value("4")


def test_a_job_is_chosen_and_its_advice_taken(page: Page, demo: str) -> None:
    page.goto(f"{demo}/plan?from=job")
    page.locator(".st-key-plan-newest button").filter(has_text="gpt2-20b-smp-pp4").click()
    expect(page.get_by_text("Nothing changed yet; GPU memory", exact=False)).to_be_visible()
    page.get_by_role("button", name="Apply the advice").click()
    expect(page.get_by_text("Step time -35 %", exact=False)).to_be_visible()
    page.wait_for_url(re.compile(r"from=job.*of=gpt2-20b.*change\.active_microbatches=6"))
    _drawn(page)
