"""A real Chromium on the real demo, started once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect

from benchmarks.account import running
from tests.browser.started import CHROMIUM, TABLE, chromium, running_dashboard, running_demo
from tests.browser.strangers import account

# A machine that runs other tests beside a browser may take long to draw a page; a wrong page stays wrong for longer.
_PATIENCE_MS = 60_000
expect.set_options(timeout=_PATIENCE_MS)


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a browser these tests skip and say how to get one; those of one account run in one worker, beside one dashboard."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            of_strangers = "strangers" in getattr(item, "fixturenames", ())
            item.add_marker(pytest.mark.xdist_group("strangers" if of_strangers else "browser"))
            item.add_marker(pytest.mark.timeout(240))
            # A browser beside other tests may miss a click: such a test gets one more try, and the summary names it.
            item.add_marker(pytest.mark.flaky(reruns=1))
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="no Chromium is installed: apt-get install chromium"))


@pytest.fixture(scope="session")
def demo() -> Iterator[str]:
    """The address of a running demo."""
    with running_demo() as address:
        yield address


@pytest.fixture(scope="session")
def strangers() -> Iterator[str]:
    """The address of a dashboard on an account that is not the demo."""
    with running(account()) as aws, running_dashboard(aws.environment) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    # No page of a test lives long enough to earn back what optimizing its scripts takes.
    with chromium("--js-flags=--no-opt") as started:
        yield started


@pytest.fixture(scope="session")
def names(browser: Browser, demo: str) -> list[str]:
    """The names in the demo's table of jobs, as it stands once all of them are reviewed."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.set_default_timeout(_PATIENCE_MS)
    page.goto(demo)
    expect(page.locator(TABLE)).to_contain_text("algo-3 is slow")
    found = page.locator(f"{TABLE} a").all_text_contents()
    page.close()
    return found


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A fresh window, with what a test asks for as the fixture's parameter; the test fails if it logs an error or asks another
    machine for anything."""
    given = {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"} | getattr(request, "param", {})
    context = browser.new_context(**given)
    page = context.new_page()
    errors: list[str] = []
    elsewhere: set[str] = set()

    def asked(request: Request) -> None:
        if urlsplit(request.url).hostname not in {"127.0.0.1", "localhost", None}:
            elsewhere.add(request.url)

    def note(message: ConsoleMessage) -> None:
        # Streamlit probes for files that need not be there; the browser logs each as a failed load.
        if message.type == "error" and "Failed to load resource" not in message.text:
            errors.append(message.text)

    context.on("request", asked)
    page.on("console", note)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_default_timeout(_PATIENCE_MS)
    yield page
    context.close()
    assert not errors, errors
    assert not elsewhere, elsewhere
