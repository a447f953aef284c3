"""The table of our own: what is written in a cell is text, and what the browser tells is read with care."""

from __future__ import annotations

import re

import pytest
import streamlit as st

from monitor.show import grid


def test_what_others_wrote_can_only_become_text() -> None:
    script = grid._HERE.with_suffix(".js").read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|srcdoc", script)


@pytest.mark.parametrize(
    ("told", "known"),
    [
        (None, grid.GridState()),
        ({}, grid.GridState()),
        ({"seen": None, "chosen": None, "used": None}, grid.GridState()),
        ({"seen": ["a", "b"], "chosen": ["b"], "used": "x"}, grid.GridState(("a", "b"), ("b",), "x")),
    ],
)
def test_what_the_browser_tells(
    monkeypatch: pytest.MonkeyPatch, told: dict[str, object] | None, known: grid.GridState
) -> None:
    monkeypatch.setattr(st, "session_state", {"table": told})
    assert grid.grid_state("table") == known
    assert grid.grid_state("another") == grid.GridState()
