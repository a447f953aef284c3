"""What if the function behind a button or an input fails? The page is drawn as it was, and the error is shown on top.

Streamlit itself calls such a function before it draws the page, where no part of a page could catch what it raises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from monitor.errors import TrainwatchError
from monitor.faults import fault

_FAILED = "failed-callbacks"


@dataclass(frozen=True, slots=True)
class FailedCallback:
    """What somebody did ("Muting the finding"), and the error that it ended with."""

    doing: str
    error: TrainwatchError


@dataclass(frozen=True, slots=True)
class _Failed:
    """What failed since it was last shown; ``page`` is where it was shown, None where it was not yet."""

    callbacks: tuple[FailedCallback, ...]
    page: str | None = None


def calm(doing: str, does: Callable[..., object]) -> Callable[..., None]:
    """``does``, for a widget to call: what it raises is logged and kept, for ``failed_callbacks`` to give.

    ``doing`` says in words that name no job what somebody does with the widget: "Muting the finding". Streamlit's own ways
    out (st.rerun, st.switch_page) pass: they are no Exception.
    """

    def calmly(*given: Any, **named: Any) -> None:
        known: _Failed | None = st.session_state.get(_FAILED)
        # Several inputs may change at once: what failed just now stays, what was shown has been seen.
        was_shown = known is not None and known.page is not None
        if was_shown:
            del st.session_state[_FAILED]
        try:
            does(*given, **named)
        except Exception as error:
            told = error if isinstance(error, TrainwatchError) else fault(error, doing)
            before = () if known is None or was_shown else known.callbacks
            st.session_state[_FAILED] = _Failed((*before, FailedCallback(doing, told)))
            # What fails in a part of the page that is drawn alone is shown on top of the page all the same.
            st.rerun()
        if was_shown:
            st.rerun()

    return calmly


def failed_callbacks(page: str) -> tuple[FailedCallback, ...]:
    """What failed last, while the page is drawn on which it did; from the next use of a widget, or another page, on: none."""
    failed: _Failed | None = st.session_state.get(_FAILED)
    if failed is None:
        return ()
    if failed.page not in {None, page}:
        del st.session_state[_FAILED]
        return ()
    st.session_state[_FAILED] = replace(failed, page=page)
    return failed.callbacks
