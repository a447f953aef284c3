"""The thresholds of a page: one that is typed as at the command line and tested on past jobs (would it have fired, when, and how
long before their end?), those that are saved, which jobs cross each, and alerts that reached nobody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal

import pandas as pd
import streamlit as st

from monitor.alert.conditions import AlertRule, FindingCondition, Threshold, name_of, parse
from monitor.alert.delivery import undelivered
from monitor.alert.evaluate import figure, judge
from monitor.alert.history import backtest
from monitor.alert.ledger import ASIDE_KEPT_S, SetAside, ledger_file
from monitor.alert.rules import add, free_name, remove
from monitor.alert.sinks.names import sink_of
from monitor.choices import SEVERITIES, RuleSeverity
from monitor.errors import BadCall, CannotDo, TrainwatchError
from monitor.installed import PROGRAM
from monitor.model import Report
from monitor.show import address, data, visitor
from monitor.show.shell import JOB_PAGE, show_link
from monitor.show.thresholds.crossings import (
    EXAMPLES,
    Crossings,
    ThresholdResult,
    command,
    crossings,
    in_time,
    show_command,
    show_grammar,
    show_wrong,
    typed,
)
from monitor.show.trouble import LOOKS, Colour, calm, plain
from monitor.words import DASH, count, instant

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


def show_saved(rules: Sequence[AlertRule], reports: Sequence[Report], newest: str | None) -> bool:
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


def _remove(rule: AlertRule) -> None:
    _forget()
    try:
        visitor.refuse_if_read_only("thresholds")
        st.session_state[_REMOVED] = remove(rule.name)
    except TrainwatchError as error:
        st.session_state[_TROUBLE] = ("Not removed", error)


def _undo(rule: AlertRule) -> None:
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


def _head(rule: AlertRule, place: int, crossed: Crossings, newest: str | None) -> None:
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


def _job(one: ThresholdResult) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        name = one.report.job.name
        show_link(JOB_PAGE, plain(name), address.to(job=name))
        st.caption(plain(one.words), width="stretch")


_NAME, _LOUD = "threshold-name", "threshold-severity"


def show_try(rules: Sequence[AlertRule] | None, reports: Sequence[Report], zone: tzinfo, newest: str | None) -> bool:
    """The box and what comes of it; ``rules`` is None where nothing can be saved. Gives whether there is more to judge."""
    st.session_state[TYPED] = address.value(TYPED) or ""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            "Expression",
            key=TYPED,
            on_change=calm("Reading the threshold", lambda: address.keep(TYPED, st.session_state[TYPED].strip())),
            placeholder="Test one on past jobs, such as gpu_utilization < 40% for 10 min",
            icon=":material/science:",
            label_visibility="collapsed",
            width="stretch",
        )
        with st.popover("Syntax", icon=":material/help:"):
            show_grammar()
            st.markdown("Examples")
            for _, example, _, what in EXAMPLES:
                st.button(
                    example,
                    key=f"example-{example}",
                    help=what,
                    on_click=calm("Filling in the threshold", fill),
                    args=(example,),
                )
        if text:
            st.button(
                "Clear",
                key="threshold-clear",
                icon=":material/close:",
                on_click=calm("Filling in the threshold", fill),
                args=("",),
            )
    if not (text or "").strip():
        return False
    with st.container(border=True):
        return _tried(text, rules, reports, zone, newest)


def _tried(
    text: str, rules: Sequence[AlertRule] | None, reports: Sequence[Report], zone: tzinfo, newest: str | None
) -> bool:
    try:
        when = parse(text)
    except BadCall as error:
        show_wrong(error, "I can't use this condition")
        return False
    rule = AlertRule(name_of(when), when, text.strip())
    if rules is not None:
        _saving(rule, rules)
    waiting = show_past(rule, reports, zone)
    with st.expander("In a terminal", icon=":material/terminal:", key="threshold-terminal"):
        show_command(newest, rule.text)
    return waiting


def _saving(rule: AlertRule, rules: Sequence[AlertRule]) -> None:
    same = next((each for each in rules if each.when == rule.when), None)
    if same is not None:
        st.caption(f":material/check: Saved as {plain(same.name)}.")
        return
    if visitor.is_read_only():
        st.caption(f":material/lock: {visitor.READ_ONLY_WORDS}: thresholds are saved on the machine that runs it.")
        return
    name = free_name(rule.name, [each.name for each in rules])
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Save as", width="content")
        st.text_input("Name", key=_NAME, placeholder=name, label_visibility="collapsed", width=320)
        st.segmented_control(
            "Severity", SEVERITIES, default="warning", required=True, key=_LOUD, label_visibility="collapsed"
        )
        st.button(
            "Save",
            key="threshold-save",
            icon=":material/add:",
            type="primary",
            on_click=calm("Saving the threshold", _save_tried),
            args=(rule, name),
        )


def _save_tried(rule: AlertRule, name: str) -> None:
    if save(
        str(st.session_state.get(_NAME) or "").strip() or name, rule.text, st.session_state.get(_LOUD) or "warning"
    ):
        st.session_state[_NAME] = ""


Outcome = Literal["fires", "silent", "no data"]
_COLOURS: dict[Outcome, Colour] = {"fires": "orange", "silent": "green", "no data": "gray"}
_ORDER: tuple[Outcome, ...] = ("fires", "silent", "no data")
_TABLE, _DRAWN = "thresholds_past", "thresholds_drawn"
_ROW_PX, _ROWS = 35, 12


@dataclass(frozen=True, slots=True)
class Past:
    """One job of the past: what the rule would have said of it."""

    outcome: Outcome
    alerts: int = 0
    at: datetime | None = None
    before_end_s: float | None = None
    usd_after: float | None = None
    words: str = ""
    """Where and what, of the first alert; or why nobody knows."""


def past(report: Report, rule: AlertRule) -> Past:
    """Of a metric by walking through the job; of a finding as of the job's end, since a walk would take seconds."""
    if isinstance(rule.when, FindingCondition):
        verdict = judge(report, rule, report.reviewed_at)
        if verdict.state == "firing":
            return Past("fires", len(verdict.firing), words=verdict.summary)
        return Past("no data", words=verdict.why) if verdict.state == "no data" else Past("silent")
    tested = backtest(report, (rule,), report.reviewed_at).rules[0]
    if not tested.said:
        return Past("no data", words=tested.why) if tested.state == "no data" else Past("silent")
    first = tested.said[0]
    value = figure(first.episode.value, rule.when.metric, first.episode.unit)
    words = ", ".join(part for part in (first.episode.node or "", value, tested.came_by) if part)
    return Past("fires", len(tested.said), first.at, first.seconds_before_end, first.usd_after, words)


