"""What would a threshold say? Typed and read as at the command line, tested on past jobs, and saved if it is good."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

import streamlit as st

from monitor.alert.conditions import SEVERITIES, Rule, name_of
from monitor.alert.grammar import parse
from monitor.alert.rules import free_name
from monitor.errors import BadCall
from monitor.model import Report
from monitor.show import address, visitor
from monitor.show.callbacks import calm
from monitor.show.plain import plain
from monitor.show.thresholds.past import show_past
from monitor.show.thresholds.saved import TYPED, fill, save
from monitor.show.thresholds.words import EXAMPLES, show_command, show_grammar, show_wrong

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
