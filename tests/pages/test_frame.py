"""The frame: every page enters it, has one title, and says when the account is simulated."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import situations
from tests.pages.conftest import Open
from tests.pages.fake import FakeAccount, texts

PAGES = sorted((Path(__file__).parents[2] / "pages").glob("*.py"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_page_enters_the_frame_and_leaves_the_title_to_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "shell.enter()" in text
    assert "st.title(" not in text


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_page_is_in_the_navigation_and_opens_with_one_title(open_page: Open, path: Path) -> None:
    page = open_page(FakeAccount((situations.healthy(),)), path.stem)
    assert len(page.title) == 1


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_demo_says_on_every_page_that_it_is_one(
    open_page: Open, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "Simulated sample account: these jobs never ran."
    assert words not in texts(open_page(FakeAccount((situations.healthy(),)), path.stem))
    monkeypatch.setenv("TRAINWATCH_DEMO", "1")
    assert words in texts(open_page(FakeAccount((situations.healthy(),)), path.stem))
