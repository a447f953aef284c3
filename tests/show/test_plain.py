"""Text of others stays text."""

from __future__ import annotations

import re

import pytest

from monitor.show.trouble import plain


@pytest.mark.parametrize(
    "text",
    ["*x*", "**x**", "_x_", "`x`", "[a](b)", "![a](b)", "<b>", "# h", "- a", "1. a", "$x$", "~~x~~", ":red[x]", "a|b"],
)
def test_every_sign_of_markdown_is_escaped(text: str) -> None:
    for sign in re.findall(r"[^\w\s]", text):
        assert f"\\{sign}" in plain(text)


@pytest.mark.parametrize("text", ["https://evil.example", "www.evil.example", "a@evil.example", "a -> b", "a <- b"])
def test_what_is_recognised_after_escapes_is_parted(text: str) -> None:
    assert "\u2060" in plain(text)
    assert plain(text).replace("\u2060", "").replace("\\", "") == text


def test_words_are_left_alone_and_lines_become_one() -> None:
    assert plain("GPU 46 %,\n  41 %") == "GPU 46 %, 41 %"
