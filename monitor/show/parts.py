"""What if a part of a page fails? Its place says so, and the rest of the page is drawn."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import streamlit as st

from monitor.errors import Fault
from monitor.faults import fault, shape_of_report
from monitor.model import Report
from monitor.show.plain import plain

Drawn = TypeVar("Drawn")
Given = ParamSpec("Given")


def part(
    report: Report | None, name: str, draw: Callable[Given, Drawn], *given: Given.args, **named: Given.kwargs
) -> Drawn | None:
    """Draws a part of a page; where it fails, logs the error, says so in its place and gives None.

    ``name`` is what the page calls the part, and names no job. Streamlit's own ways out of a page (st.stop, st.rerun) pass:
    they are no Exception.
    """
    try:
        return draw(*given, **named)
    except Exception as error:
        show_failed_part(fault(error, name, shape_of_report(report)))
        return None


class _Logged(logging.Handler):
    """Streamlit itself catches what fails before a page is drawn, such as the reading of an input."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, Exception):
            fault(error, "A button or an input")


def log_the_rest() -> None:
    """Has errors that no part of a page can catch logged as well."""
    logger = logging.getLogger("streamlit.error_util")
    if not any(isinstance(each, _Logged) for each in logger.handlers):
        logger.addHandler(_Logged(logging.ERROR))


def show_failed_part(error: Fault) -> None:
    """A line in the place of what failed, and what to pass on."""
    st.caption(f":material/bug_report: {plain(str(error))}")
    show_copied(error)


def show_copied(error: Fault) -> None:
    """The report to pass on, closed."""
    with st.expander("Report to copy", type="compact", icon=":material/content_copy:"):
        st.code(error.copied, language=None, wrap_lines=True)
