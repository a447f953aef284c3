"""What a person sees of the demo: the sample jobs, one of them with findings and charts, links that hold, live updates."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from monitor.show.job.header import TILE_HEIGHT_PX
from tests.browser.started import TABLE, named

pytestmark = pytest.mark.browser

_SIMULATED = "Simulated sample account"


def _wide(width: int, scheme: str) -> dict[str, object]:
    return {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}


def test_the_demo_shows_its_sample_jobs_and_a_row_opens_one(page: Page, demo: str, names: list[str]) -> None:
    assert len(set(names)) >= 8
    page.goto(demo)
    expect(page.locator(TABLE)).to_contain_text("algo-3 is slow")
    page.locator(TABLE).get_by_text("algo-3 is slow").click()
    page.wait_for_url(re.compile(r"/job\?.*job="))
    expect(page.get_by_text(_SIMULATED)).to_be_visible()


def test_a_job_shows_findings_first_then_charts(page: Page, demo: str, names: list[str]) -> None:
    name = named(names, "gpt2-20b")
    page.goto(f"{demo}/job?job={name}")
    finding = page.get_by_text(re.compile(r"GPUs wait for 5\d % of the time")).first
    expect(finding).to_be_visible()
    charts = page.locator('[data-testid="stVegaLiteChart"]')
    expect(charts.nth(3)).to_be_attached()
    where, chart = finding.bounding_box(), charts.first.bounding_box()
    assert where is not None
    assert chart is not None
    assert where["y"] < 900
    assert where["y"] < chart["y"]
    drawn = page.locator('[data-testid="stVegaLiteChart"] canvas, [data-testid="stVegaLiteChart"] svg')
    expect(drawn.nth(3)).to_be_attached()
    expect(page.get_by_text(re.compile(r"active_microbatches from 2 to \d")).first).to_be_visible()


def test_the_answer_and_its_next_step_stand_in_the_first_screen(page: Page, demo: str, names: list[str]) -> None:
    name = named(names, "llama2-13b")
    page.goto(f"{demo}/job?job={name}")
    for words in (re.compile(r"No step for \d+ min"), "Next step.", "Show the evidence"):
        place = page.get_by_text(words).first
        expect(place).to_be_visible()
        box = place.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 900


@pytest.mark.parametrize("page", [{"timezone_id": "Asia/Tokyo"}], ids=["Tokyo"], indirect=True)
def test_why_is_drawn_when_asked_for_and_stays_open_while_the_job_goes_on(
    page: Page, demo: str, names: list[str]
) -> None:
    name = named(names, "llama2-13b")
    page.goto(f"{demo}/job?job={name}")
    charts = page.locator('[data-testid="stVegaLiteChart"]')
    expect(charts).to_have_count(8)
    page.get_by_text("Show the evidence").click()
    expect(charts).to_have_count(9)
    expect(
        page.get_by_text("Times here are in your time zone, JST; the sentences above use UTC", exact=False)
    ).to_be_visible()
    page.evaluate("document.querySelector('[data-testid=stVegaLiteChart]').dataset.mark = 'mine'")
    # A running job's page is drawn anew every few seconds.
    updated = page.get_by_text("Updated", exact=False).first
    seen = {updated.inner_text()}
    for _ in range(40):
        if len(seen) >= 3:
            break
        page.wait_for_timeout(1_000)
        seen.add(updated.inner_text())
    assert len(seen) >= 3, f"the page did not go on: {seen}"
    expect(charts).to_have_count(9)
    assert page.evaluate("document.querySelector('[data-testid=stVegaLiteChart]').dataset.mark") == "mine"
    page.get_by_text("Show the evidence").click()
    expect(charts).to_have_count(8)


def test_the_timeline_names_the_first_error_and_can_be_read_as_a_table(page: Page, demo: str, names: list[str]) -> None:
    name = named(names, "gptj-6b")
    page.goto(f"{demo}/job?job={name}")
    expect(page.get_by_text("The first error is on algo-2", exact=False).first).to_be_visible()
    page.get_by_text("As a table").click()
    table = page.locator('[data-testid="stDataFrame"] [role="grid"]').filter(has_text="first error")
    expect(table.first).to_contain_text("CUDA out of memory")


@pytest.mark.parametrize("path", ["/job?job=no-such-job-1", "/job?job=%3Cscript%3Ealert(1)%3C/script%3E"])
def test_a_wrong_name_in_the_address_is_said_in_words(page: Page, demo: str, path: str) -> None:
    page.goto(demo + path)
    expect(page.get_by_text(_SIMULATED)).to_be_visible()
    expect(page.get_by_role("alert").filter(has_text=re.compile("name|no training job", re.IGNORECASE))).to_be_visible()
    expect(page.get_by_text("Traceback")).to_have_count(0)


def test_a_link_to_a_job_opens_it_in_its_frame(page: Page, demo: str, names: list[str]) -> None:
    name = named(names, "llama2-7b")
    page.goto(f"{demo}/job?job={name}")
    expect(page.get_by_text(_SIMULATED)).to_be_visible()
    expect(page.get_by_text("algo-3 is slow").first).to_be_visible()
    assert f"job={name}" in page.url


def test_a_running_job_updates_in_place(page: Page, demo: str, names: list[str]) -> None:
    name = named(names, "gpt2-10b")
    page.goto(f"{demo}/job?job={name}")
    expect(page.locator('[data-testid="stVegaLiteChart"]')).to_have_count(7)
    # By keyboard: it may lie under the bar on top.
    page.locator(".st-key-configuration-part summary").press("Enter")
    table = (
        page.get_by_text("Reading a value", exact=False)
        .or_(page.locator('[data-testid="stExpander"] details[open]'))
        .first
    )
    expect(table).to_be_attached()
    page.evaluate("document.querySelector('[data-testid=stVegaLiteChart]').dataset.mark = 'mine'")
    page.evaluate("document.querySelector('[data-testid=stMain]').scrollTo(0, 300)")
    seen = set()
    for _ in range(60):
        text = page.locator('[data-testid="stMain"]').inner_text()
        seen |= set(re.findall(r"([\d,]+) log lines", text))
        if len(seen) >= 3:
            break
        page.wait_for_timeout(1_500)
    assert len(seen) >= 3, f"the page did not follow the job: {seen}"
    # The same chart element, the open part and the place on the page are still there.
    assert page.evaluate("document.querySelector('[data-testid=stVegaLiteChart]').dataset.mark") == "mine"
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 300
    expect(page.locator('[data-testid="stExpander"] details[open]').first).to_be_attached()


@pytest.mark.parametrize(
    "page", [_wide(1440, "light"), _wide(800, "dark")], ids=["wide-light", "narrow-dark"], indirect=True
)
def test_nothing_is_wider_than_the_window_or_higher_than_its_tile(page: Page, demo: str, names: list[str]) -> None:
    name, pair = named(names, "gpt2-20b"), ",".join(names[:2])
    of_tiles = ("/", f"/job?job={name}")
    for path in (*of_tiles, "/plan", "/thresholds?when=step_time > 1", f"/compare?jobs={pair}"):
        page.goto(demo + path)
        expect(page.get_by_text(_SIMULATED)).to_be_visible()
        expect(
            page.locator('[data-testid="stMetric"], [data-testid="stVegaLiteChart"], [data-testid="stDataFrame"]').first
        ).to_be_visible()
        wide = page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
        assert wide <= page.evaluate("innerWidth")
        if path in of_tiles:
            expect(page.get_by_test_id("stMetric").nth(4)).to_be_visible()
            heights = page.evaluate(
                "[...document.querySelectorAll('[data-testid=stMetric]')]"
                ".map(each => [each.offsetHeight, each.scrollHeight])"
            )
            assert all(needed <= given == TILE_HEIGHT_PX for given, needed in heights), heights
