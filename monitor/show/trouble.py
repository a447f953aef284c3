"""How is an error shown? Its cause, its remedy and a way to try again, in the place where the answer would have been."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import streamlit as st

from monitor.diagnose.rights import MissingRights, of_error
from monitor.errors import (
    BadCall,
    Fault,
    NoCredentials,
    NoData,
    NoSuchJob,
    NotAllowed,
    Throttled,
    TrainwatchError,
    Unreachable,
)
from monitor.faults import fault
from monitor.model import Report
from monitor.show import data
from monitor.show.callbacks import calm, failed_callbacks
from monitor.show.parts import show_copied
from monitor.show.plain import advice, plain

Drawn = TypeVar("Drawn")

_TITLES: tuple[tuple[type[TrainwatchError], str], ...] = (
    (NoCredentials, "No valid AWS credentials"),
    (NotAllowed, "AWS denied access"),
    (Unreachable, "AWS is not answering"),
    (Throttled, "AWS is throttling requests"),
    (NoSuchJob, "No such job"),
    (NoData, "Nothing to read"),
    (BadCall, "Invalid request"),
    (Fault, "An error in Trainwatch"),
)


def title_of(error: TrainwatchError, doing: str = "Review") -> str:
    """A headline of a few words for the kind of error, which ended ``doing``."""
    return next((title for kind, title in _TITLES if isinstance(error, kind)), f"{doing} failed")


def is_lasting(error: TrainwatchError) -> bool:
    """Whether a second try is bound to end the same way: a job that does not exist, a name that cannot be."""
    return isinstance(error, NoSuchJob | BadCall)


def show_error(error: TrainwatchError, key: str, doing: str = "Review") -> None:
    """Cause, remedy, what there is to copy, and a button that reads credentials and lists afresh."""
    _show_cause(error, doing)
    if not is_lasting(error):
        st.button(
            "Try again", icon=":material/refresh:", key=f"again-{key}", on_click=calm("Trying again", data.forget)
        )


def show_failed_callbacks(page: str) -> None:
    """What the last use of a button or an input of this page ended with, if it failed."""
    for failed in failed_callbacks(page):
        _show_cause(failed.error, failed.doing)


def _show_cause(error: TrainwatchError, doing: str) -> None:
    if isinstance(error, NotAllowed) and error.action:
        show_rights(of_error(error))
    else:
        st.error(_here(str(error)), title=title_of(error, doing), icon=":material/error:")
    if isinstance(error, Fault):
        show_copied(error)


def whole(name: str, draw: Callable[[], Drawn], otherwise: Drawn) -> Drawn:
    """Draws a page, or what a timer draws again of it; where it fails, the error stands in its place."""
    try:
        return draw()
    except Exception as error:
        show_error(fault(error, name), "page")
        return otherwise


def show_stale(error: TrainwatchError, shown: str, doing: str = "Review") -> None:
    """Beside an older answer that is still ``shown``, such as "data from 04:24 UTC"."""
    st.warning(_here(str(error)), title=f"{title_of(error, doing)}; {plain(shown)}", icon=":material/sync_problem:")
    if isinstance(error, Fault):
        show_copied(error)


def show_rights(missing: Iterable[MissingRights]) -> None:
    """Which rights are missing, what cannot be judged because of that, and the statement to copy."""
    for right in missing:
        body = " ".join(part for part in (right.lost, right.why, right.remedy) if part)
        st.warning(advice(body), title=plain(right.title), icon=":material/lock:")
        st.code(right.statement, language="json", wrap_lines=True)


def _here(words: str) -> str:
    """Errors are written for the command line too: what its options say is chosen elsewhere on a page."""
    names = [name for name in ("region", "profile") if f"--{name}" in words]
    where = f" On this page, change the {' and the '.join(names)} in the sidebar." if names else ""
    return advice(words) + where


def show_gaps(report: Report) -> None:
    """What could not be read or worked out, why, and what would help, one line each; not what a finding, or the rights
    that stand on top, say already."""
    said = {finding.id for finding in report.findings}
    for gap in report.gaps:
        if f"{gap.what}-unavailable" in said or gap.action:
            continue
        icon = ":material/bug_report:" if gap.what == "program" else ":material/visibility_off:"
        st.caption(f"{icon} {advice(' '.join(part for part in (gap.why, gap.remedy) if part))}")
