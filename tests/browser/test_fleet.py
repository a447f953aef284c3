"""The Fleet page in a real browser: an answer while the sample is still archived, choices in the address, down to a job."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    "page",
    [{"viewport": {"width": width, "height": 900}, "color_scheme": scheme} for width, scheme in ((1440, "light"), (800, "dark"))],
    indirect=True,
)  # fmt: skip
def test_the_answer_the_bars_and_the_weeks_are_there_and_nothing_scrolls_sideways(page: Page, demo: str) -> None:
    page.goto(f"{demo}/fleet")
    expect(page.get_by_role("heading", name=re.compile("bought nothing"))).to_be_visible()
    # Whoever comes first sees the figures of the jobs that are archived by then.
    expect(page.get_by_text("Archiving the sample jobs")).to_have_count(0)
    expect(page.get_by_text(re.compile(r"in 1[0-9] jobs; "))).to_be_visible()
    for words in ("By team, the most wasted first", "What bought nothing, by team and cause", "Week by week"):
        expect(page.get_by_text(words, exact=True)).to_be_visible()
    for chart in range(2):
        expect(page.locator('[data-testid="stVegaLiteChart"] :is(canvas, svg)').nth(chart)).to_be_visible()
    expect(page.get_by_text("Not known: of jobs that made steps and were never seen to save.")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_what_is_chosen_stands_in_the_address_and_a_name_leads_to_its_job(page: Page, demo: str) -> None:
    page.goto(f"{demo}/fleet?time=52w")
    page.get_by_role("radio", name="Project", exact=True).click()
    page.wait_for_url(re.compile(r"by=project"))
    expect(page.get_by_text("By project, the most wasted first")).to_be_visible()
    use = page.get_by_role("combobox", name="Use")
    use.click()
    use.press_sequentially("idle")
    use.press("Enter")
    page.wait_for_url(re.compile(r"time=52w.*use=idle|use=idle.*time=52w"))
    expect(page.get_by_text("What was idle in each job")).to_be_visible()
    # The table is a canvas: its first cell is the name of the job with the most.
    table = page.locator('[data-testid="stDataFrame"]').last
    expect(table).to_be_visible()
    for _ in range(10):
        # It takes a moment until the canvas of new rows takes clicks, which nothing in the page tells.
        table.click(position={"x": 60, "y": 52})
        page.wait_for_timeout(1000)
        if page.context.pages[1:]:
            break
    opened = page.context.pages[-1]
    expect(opened).to_have_url(re.compile(r"/job\?.*job=llama2-13b-smp2-.*#llama2-13b-smp2-"))
    expect(opened.get_by_text("No step for").first).to_be_visible()
    page.reload()
    expect(page.get_by_text("What was idle in each job")).to_be_visible()
