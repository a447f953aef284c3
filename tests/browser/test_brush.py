"""A brush over the strip of a job moves all of its charts, and stays the viewer's while the job goes on."""

from __future__ import annotations

import csv
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.started import named

pytestmark = pytest.mark.browser

_STRIP = '[class*="st-key-overview-"] [data-testid="stVegaLiteChart"]'


def _brush(page: Page) -> tuple[float, float, float]:
    """(left, right) of the brush in shares of the strip's axis, and where the axis is in time: its last label's place."""
    edges: list[float] = page.evaluate(
        """strip => {
            const svg = document.querySelector(strip + ' svg');
            const brush = [...svg.querySelectorAll('path')].find(path => (path.getAttribute('fill') || '') === '#2f74bd');
            const box = brush.getBoundingClientRect(), whole = svg.getBoundingClientRect();
            const labels = [...svg.querySelectorAll('.role-axis-label text')].map(text => text.getBoundingClientRect());
            const low = Math.max(...labels.map(label => label.bottom));
            const last = Math.max(...labels.filter(label => label.bottom > low - 3).map(label => label.left));
            return [box.left - whole.left, box.right - whole.left, last - whole.left];
        }""",
        _STRIP,
    )
    return edges[0], edges[1], edges[2]


def _drag(page: Page, strip: Locator, first: float, last: float) -> None:
    strip.scroll_into_view_if_needed()
    box = strip.bounding_box()
    assert box is not None
    height = box["y"] + 20
    page.mouse.move(box["x"] + first * box["width"], height)
    page.mouse.down()
    page.mouse.move(box["x"] + (first + last) / 2 * box["width"], height, steps=4)
    page.mouse.move(box["x"] + last * box["width"], height, steps=4)
    page.mouse.up()


def test_a_brush_moves_all_charts_and_outlives_three_refreshes(
    browser: Browser, page: Page, demo: str, names: list[str]
) -> None:
    name = named(names, "gpt2-10b-smp")
    page.goto(f"{demo}/job?job={name}")
    strip = page.locator(_STRIP)
    expect(strip.locator("svg")).to_be_visible()
    charts = page.locator('[data-testid="stVegaLiteChart"]')
    expect(charts).to_have_count(7)
    expect(charts.last.locator("svg")).to_be_attached()
    _drag(page, strip, 0.5, 0.7)
    page.wait_for_url(re.compile("until="))
    shown = page.get_by_text("The charts below show", exact=False)
    expect(shown).to_contain_text(" of ")
    window, address = shown.inner_text().partition(",")[0], urlsplit(page.url).query
    part = window.removeprefix("The charts below show ")
    for said in (r"A step takes .*", r"GPU \d+ % .*", r"GPU memory \d+ % .*"):
        expect(page.get_by_text(re.compile(f"^{said} from {part}")).first).to_be_attached()
    page.evaluate("strip => document.querySelector(strip).dataset.mark = 'mine'", _STRIP)
    scrolled = page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop")
    before = _brush(page)

    updated = page.get_by_text(re.compile(r"^Updated ")).first
    seen = {updated.inner_text()}
    for _ in range(120):
        if len(seen) > 3 and _brush(page)[2] != before[2]:
            break
        page.wait_for_timeout(500)
        seen.add(updated.inner_text())
    after = _brush(page)
    assert len(seen) > 3, f"the page did not go on: {seen}"
    # The axis has grown by a minute or so of most of an hour (its last label moved, or there is another one), and the
    # brush has gone along with its time.
    assert after[2] != before[2]
    assert after[0] <= before[0] < before[0] + 0.9 * (before[1] - before[0]) < after[1] <= before[1]
    assert shown.inner_text().partition(",")[0] == window
    assert urlsplit(page.url).query == address
    assert page.evaluate("strip => document.querySelector(strip).dataset.mark", _STRIP) == "mine"
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == scrolled
    expect(charts).to_have_count(7)

    context = browser.new_context(viewport={"width": 1440, "height": 900})
    colleague = context.new_page()
    colleague.goto(page.url)
    expect(colleague.get_by_text(window, exact=False)).to_be_visible()
    expect(colleague.locator(f"{_STRIP} svg")).to_be_visible()
    fresh = _brush(colleague)
    assert fresh[0] == pytest.approx(after[0], abs=12)
    assert fresh[1] == pytest.approx(after[1], abs=12)
    context.close()

    with page.expect_download() as download:
        page.locator(".st-key-csv-" + name + "-step-time button:visible").click()
    assert download.value.suggested_filename == f"{name}-step-time.csv"
    lines = download.value.path().read_text().splitlines()
    assert lines[0].startswith("series,at,low_s,p10_s,median_s,mean_s,p90_s,high_s")
    first, last = (parse_qs(address)[end][0] for end in ("from", "until"))
    times = [re.sub(r"[-:]|\.\d+", "", row[1]) for row in list(csv.reader(lines))[1:]]
    assert first <= min(times)
    assert max(times) <= last

    page.get_by_text("Whole job").click()
    expect(page.get_by_text("The charts below show the whole job", exact=False)).to_be_visible()
    assert "until=" not in page.url
