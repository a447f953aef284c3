"""A table that reports which of its rows are in view: arrows move, Enter or a click opens, checkboxes select several.

Streamlit's own table is a canvas: it says nothing of what is in view, and each arrow key is a click to it. Tables that are
only read are Streamlit's; this one is a component without a library, which sets text only ever as text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import streamlit as st

from monitor.show.trouble import calm

Kind = Literal["text", "name", "number", "badge", "course", "code"]
Sorted = tuple[str, Literal["ascending", "descending"]]
_HERE = Path(__file__)
_HTML = (
    '<div class="grid"><style></style><div class="box" role="grid">'
    '<div class="head" role="row"></div><div class="lines" role="rowgroup"></div></div></div>'
)


@dataclass(frozen=True, slots=True)
class GridColumn:
    """One column; ``width`` as CSS has it. It is left out where the table is narrower than ``room_px``."""

    name: str
    label: str
    width: str
    kind: Kind = "text"
    help: str = ""
    room_px: int = 0


@dataclass(frozen=True, slots=True)
class GridRow:
    """One row: a text a column, for a badge ``(word, color)``, for a course ``(text, address of a picture)``; a number may be
    ``(text, what it says to who points at it)``.

    None is not known.
    """

    key: str
    """What tells it from all others; it keeps its place on the screen by it."""
    cells: Sequence[Any]
    href: str | None = None
    """Where its name leads, for who opens it in a tab of its own."""
    tone: str = ""
    """``error`` or ``warning``."""


@dataclass(frozen=True, slots=True)
class GridState:
    """What the browser has told of a table; nothing before it is there."""

    seen: tuple[str, ...] = ()
    """The keys of the rows in view."""
    chosen: tuple[str, ...] = ()
    used: str = ""
    """What the table was about when somebody last began to move in it."""


@cache
def _component() -> Callable[..., Any]:
    css, js = (_HERE.with_suffix(ending).read_text(encoding="utf-8") for ending in (".css", ".js"))
    return st.components.v2.component("trainwatch_grid", html=_HTML, css=css, js=js)


def grid_state(key: str) -> GridState:
    """What is known of the table of that key."""
    state = st.session_state.get(key) or {}
    return GridState(tuple(state.get("seen") or ()), tuple(state.get("chosen") or ()), state.get("used") or "")


def show_grid(
    key: str,
    columns: Sequence[GridColumn],
    rows: Sequence[GridRow],
    *,
    alt: str,
    height_px: int,
    opened: Callable[[str], None],
    several: bool = False,
    tells: bool = False,
    about: str = "",
    sorts: Callable[[str], None] | None = None,
    sorted_by: Sorted | None = None,
    current: str | None = None,
    ends_in_view: bool = False,
    tight: bool = False,
) -> None:
    """Draws the table, at most so high.

    ``opened`` gets the key of a row that is clicked, or on which Enter is pressed; ``sorts`` the name of a column whose
    head is clicked. ``several``: rows can be chosen, ``tells``: those in view are told, and that somebody moves
    in the table (while it was ``about`` this); all found in ``grid_state``.
    ``ends_in_view`` scrolls to the last row, and stays there while rows come unless the reader scrolls up.
    """

    def was_opened() -> None:
        if (chosen := st.session_state[key].get("opened")) is not None:
            opened(chosen)

    def was_sorted() -> None:
        if sorts is not None and (name := st.session_state[key].get("sorted")) is not None:
            sorts(name)

    _component()(
        key=key,
        data={
            "columns": [asdict(column) for column in columns],
            "rows": [asdict(row) for row in rows],
            "name": key,
            "alt": alt,
            "height_px": height_px,
            "several": several,
            "chosen": list(grid_state(key).chosen),
            "tells": tells,
            "about": about,
            "sorts": sorts is not None,
            "sorted": sorted_by,
            "looked_at": current,
            "ends_in_view": ends_in_view,
            "tight": tight,
        },
        on_opened_change=calm("Opening a row", was_opened),
        on_sorted_change=calm("Sorting the table", was_sorted),
        on_used_change=lambda: None,
        on_seen_change=lambda: None,
        on_chosen_change=lambda: None,
    )
