"""The Logs page in a browser: it follows a running job and leaves the reader's scroll; a finding leads to its line."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

_TAIL = '[class*="st-key-logs-table-"][class*="-tail"]'
_EACH = f"() => {{ const each = document.querySelector('{_TAIL}'); const most = each.scrollHeight - each.clientHeight;"
_PLACE = "each => [each.scrollTop, each.scrollHeight - each.clientHeight]"


def test_following_leaves_the_scroll_and_a_line_has_an_address(page: Page, demo: str) -> None:
    page.goto(f"{demo}/logs")
    page.locator(".st-key-logs-newest button").filter(has_text="gpt2-10b-smp").first.click()
    tail = page.locator(_TAIL).first
    expect(tail).to_be_visible()
    expect(page.get_by_text(re.compile(r"Read .* with \d+ calls?"))).to_be_visible()
    page.wait_for_function(f"{_EACH} return each.scrollTop > 100 && most - each.scrollTop < 60 }}")
    box = tail.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 200)
    for _ in range(8):
        # As a hand does it: the table may still be on its way to the end.
        page.mouse.wheel(0, -300)
        page.wait_for_timeout(250)
    page.wait_for_timeout(1_000)
    place, height = tail.evaluate(_PLACE)
    assert place < height - 500
    page.wait_for_function(f"{_EACH} return most > {height + 60} }}")
    assert tail.evaluate(_PLACE)[0] == place, "lines came, and the reader's lines stayed where they were"
    page.mouse.click(box["x"] + 20, box["y"] + 150)
    page.wait_for_url(re.compile(r"event=\d+-[0-9a-f]{8}"))
    line = page.locator('[data-testid="stCode"]')
    expect(line).to_contain_text("Batch")
    said = line.inner_text()
    page.reload()
    expect(line).to_have_text(said)
    expect(
        page.get_by_role("switch", name="Follow").or_(page.get_by_role("checkbox", name="Follow"))
    ).not_to_be_checked()
