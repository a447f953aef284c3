"""Which thresholds are saved, which jobs cross each, and how is one removed (and restored)? Which alerts reached nobody, and how
are they sent again?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

import streamlit as st

from monitor.alert.conditions import Rule, RuleSeverity, name_of
from monitor.alert.delivery import undelivered
from monitor.alert.ledger import ASIDE_KEPT_S, SetAside, ledger_file
from monitor.alert.rules import add, remove
from monitor.alert.sinks.names import sink_of
from monitor.errors import CannotDo, TrainwatchError
from monitor.installed import PROGRAM
from monitor.model import Report
from monitor.show import address, visitor
from monitor.show.shell import JOB_PAGE
from monitor.show.thresholds.crossings import EXAMPLES, Crossings, Judged, crossings, show_command, show_wrong, typed
from monitor.show.trouble import LOOKS, Colour, calm, plain
from monitor.words import count, instant

# So many are listed; the others are counted.
_LISTED_ALERTS = 5


def show_undelivered(zone: tzinfo) -> None:
    """Alerts that were refused for good, and damaged rows of the ledger; nothing where there are none."""
    try:
        ledger = ledger_file()
        if ledger is None:
            return
        found = undelivered(ledger)
    except CannotDo as error:
        st.warning(
            plain(str(error)), title="Can't see which alerts were delivered", icon=":material/notifications_off:"
        )
        return
    if found.refused:
        alerts = count(len(found.refused), "alert was", "alerts were")
        with st.container(border=True, gap="xsmall"):
            st.markdown(f":orange[:material/notifications_off: **{alerts} refused and set aside**]")
            for aside in found.refused[:_LISTED_ALERTS]:
                st.caption(_line(aside, zone))
            if len(found.refused) > _LISTED_ALERTS:
                st.caption(f"and {len(found.refused) - _LISTED_ALERTS} more")
            kept = f"Kept for {ASIDE_KEPT_S / 86400:.0f} days in {plain(str(ledger))}."
            st.caption(f"{kept} To send them again, once the receiver takes them:")
            st.code(_command(found.refused), language=None, wrap_lines=True)
    if found.damaged:
        rows = count(len(found.damaged), "damaged row", "damaged rows")
        st.caption(
            f":material/warning: {rows} of {plain(str(ledger))} left out: {plain('; '.join(found.damaged[:_LISTED_ALERTS]))}"
        )


def _line(aside: SetAside, zone: tzinfo) -> str:
    at = instant(datetime.fromtimestamp(aside.at, UTC), zone)
    return f"{at} · {plain(aside.message.title)} · {plain(aside.shown)} · {plain(aside.why)}"


def _command(refused: tuple[SetAside, ...]) -> str:
    """An address that was typed is not kept: it is to be typed again."""
    sinks = dict.fromkeys(
        "SINK" if "…" in each.shown or each.shown.startswith("exec:") else each.shown for each in refused
    )
    return " ".join([f"{PROGRAM} alert --resend", *(f"--notify {sink}" for sink in sinks)])


#: The expression in the box, in the address too.
TYPED = "when"
_REMOVED, _TROUBLE = "threshold-removed", "threshold-trouble"
# So many jobs stand on a card; the others open below them.
_LISTED = 3


def show_saved(rules: Sequence[Rule], reports: Sequence[Report], newest: str | None) -> bool:
    """A card a threshold; gives whether there is more to check."""
    if not rules:
        _none_saved()
    found = [crossings(rule, reports) for rule in rules]
    for place, (rule, crossed) in enumerate(zip(rules, found, strict=True)):
        with st.container(border=True, gap="xsmall"):
            _head(rule, place, crossed, newest)
            _outcome(crossed, LOOKS[rule.severity].colour)
    return any(each.waiting for each in found)


def save(name: str, text: str, severity: RuleSeverity, notify: tuple[str, ...] = (), strict: bool = True) -> bool:
    """Saves one, from a button: what goes wrong is said when the page is drawn again."""
    _forget()
    try:
        visitor.refuse_if_read_only("thresholds")
        add(name, text, severity, notify, strict=strict)
    except TrainwatchError as error:
        st.session_state[_TROUBLE] = ("Not saved", error)
        return False
    return True


def _save(name: str, text: str, severity: RuleSeverity) -> None:
    save(name, text, severity)


def _remove(rule: Rule) -> None:
    _forget()
    try:
        visitor.refuse_if_read_only("thresholds")
        st.session_state[_REMOVED] = remove(rule.name)
    except TrainwatchError as error:
        st.session_state[_TROUBLE] = ("Not removed", error)


def _undo(rule: Rule) -> None:
    save(rule.name, rule.text, rule.severity, rule.notify, strict=not rule.doubt)


def fill(text: str) -> None:
    """Puts an expression into the box."""
    _forget()
    address.keep(TYPED, typed(text) or None)


def _forget() -> None:
    for key in (_REMOVED, _TROUBLE):
        st.session_state.pop(key, None)


def show_last() -> None:
    """What came of the last button."""
    if trouble := st.session_state.get(_TROUBLE):
        title, error = trouble
        show_wrong(error, title)
    if gone := st.session_state.get(_REMOVED):
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            st.markdown(f":material/delete: Removed **{plain(gone.name)}** `{typed(gone.text)}`", width="stretch")
            st.button(
                "Undo",
                key="threshold-undo",
                icon=":material/undo:",
                on_click=calm("Restoring the threshold", _undo),
                args=(gone,),
            )


def _none_saved() -> None:
    st.info(
        "A threshold is a condition on one figure of a job, such as GPU utilization below 40 % for ten minutes. "
        f"Saved ones are checked on every job here; `{PROGRAM} alert JOB` notifies you in the terminal, on "
        "Slack or through SNS. Three to start with:",
        title="No threshold is saved",
        icon=":material/notifications:",
    )
    for name, text, severity, what in EXAMPLES:
        with st.container(horizontal=True, vertical_alignment="center", border=True):
            st.badge(severity, icon=LOOKS[severity].icon, color=LOOKS[severity].colour)
            st.markdown(f"**{plain(name)}** `{text}`  \n{plain(what)}", width="stretch")
            st.button(
                "Try",
                key=f"try-{name}",
                icon=":material/science:",
                on_click=calm("Filling in the threshold", fill),
                args=(text,),
            )
            if not visitor.is_read_only():
                st.button(
                    "Save",
                    key=f"save-{name}",
                    icon=":material/add:",
                    on_click=calm("Saving the threshold", _save),
                    args=(name, text, severity),
                )


def _head(rule: Rule, place: int, crossed: Crossings, newest: str | None) -> None:
    look = LOOKS[rule.severity]
    job = crossed.crossed[0].report.job.name if crossed.crossed else newest
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(look.word, icon=look.icon, color=look.colour)
        # A name that only spells the expression would say it twice.
        if rule.name != name_of(rule.when):
            st.markdown(f"**{plain(rule.name)}**", width="content")
        st.markdown(f"`{typed(rule.text)}`", width="stretch")
        st.button(
            "Try", key=f"try-{rule.name}", icon=":material/science:", type="tertiary",
            on_click=calm("Filling in the threshold", fill), args=(rule.text,),
            help="Test it on past jobs, at the top of the page",
        )  # fmt: skip
        with st.popover("Command", icon=":material/terminal:", type="tertiary", key=f"command-{place}"):
            show_command(job, rule.text)
        if not visitor.is_read_only():
            st.button(
                "Remove",
                key=f"remove-{rule.name}",
                icon=":material/delete:",
                type="tertiary",
                on_click=calm("Removing the threshold", _remove),
                args=(rule,),
            )
    if rule.doubt:
        st.caption(f":material/warning: This condition is meaningless. {plain(rule.doubt)}")
    if rule.notify:
        st.caption(f":material/send: {plain(', '.join(sink_of(sink).shown for sink in rule.notify))}")


def _outcome(crossed: Crossings, colour: Colour) -> None:
    if crossed.words:
        said = f"{_icon(crossed)} **{crossed.words}**"
        said = f":{colour}[{said}]" if crossed.now else said
        st.markdown(f"{said}{f'; {crossed.beside}' if crossed.beside else ''}")
    for one in crossed.crossed[:_LISTED]:
        _job(one)
    if rest := crossed.crossed[_LISTED:]:
        with st.expander(f"{len(rest)} more"):
            for one in rest:
                _job(one)
    for why, names in crossed.reasons:
        jobs = names[0] if len(names) == 1 else count(len(names), "job")
        shown = f" ({', '.join(names[:2])}{' …' if len(names) > 2 else ''})" if len(names) > 1 else ""
        st.caption(f":material/visibility_off: No data for {plain(jobs)}: {plain(why)}{plain(shown, strip=False)}")
    if crossed.waiting:
        st.caption(f":material/hourglass_empty: {count(crossed.waiting, 'job')} still to be checked…")


def _icon(crossed: Crossings) -> str:
    if crossed.now:
        return ":material/notifications_active:"
    if crossed.past:
        return ":material/history:"
    return ":material/check_circle:" if crossed.running + crossed.finished else ":material/help:"


def _job(one: Judged) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        name = one.report.job.name
        st.page_link(JOB_PAGE, label=plain(name), icon=":material/monitoring:", query_params=address.to(job=name))
        st.caption(plain(one.words), width="stretch")
