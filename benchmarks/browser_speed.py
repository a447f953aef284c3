"""How soon does the page of a large job show its answer in a real browser, how soon does it follow a hand, does it stay small?

BROWSER_NODES (64), BROWSER_HOURS of the job (24), BROWSER_MINUTES of live updates (3). A whole hour:
``BROWSER_MINUTES=60 python -m benchmarks browser_speed``. It needs an installed Chromium.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, CDPSession, Locator, Page

from benchmarks.browser.board import FINISHED, LIVE, Board, board
from tests.browser.started import CHROMIUM, chromium

Row = tuple[str, ...]
#: What the issue of speed asks for: seconds to the first content, seconds of an interaction.
FIRST_CONTENT_S, INTERACTION_S = 1.5, 0.3
#: Memory in the last fifth of the refreshes, of that in the first.
MOST_GROWTH = 1.15
# Until then a browser compiles what it runs; what it holds grows by half in that minute.
_WARM_S = 60.0
_TURNS = 7
_PATIENCE_MS = 120_000
_failed: list[str] = []


def rows() -> list[Row]:
    """The table; lines that are not passed are ``failures``."""
    _failed.clear()
    if CHROMIUM is None:
        return [("no Chromium is installed", "apt-get install chromium")]
    nodes, hours = int(os.environ.get("BROWSER_NODES", "64")), float(os.environ.get("BROWSER_HOURS", "24"))
    table: list[Row] = [("what", "measured", "may be", "of it")]
    with board(nodes, hours) as shown, chromium() as browser:
        table.append((f"{nodes} nodes, {hours:g} h", "", "", ""))
        table += _opened(shown, browser)
        table += _followed(shown, browser)
        table += _stayed(shown, browser, 60 * float(os.environ.get("BROWSER_MINUTES", "3")))
    return table


def failures() -> list[str]:
    """What took longer, or more, than it may."""
    return list(_failed)


def _row(what: str, seconds: float, most_s: float | None) -> Row:
    if most_s is None:
        return (what, f"{seconds:.2f} s", "", "")
    if seconds > most_s:
        _failed.append(f"{what}: {seconds:.2f} s, may be {most_s:g} s")
    return (what, f"{seconds:.2f} s", f"{most_s:g} s", f"{seconds / most_s:.2f} x")


def _opened(shown: Board, browser: Browser) -> list[Row]:
    """A deep link in a window of its own, to the verdict and to the last chart."""
    first = _visit(shown, _window(browser))
    strange = [_visit(shown, _window(browser)) for _ in range(_TURNS)]
    # A browser that has the dashboard's own files, as one that was there before.
    known = _window(browser)
    again = [_visit(shown, known.context.new_page()) for _ in range(_TURNS + 1)][1:]
    return [
        _row("first visit after the start, of the review in the cache on disk: the page is there", first[0], None),
        _row("  the verdict", first[1], None),
        _row("a browser that was never there: the verdict", median(turn[1] for turn in strange), None),
        _row("a browser that was there before: the page is there", median(turn[0] for turn in again), None),
        _row("  the verdict", median(turn[1] for turn in again), FIRST_CONTENT_S),
        _row("  all charts", median(turn[2] for turn in again), None),
    ]


def _visit(shown: Board, page: Page) -> tuple[float, float, float]:
    """Seconds from the call of the address to the page's title, the verdict, and the last of the charts."""
    page.set_default_timeout(_PATIENCE_MS)
    begin_s = time.perf_counter()
    page.goto(shown.job(FINISHED), wait_until="commit")
    page.get_by_role("heading", level=1).wait_for()
    title_s = time.perf_counter() - begin_s
    page.locator('[data-testid="stAlert"]').first.wait_for()
    verdict_s = time.perf_counter() - begin_s
    charts(page).nth(3).wait_for(state="attached")
    charts_s = time.perf_counter() - begin_s
    page.close()
    return title_s, verdict_s, charts_s


def charts(page: Page) -> Locator:
    """The pictures that are drawn."""
    return page.locator('[data-testid="stVegaLiteChart"] :is(canvas, svg)')


def _window(browser: Browser) -> Page:
    page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.set_default_timeout(_PATIENCE_MS)
    return page


def _followed(shown: Board, browser: Browser) -> list[Row]:
    """From the end of a gesture to what it changes on the screen."""
    page = _window(browser)
    page.goto(shown.job(FINISHED))
    charts(page).nth(3).wait_for(state="attached")
    page.wait_for_timeout(2_000)
    brushed = [_brushed(page, turn) for turn in range(_TURNS)]
    opened = [_opened_why(page) for _ in range(_TURNS)]
    page.context.close()
    return [
        _row("a part of the time is chosen: its words are there", median(brushed), INTERACTION_S),
        _row("configuration is opened", median(opened), INTERACTION_S),
    ]


