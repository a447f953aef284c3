"""How text from others is shown, how prominently a verdict, and how an error. Nothing in a text becomes markup, a link, an image
or an icon; of an error its cause, its remedy and a way to try again, in the place of the answer.

Colors are names of the theme's palette, set for light and dark in ``.streamlit/config.toml``; word and icon say the
same, so that nothing rests on color.

Where a part of a page fails, its place says so, and the rest of the page is drawn. Where the function behind a button or an
input fails, the page is drawn as it was, and the error is shown on top: Streamlit calls such a function before it draws the
page, where no part of a page could catch what it raises.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, ParamSpec, TypeVar

import streamlit as st

from monitor.diagnose.rights import MissingRights, of_error
from monitor.diagnose.verdict import Level
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
from monitor.faults import fault, shape_of_report
from monitor.model import Report
from monitor.show import data

Colour = Literal["red", "orange", "blue", "green", "gray"]


@dataclass(frozen=True, slots=True)
class Appearance:
    word: str
    icon: str
    colour: Colour


LOOKS: dict[Level, Appearance] = {
    "critical": Appearance("critical", ":material/error:", "red"),
    "warning": Appearance("warning", ":material/warning:", "orange"),
    "unknown": Appearance("not judged", ":material/help:", "gray"),
    "partial": Appearance("partial data", ":material/visibility:", "gray"),
    "muted": Appearance("muted", ":material/notifications_off:", "gray"),
    "waiting": Appearance("reviewing", ":material/hourglass_empty:", "gray"),
    "unreviewed": Appearance("", "", "gray"),
    "info": Appearance("info", ":material/info:", "blue"),
    "healthy": Appearance("healthy", ":material/check_circle:", "green"),
}


_JOINER = "\u2060"  # invisible and without width
# Options and patterns are to be copied: they stand as code, where no invisible sign gets between.
_OPTION = re.compile(r"(?<![\w`-])(--[a-z][\w-]*(?: '[^'`]{1,400}')?)(?![\w`])")


def advice(text: str) -> str:
    """As ``plain``, for sentences of this program: the command line options in them stand as code."""
    parts = _OPTION.split(" ".join(text.split()))
    return "".join(f"`{part}`" if number % 2 else plain(part, strip=False) for number, part in enumerate(parts))


def plain(text: str, strip: bool = True) -> str:
    """The text such that Markdown shows it as it is: no markup, links, images, icons, formulas or arrows come of it."""
    text = " ".join(text.split()) if strip else text
    escaped = re.sub(r"([\\`*_{}\[\]()#+\-.!|<>~$:&@/^=])", r"\\\1", text)
    # Addresses, mail and arrows are recognized after escapes are resolved; an invisible joiner parts them.
    return re.sub(r"(\\:(?=\\/\\/)|www(?=\\\.)|\\@|\\-(?=\\[->])|\\<(?=\\-))", rf"\1{_JOINER}", escaped)


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
        st.caption(f"{icon} {advice(gap.sentence)}")


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
