"""What was found, as cards: loudness and headline, what, what to do, what it would gain, and the evidence on demand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

import pandas as pd
import streamlit as st

from monitor.diagnose.verdict import gain_words
from monitor.model import Evidence, Finding
from monitor.show.plain import advice, plain
from monitor.show.severity import LOOKS
from monitor.words import DASH, instant


def show_findings(findings: Sequence[Finding], zone: tzinfo) -> None:
    """Cards for what asks for action, closed lines for the rest, in the order of the report."""
    for place, finding in enumerate(findings):
        key = f"{finding.id}-{place}"
        if finding.severity == "info":
            with st.expander(plain(finding.title), icon=LOOKS["info"].icon, key=f"finding-{key}"):
                _body(finding)
                _evidence(finding, zone)
        else:
            with st.container(border=True, key=f"finding-{key}", gap="xsmall"):
                _head(finding)
                _body(finding)
                if finding.evidence:
                    with st.expander(f"Evidence ({len(finding.evidence)})", type="compact", key=f"evidence-{key}"):
                        _evidence(finding, zone)


def _head(finding: Finding) -> None:
    look = LOOKS[finding.severity]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(look.word, icon=look.icon, color=look.colour)
        st.markdown(f"**{plain(finding.title)}**", width="stretch")
        st.caption(f"{finding.confidence} confidence", width="content")


def _body(finding: Finding) -> None:
    st.text(finding.summary)
    if finding.recommendation is not None:
        step = finding.recommendation
        source = f" :gray[Source\\: {plain(step.source)}]" if step.source else ""
        text, _, code = step.text.partition("\n")
        st.markdown(f":material/arrow_forward: **Next step.** {advice(text)}{source}")
        if code:
            st.code(code, language="python", wrap_lines=True)
    if finding.prediction is not None:
        method = f" Source: {finding.prediction.method}." if finding.prediction.method else ""
        st.markdown(f":material/calculate: {plain(gain_words(finding.prediction) + method)}")
    if finding.not_checked:
        st.caption(f"Not checked: {plain('; '.join(finding.not_checked))}.")


def _evidence(finding: Finding, zone: tzinfo) -> None:
    facts = [fact for fact in finding.evidence if fact.value is not None or fact.line is None]
    if facts:
        st.dataframe(
            pd.DataFrame([_fact(fact, zone) for fact in facts]).dropna(axis="columns", how="all"),
            hide_index=True,
            width="content",
            placeholder=DASH,
            alt=f"Evidence of {finding.id}",
        )
    for fact in finding.evidence:
        if fact.line is not None:
            place = " · ".join(part for part in (fact.what, fact.node, _span(fact, zone)) if part)
            st.caption(plain(place))
            st.code(fact.line, language=None, wrap_lines=True)


def _fact(fact: Evidence, zone: tzinfo) -> dict[str, str | None]:
    value = _three_digits(fact.value) if isinstance(fact.value, float) else fact.value
    return {
        "What": fact.what,
        "Value": None if value is None else f"{value} {fact.unit}".strip(),
        "Node": fact.node,
        "When": _span(fact, zone),
    }


def _span(fact: Evidence, zone: tzinfo) -> str | None:
    if fact.start is None and fact.end is None:
        return None
    if fact.start is None or fact.end is None:
        return f"{'from' if fact.start else 'until'} {instant(fact.start or fact.end, zone)}"
    start, end = instant(fact.start, zone), instant(fact.end, zone)
    same_day = start.split(",")[0] == end.split(",")[0]
    return f"{start} to {end.split(', ')[1] if same_day else end}"


def _three_digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
