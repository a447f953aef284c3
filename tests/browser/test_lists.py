"""The list of jobs under a hand: arrows, Enter, boxes, a part of a name; nothing is hidden, nothing scrolls sideways."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.started import TABLE, named

pytestmark = pytest.mark.browser


def _open(page: Page, demo: str) -> Locator:
    page.goto(demo)
    expect(page.locator(TABLE)).to_contain_text("algo-3 is slow")
    expect(page.get_by_text("jobs, worst first")).to_be_visible()
    return page.locator(f'{TABLE} .lines [role="row"]')


def test_arrows_move_space_selects_and_enter_opens(page: Page, demo: str) -> None:
    rows = _open(page, demo)
    names = page.locator(f"{TABLE} a").all_text_contents()
    rows.first.focus()
    for key in ("ArrowDown", "Space", "ArrowDown", "ArrowDown", "Space", "ArrowUp"):
        page.keyboard.press(key)
    expect(rows.nth(2)).to_be_focused()
    expect(page.get_by_role("link", name="Compare these 2")).to_be_visible()
    expect(rows.nth(1)).to_have_attribute("aria-selected", "true")
    expect(rows.nth(2)).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(rf"job={names[2]}"))


def test_two_rows_that_are_ticked_are_compared(page: Page, demo: str) -> None:
    rows = _open(page, demo)
    for name in ("llama2-7b", "gpt2-20b"):
        rows.filter(has_text=name).locator("input").click()
    page.get_by_role("link", name="Compare these 2").click()
    page.wait_for_url(re.compile(r"compare\?.*jobs=llama2-7b[^,&]*(%2C|,)gpt2-20b"))


def test_rows_ticked_while_the_page_still_answers_stay_ticked(page: Page, demo: str) -> None:
    page.goto(demo)
    rows = page.locator(f'{TABLE} .lines [role="row"]')
    expect(rows.nth(5)).to_be_visible()
    # By name: rows change places, and for a moment stand there twice, while the first reviews come in.
    for name in list(dict.fromkeys(rows.locator("a").all_text_contents()))[:6]:
        rows.filter(has_text=name).last.locator("input").evaluate("box => box.click()")
        page.wait_for_timeout(60)
    expect(page.get_by_role("link", name="Compare these 6")).to_be_visible()


def test_a_header_sorts_and_the_first_click_is_the_largest(page: Page, demo: str) -> None:
    rows = _open(page, demo)
    page.locator(TABLE).get_by_role("button", name="Cost", exact=True).click()
    expect(page.get_by_text("sorted by Cost")).to_be_visible()
    # The words above the rows come a moment before the rows do.
    expect(rows.first).to_contain_text("llama2-7b")
    costs = [each.replace("$", "") for each in rows.locator(".cell:nth-child(6)").all_text_contents()]
    known = [float(each) for each in costs if each != "–"]
    assert known == sorted(known, reverse=True)
    assert len(known) > 5


@pytest.mark.parametrize("place", ["", "job", "logs", "plan?from=job"])
def test_part_of_a_name_and_enter_open_the_one_job(page: Page, demo: str, names: list[str], place: str) -> None:
    page.goto(f"{demo}/{place}")
    field = page.locator(".st-key-of-search input") if not place else page.get_by_role("combobox", name="Job").first
    field.click()
    field.press_sequentially("whisper")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(rf"(job|of)={named(names, 'whisper')}"))


@pytest.mark.parametrize(
    "page", [{"viewport": {"width": width, "height": 900}} for width in (1440, 800, 390)], indirect=True
)
def test_nothing_scrolls_sideways_and_what_matters_most_stays(page: Page, demo: str) -> None:
    _open(page, demo)
    table = page.locator(TABLE)
    assert table.evaluate("each => each.scrollWidth - each.clientWidth") <= 1
    shown = table.evaluate(
        "each => [...each.querySelectorAll('[role=columnheader]')].filter(e => e.offsetWidth).map(e => e.innerText)"
    )
    assert [name for name in shown if name][:2] == ["Job", "Verdict"]
    assert "Recoverable" in shown
    ends = table.locator("a").first.evaluate(
        "e => e.lastChild.getBoundingClientRect().right <= e.getBoundingClientRect().right + 1"
    )
    assert ends, "the end of a name is in sight"
