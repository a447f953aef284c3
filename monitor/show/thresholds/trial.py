"""What would a threshold say? Typed and read as at the command line, tested on past jobs (would it have fired, when, and how long
before their end?), and saved if it is good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Literal

import pandas as pd
import streamlit as st

from monitor.alert.conditions import SEVERITIES, Found, Rule, Threshold, name_of, parse
from monitor.alert.evaluate import figure, judge
from monitor.alert.history import backtest
from monitor.alert.rules import free_name
from monitor.errors import BadCall
from monitor.model import Report
from monitor.show import address, data, visitor
from monitor.show.shell import JOB_PAGE
from monitor.show.thresholds.crossings import EXAMPLES, command, in_time, show_command, show_grammar, show_wrong
from monitor.show.thresholds.saved import TYPED, fill, save
from monitor.show.trouble import Colour, calm, plain
from monitor.words import DASH, count

_NAME, _LOUD = "threshold-name", "threshold-severity"


def show_try(rules: Sequence[Rule] | None, reports: Sequence[Report], zone: tzinfo, newest: str | None) -> bool:
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
    text: str, rules: Sequence[Rule] | None, reports: Sequence[Report], zone: tzinfo, newest: str | None
) -> bool:
    try:
        when = parse(text)
    except BadCall as error:
        show_wrong(error, "I can't use this condition")
        return False
    rule = Rule(name_of(when), when, text.strip())
    if rules is not None:
        _saving(rule, rules)
    waiting = show_past(rule, reports, zone)
    with st.expander("In a terminal", icon=":material/terminal:", key="threshold-terminal"):
        show_command(newest, rule.text)
    return waiting


def _saving(rule: Rule, rules: Sequence[Rule]) -> None:
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
            on_click=calm("Saving the threshold", _save),
            args=(rule, name),
        )


def _save(rule: Rule, name: str) -> None:
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


def past(report: Report, rule: Rule) -> Past:
    """Of a metric by walking through the job; of a finding as of the job's end, since a walk would take seconds."""
    if isinstance(rule.when, Found):
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


def show_past(rule: Rule, reports: Sequence[Report], zone: tzinfo) -> bool:
    """The sum in a sentence and a row a job; gives whether there is more to judge."""
    over = [report for report in reports if not report.job.is_running]
    if not over:
        st.caption(":material/inbox: No finished job has been reviewed yet to test it on.")
        return False
    found = in_time(over, lambda report: data.said_of(report, f"past {rule.text}", lambda: past(report, rule)))
    st.markdown(_sum(rule, [each for _, each in found], len(over) - len(found)))
    found.sort(key=lambda pair: _ORDER.index(pair[1].outcome))
    _table([(report.job.name, each) for report, each in found], isinstance(rule.when, Threshold), zone)
    st.caption(_how(rule, over[0].job.name, zone))
    return len(found) < len(over)


def _sum(rule: Rule, found: Sequence[Past], left: int) -> str:
    firing = [each for each in found if each.outcome == "fires"]
    lacking = sum(each.outcome == "no data" for each in found)
    known = count(len(found) - lacking, "past job")
    if firing:
        verb = "True at the end of" if isinstance(rule.when, Found) else "Would have fired in"
        alerts = "" if isinstance(rule.when, Found) else f", with {count(sum(each.alerts for each in firing), 'alert')}"
        said = f"**{verb} {len(firing)} of {known}**{alerts}."
    else:
        said = f"**Silent in {known}.**" if lacking < len(found) else "**No past job has data.**"
    more = f"No data for {lacking} more." if lacking and lacking < len(found) else ""
    rest = f"{count(left, 'job')} still to be replayed…" if left else ""
    return " ".join(part for part in (said, more, rest) if part)


def _how(rule: Rule, job: str, zone: tzinfo) -> str:
    if isinstance(rule.when, Found):
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
