"""A saved report opens without a network, without an error, and with its charts."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from tests.browser.started import named

pytestmark = pytest.mark.browser


def test_the_saved_page_opens_offline(
    browser: Browser, page: Page, demo: str, names: list[str], tmp_path: Path
) -> None:
    name = named(names, "gpt2-20b")
    page.goto(f"{demo}/job?job={name}")
    page.get_by_role("button", name="Save report").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Page with charts (HTML)").click()
    assert download.value.suggested_filename == f"{name}.html"
    download.value.save_as(tmp_path / "report.html")

    offline = browser.new_context(viewport={"width": 800, "height": 900}, color_scheme="dark", offline=True)
    shown, said, asked = offline.new_page(), list[str](), list[str]()

    def note(request: Request) -> None:
        if not request.url.startswith("file:"):
            asked.append(request.url)

    shown.on("console", lambda message: said.append(message.text))
    shown.on("pageerror", lambda error: said.append(str(error)))
    shown.on("request", note)
    shown.goto((tmp_path / "report.html").as_uri())
    expect(shown.get_by_role("heading", name=name)).to_be_visible()
    assert shown.locator("figure svg").count() == 6
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 22, 30)"
    assert not said
    assert not asked
    offline.close()
