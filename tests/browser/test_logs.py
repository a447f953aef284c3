"""The Logs page in a browser: it follows a running job and leaves the reader's scroll; a finding leads to its line."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.started import TABLE, named

pytestmark = pytest.mark.browser

_EACH = "each => [each.scrollTop, each.scrollHeight - each.clientHeight]"


def _place(page: Page) -> tuple[float, float]:
    """How far the table is scrolled, and how far it can be."""
    top, most = page.locator(TABLE).evaluate(_EACH)
    return top, most


def _until(page: Page, check: Callable[[float, float], bool]) -> None:
    for _ in range(300):
        if check(*_place(page)):
            return
        page.wait_for_timeout(200)
    raise AssertionError(f"the table stands at {_place(page)}")


def test_following_leaves_the_scroll_and_a_line_has_an_address(page: Page, demo: str) -> None:
    page.goto(f"{demo}/logs")
    page.locator(".st-key-logs-newest button").filter(has_text="gpt2-10b-smp").first.click()
    table = page.locator(TABLE)
    expect(table).to_be_visible()
    expect(page.get_by_text(re.compile(r"Read .* with \d+ calls?"))).to_be_visible()
    _until(page, lambda top, most: top > 100 and most - top < 60)
    table.hover()
    page.mouse.wheel(0, -2_400)
    page.wait_for_timeout(500)
    place, height = _place(page)
    assert place < height - 500
    shown = table.locator('[role="row"]').nth(40).bounding_box()
    _until(page, lambda _, most: most > height + 60)
    assert table.locator('[role="row"]').nth(40).bounding_box() == shown, "lines came, and the reader's stayed"
    head, box = table.locator('[role="row"]').first.bounding_box(), table.bounding_box()
    assert head is not None
    assert box is not None
    assert abs(head["y"] - box["y"]) < 3, "the header stays"
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


@pytest.mark.parametrize("page", [{"viewport": {"width": width, "height": 844}} for width in (800, 390)], indirect=True)
def test_a_failed_job_opens_at_its_first_error_with_room_for_the_line(page: Page, demo: str, names: list[str]) -> None:
    page.goto(f"{demo}/logs?job={named(names, 'gptj-6b')}")
    page.wait_for_url(re.compile("quote="))
    line = page.locator(f"{TABLE} .row.here .k-code")
    expect(line).to_contain_text("CUDA out of memory")
    usual = page.locator(f"{TABLE} .row:not(.error):not(.warning) .k-code").first
    colour, font = "each => getComputedStyle(each).color", "each => getComputedStyle(each).fontFamily"
    assert line.evaluate(colour) != usual.evaluate(colour)
    assert "mono" in line.evaluate(font).lower()
    table, room = page.locator(TABLE).bounding_box(), line.bounding_box()
    assert table is not None
    assert room is not None
    assert room["width"] > 0.55 * table["width"]
    assert page.locator(TABLE).evaluate("each => each.scrollWidth - each.clientWidth") <= 1