def _brushed(page: Page, turn: int) -> float:
    """Drags over the strip, each time over another part."""
    said = page.get_by_text("The charts below show")
    before = said.inner_text()
    # The chart's own picture, and not those of its tools.
    strip = page.locator('[class*="st-key-overview-"] [data-testid="stVegaLiteChart"]').first
    strip.scroll_into_view_if_needed()
    box = strip.bounding_box()
    assert box is not None
    middle = box["y"] + 20
    page.mouse.move(box["x"] + box["width"] * (0.2 + 0.02 * turn), middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.4, middle, steps=4)
    page.mouse.move(box["x"] + box["width"] * (0.6 + 0.03 * turn), middle, steps=4)
    page.mouse.up()
    return _until(
        page,
        "words => document.body.innerText.includes('The charts below show') && "
        "!document.body.innerText.includes(words)",
        before,
    )


def _opened_why(page: Page) -> float:
    part = page.locator(".st-key-configuration-part summary")
    part.scroll_into_view_if_needed()
    is_open = part.evaluate("each => each.parentElement.open")
    part.click()
    return _until(page, "was => document.querySelector('.st-key-configuration-part details').open !== was", is_open)


def _until(page: Page, is_so: str, given: object) -> float:
    """Seconds until an expression of the page becomes true, looked at with every picture it draws."""
    begin_s = time.perf_counter()
    page.wait_for_function(is_so, arg=given, polling="raf")
    seconds = time.perf_counter() - begin_s
    page.wait_for_timeout(1_500)
    return seconds


def _stayed(shown: Board, browser: Browser, lasts_s: float) -> list[Row]:
    """Memory of a page that shows a running job, after each refresh, once its garbage is collected.

    Both that of its objects and that of its process: what a page holds as bytes, such as messages, is not among the objects.
    """
    page = _window(browser)
    page.goto(shown.job(LIVE))
    charts(page).nth(3).wait_for(state="attached")
    page.get_by_text("Older log lines are still coming in").first.wait_for(state="detached")
    session = page.context.new_cdp_session(page)
    updated = page.get_by_text("Updated", exact=False).first
    processes = browser.new_browser_cdp_session()
    held: list[tuple[float, float, float | None]] = []
    refreshes, last, begin_s = 0, updated.inner_text(), time.monotonic()
    session.send("Performance.enable")
    while (past_s := time.monotonic() - begin_s) < lasts_s or len(held) < 5:
        page.wait_for_timeout(5_000)
        now = updated.inner_text()
        refreshes, last = refreshes + (now != last), now
        session.send("HeapProfiler.collectGarbage")
        figures = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
        held.append((past_s, figures["JSHeapUsedSize"] / 1024**2, _resident(processes)))
    page.context.close()
    held = [each for each in held if each[0] >= _WARM_S] or held
    what = f"over {lasts_s / 60:.0f} min of live updates, {refreshes} of them, by fifths: the page's"
    table = [_grown(f"{what} objects", [objects for _, objects, _ in held])]
    if whole := [resident for _, _, resident in held if resident is not None]:
        table.append(_grown(f"{what} process", whole))
    return table


def _grown(what: str, held: list[float]) -> Row:
    """MiB in each fifth of the time; the last may not be far above the first."""
    fifths = [median(held[len(held) * part // 5 : max(1, len(held) * (part + 1) // 5)]) for part in range(5)]
    said = f"{', '.join(f'{each:.0f}' for each in fifths)} MiB"
    if fifths[-1] > MOST_GROWTH * fifths[0]:
        _failed.append(f"{what}: {said}")
    return (what, said, f"{MOST_GROWTH:g} x", f"{fifths[-1] / fifths[0]:.2f} x")


def _resident(processes: CDPSession) -> float | None:
    """MiB that the pages' processes hold in memory; None where the system does not tell."""
    found = [
        each["id"] for each in processes.send("SystemInfo.getProcessInfo")["processInfo"] if each["type"] == "renderer"
    ]
    try:
        texts = [Path(f"/proc/{process}/smaps_rollup").read_text("utf-8") for process in found]
    except OSError:
        return None
    return sum(int(line.split()[1]) for text in texts for line in text.splitlines() if line.startswith("Pss:")) / 1024
