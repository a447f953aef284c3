"""How is an error shown? Its cause, its remedy and a way to try again, in the place where the answer would have been."""

from __future__ import annotations

import streamlit as st

from monitor.errors import (
    BadCall,
    NoCredentials,
    NoData,
    NoSuchJob,
    NotAllowed,
    Throttled,
    TrainwatchError,
    Unreachable,
)
from monitor.model import Report
from monitor.show import data
from monitor.show.plain import advice

_TITLES: tuple[tuple[type[TrainwatchError], str], ...] = (
    (NoCredentials, "No valid AWS credentials"),
    (NotAllowed, "AWS refused access"),
    (Unreachable, "AWS does not answer"),
    (Throttled, "AWS asks to slow down"),
    (NoSuchJob, "No such job"),
    (NoData, "Nothing to read"),
    (BadCall, "That does not work"),
)


def title_of(error: TrainwatchError) -> str:
    """A headline of a few words for the kind of error."""
    return next((title for kind, title in _TITLES if isinstance(error, kind)), "It could not be done")


def is_lasting(error: TrainwatchError) -> bool:
    """Whether a second try is bound to end the same way: a job that does not exist, a name that cannot be."""
    return isinstance(error, NoSuchJob | BadCall)


def show_error(error: TrainwatchError, key: str) -> None:
    """Cause, remedy, and a button that reads credentials and lists afresh."""
    st.error(_here(str(error)), title=title_of(error), icon=":material/error:")
    if not is_lasting(error):
        st.button("Try again", icon=":material/refresh:", key=f"again-{key}", on_click=data.forget)


def show_stale(error: TrainwatchError) -> None:
    """Beside an older answer that is still shown."""
    st.warning(_here(str(error)), title=f"{title_of(error)}: this is the last answer", icon=":material/sync_problem:")


def _here(words: str) -> str:
    """Errors are written for the command line too: what its options say is chosen elsewhere on a page."""
    names = [name for name in ("region", "profile") if f"--{name}" in words]
    where = (
        f" Here, the {' and the '.join(names)} {'is' if len(names) == 1 else 'are'} chosen in the sidebar, top left."
    )
    return advice(words) + (where if names else "")


def show_gaps(report: Report) -> None:
    """What could not be read, why, and what would help, one line each; not what a finding already says."""
    said = {finding.id for finding in report.findings}
    for gap in report.run.gaps:
        if f"{gap.what}-unavailable" in said:
            continue
        words = " ".join(part for part in (gap.why, gap.remedy) if part)
        st.caption(f":material/visibility_off: {gap.what.capitalize()} not read. {advice(words)}")