def show_past(rule: AlertRule, reports: Sequence[Report], zone: tzinfo) -> bool:
    """The sum in a sentence and a row a job; gives whether there is more to judge."""
    over = [report for report in reports if not report.job.is_running]
    if not over:
        st.caption(":material/inbox: No finished job has been reviewed yet to test it on.")
        return False
    found = in_time(over, lambda report: data.detail_of(report, f"past {rule.text}", lambda: past(report, rule)))
    st.markdown(_sum(rule, [each for _, each in found], len(over) - len(found)))
    found.sort(key=lambda pair: _ORDER.index(pair[1].outcome))
    _table([(report.job.name, each) for report, each in found], isinstance(rule.when, Threshold), zone)
    st.caption(_how(rule, over[0].job.name, zone))
    return len(found) < len(over)


def _sum(rule: AlertRule, found: Sequence[Past], left: int) -> str:
    firing = [each for each in found if each.outcome == "fires"]
    lacking = sum(each.outcome == "no data" for each in found)
    known = count(len(found) - lacking, "past job")
    if firing:
        verb = "True at the end of" if isinstance(rule.when, FindingCondition) else "Would have fired in"
        alerts = (
            ""
            if isinstance(rule.when, FindingCondition)
            else f", with {count(sum(each.alerts for each in firing), 'alert')}"
        )
        said = f"**{verb} {len(firing)} of {known}**{alerts}."
    else:
        said = f"**Silent in {known}.**" if lacking < len(found) else "**No past job has data.**"
    more = f"No data for {lacking} more." if lacking and lacking < len(found) else ""
    rest = f"{count(left, 'job')} still to be replayed…" if left else ""
    return " ".join(part for part in (said, more, rest) if part)


def _how(rule: AlertRule, job: str, zone: tzinfo) -> str:
    if isinstance(rule.when, FindingCondition):
        return (
            "Finding out when a finding would first have appeared takes seconds per job. In a terminal: "
            f"`{command(job, rule.text, '--backtest')}`"
        )
    return (
        "First alert: CloudWatch's figures are used three minutes late, as in a running job. Cost after: from that "
        "moment to the end of the job, what stopping at once would have saved. Click a row to open the job. Times "
        f"are {getattr(zone, 'key', None) or 'UTC'}."
    )


def _table(found: Sequence[tuple[str, Past]], timed: bool, zone: tzinfo) -> None:
    st.session_state[_DRAWN] = [name for name, _ in found]
    frame = pd.DataFrame(
        {
            "name": [name for name, _ in found],
            "outcome": [[each.outcome] for _, each in found],
            "what": [each.words or None for _, each in found],
            "at": pd.to_datetime(pd.Series([each.at for _, each in found], dtype="object"), utc=True).dt.tz_convert(
                zone
            ),
            "before_end": pd.Series(
                [None if each.before_end_s is None else _minutes(each.before_end_s) for _, each in found],
                dtype="timedelta64[s]",
            ),
            "usd_after": pd.Series([each.usd_after for _, each in found], dtype="float64"),
            "alerts": pd.Series([each.alerts or None for _, each in found], dtype="Int64"),
        }
    )
    config = st.column_config
    st.dataframe(
        frame,
        key=_TABLE,
        on_select=calm("Opening the job", _open),
        selection_mode=["single-row", "single-cell"],
        hide_index=True,
        height="content" if len(frame) <= _ROWS else (_ROWS + 1) * _ROW_PX,
        row_height=_ROW_PX,
        placeholder=DASH,
        alt="Past jobs, those where it would have fired first; click a row to open the job",
        column_order=list(frame) if timed else ["name", "outcome", "what"],
        column_config={
            "name": config.TextColumn("Job", width=285),
            "outcome": config.MultiselectColumn(
                "Verdict", options=list(_COLOURS), color=list(_COLOURS.values()), width=75
            ),
            "what": config.TextColumn("Where and what", width=285 if timed else 620),
            "at": config.DatetimeColumn("First alert", format="D MMM, HH:mm", width=105),
            "before_end": config.NumberColumn("Before the end", format="localized", width=105),
            "usd_after": config.NumberColumn("Cost after", format="dollar", width=85),
            "alerts": config.NumberColumn("Alerts", width=65),
        },
    )


def _minutes(seconds: float) -> timedelta:
    return timedelta(seconds=round(seconds) if seconds < 60 else round(seconds / 60) * 60)


def _open() -> None:
    state = st.session_state[_TABLE].selection
    places = [*state.rows, *(row for row, _ in state.cells)]
    drawn = st.session_state.get(_DRAWN, [])
    if places and places[0] < len(drawn):
        st.switch_page(JOB_PAGE, query_params=address.to(job=drawn[places[0]]))
