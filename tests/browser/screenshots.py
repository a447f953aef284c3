"""Takes the pictures of the documentation from the demo: ``python -m tests.browser.screenshots [FOLDER]``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from playwright.sync_api import Page

from tests.browser.started import ROOT, TABLE, chromium, running_demo

SHOWN, FAILED = "gpt2-20b-smp-pp4", "gptj-6b-smp"
COMPARED = "vit-630m-mics-4 vs. vit-630m-mics-32"
THRESHOLDS = ("gpu_utilization < 40 for 10m", "seconds_since_last_step > 900", "gpu_memory_utilization > 90 for 5m")
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = (1440, 800)


def take(folder: Path, widths: tuple[int, ...] = (1440,)) -> None:
    """One picture a page, scheme and width; the job is one with a finding."""
    folder.mkdir(parents=True, exist_ok=True)
    with running_demo() as address, chromium() as browser:
        for scheme in SCHEMES:
            for width in widths:
                page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
                name, failed = _reviewed(page, address)
                end = f"{scheme}.png" if width == 1440 else f"{scheme}-{width}.png"
                page.screenshot(path=folder / f"jobs-{end}")
                page.goto(f"{address}/job?job={name}")
                page.locator('[data-testid="stVegaLiteChart"] :is(canvas, svg)').nth(2).wait_for(
                    state="attached", timeout=30_000
                )
                page.wait_for_timeout(1_500)
                page.screenshot(path=folder / f"job-{end}")
                page.goto(f"{address}/plan?from=job&of={name}&change.active_microbatches=4")
                page.locator('[data-testid="stCode"]').first.wait_for(state="attached", timeout=30_000)
                page.wait_for_timeout(2_500)
                page.screenshot(path=folder / f"plan-{end}")
                _log(page, address, failed)
                page.screenshot(path=folder / f"logs-{end}")
                page.goto(f"{address}/compare")
                page.get_by_role("link", name=COMPARED).click()
                page.get_by_text("B takes 14.0 % less time").wait_for(timeout=30_000)
                page.locator('[data-testid="stVegaLiteChart"] :is(canvas, svg)').nth(2).wait_for(
                    state="attached", timeout=30_000
                )
                page.wait_for_timeout(1_500)
                page.screenshot(path=folder / f"compare-{end}")
                _saved(page, address)
                page.goto(f"{address}/thresholds")
                page.get_by_text("Checked on", exact=False).first.wait_for(timeout=120_000)
                page.wait_for_timeout(1_500)
                page.screenshot(path=folder / f"thresholds-{end}")
                page.close()


def _log(page: Page, address: str, name: str) -> None:
    """The line of the log that the job's finding quotes."""
    page.goto(f"{address}/job?job={name}")
    page.get_by_text("Show the evidence").first.click()
    page.get_by_role("link", name="Open in the log").first.click()
    page.get_by_role("heading", name="Logs", level=1).wait_for(timeout=30_000)
    page.locator('[class*="st-key-logs-table-"]').first.wait_for(timeout=30_000)
    page.locator('[data-testid="stCode"]').first.wait_for(timeout=30_000)
    page.wait_for_timeout(2_000)


def _saved(page: Page, address: str) -> None:
    """Saves the thresholds to show; those that are there stay."""
    for expression in THRESHOLDS:
        page.goto(f"{address}/thresholds?when={quote(expression)}")
        save, done = page.locator(".st-key-threshold-save button"), page.get_by_text("Saved as")
        save.or_(done).first.wait_for(timeout=30_000)
        if not done.count():
            save.click()
            done.wait_for(timeout=30_000)


def _reviewed(page: Page, address: str) -> tuple[str, ...]:
    """Waits until the table of jobs is complete; gives the names of the jobs to show."""
    page.goto(address)
    cells = page.locator(f'{TABLE} [role="gridcell"]')
    cells.filter(has_text="algo-3 is slow").first.wait_for(state="attached", timeout=60_000)
    cells.filter(has_text="reviewing").first.wait_for(state="detached", timeout=60_000)
    page.wait_for_timeout(3_000)
    texts = page.locator(f"{TABLE} a").all_text_contents()
    return tuple(next(text for text in texts if re.match(rf"{base}-20", text)) for base in (SHOWN, FAILED))


if __name__ == "__main__":
    take(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images", WIDTHS if len(sys.argv) > 1 else (1440,))
