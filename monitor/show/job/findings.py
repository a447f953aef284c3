"""What was found: the verdict, with what it is based on, and a card for each further finding, in the order in which
to act.

Where the verdict is a finding's, its card begins with it, so that nothing is said twice.
"""

from __future__ import annotations

from datetime import tzinfo

import streamlit as st

from monitor.diagnose.verdict import Verdict, gain_words, judge
from monitor.model import Finding, Report
from monitor.predict.parameters import CANONICAL
from monitor.show import links
from monitor.show.job.evidence import show_why
from monitor.show.job.muting import offer_mute, show_muted
from monitor.show.parts import part
from monitor.show.plain import advice, plain
from monitor.show.plan import address as plan_address
from monitor.show.severity import LOOKS
from monitor.show.shell import PLAN_PAGE
from monitor.words import count


def show_answer(report: Report, zone: tzinfo) -> None:
    """The verdict first; then cards for what asks for action, and closed lines for the rest."""
    verdict, first = (found := judge(report)), found.finding
    further = [finding for finding in report.warnings if finding is not first]
    if first is not None:
        with st.container(border=True, key=f"finding-{first.id}", gap="small"):
            _banner(verdict, first.summary)
            part(report, f"Finding {first.id}", _rest, first, report, zone)
    else:
        _banner(verdict, verdict.detail)
    if further:
        st.markdown(f"**{count(len(further), 'further finding' if first else 'finding')}**")
    for finding in further:
        with st.container(border=True, key=f"finding-{finding.id}", gap="xsmall"):
            part(report, f"Finding {finding.id}", _card, finding, report, zone)
    for finding in report.findings:
        if finding.severity == "info" and finding.id not in report.muted:
            part(report, f"Finding {finding.id}", _note, finding, report, zone)
    part(report, "Muted findings", show_muted, report, zone)


def _card(finding: Finding, report: Report, zone: tzinfo) -> None:
    _head(finding)
    st.text(finding.summary)
    _rest(finding, report, zone)


def show_problem(finding: Finding, number: int) -> None:
    """The ``number``-th finding in short: how serious, what, and the next step."""
    with st.container(border=True, key=f"problem-{number}", gap="xsmall"):
        _head(finding)
        st.text(finding.summary)
        _advice(finding)


def _banner(verdict: Verdict, detail: str) -> None:
    """The answer in one sentence, as loud as it is serious, and what there is to say of it."""
    title, body = plain(verdict.headline), plain(detail)
    match verdict.level:
        case "critical":
            st.error(body, title=title, icon=":material/error:")
        case "warning":
            st.warning(body, title=title, icon=":material/warning:")
        case "muted":
            st.info(body, title=title, icon=":material/notifications_off:")
        case "healthy":
            st.success(body, title=title, icon=":material/check_circle:")
        case _:
            st.info(body, title=title, icon=":material/help:")


def _head(finding: Finding) -> None:
    look = LOOKS[finding.severity]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(look.word, icon=look.icon, color=look.colour)
        st.markdown(f"**{plain(finding.title)}**", width="stretch")


def _note(finding: Finding, report: Report, zone: tzinfo) -> None:
    """A closed line; what stands behind it is drawn when it is opened."""
    more = st.expander(plain(finding.title), icon=LOOKS["info"].icon, key=f"finding-{finding.id}", on_change="rerun")
    with more:
        st.text(finding.summary)
        _advice(finding)
        _quiet(finding)
        if more.open:
            part(report, "Evidence", show_why, finding, report, zone)
        offer_mute(finding, report)


def _rest(finding: Finding, report: Report, zone: tzinfo) -> None:
    """What follows the headline and the summary."""
    _advice(finding)
    with st.container(horizontal=True, vertical_alignment="center"):
        _plan(finding, report)
        offer_mute(finding, report)
    _quiet(finding)
    if finding.evidence:
        more = st.expander("Show the evidence", type="compact", key=f"why-{finding.id}", on_change="rerun")
        if more.open:
            with more:
                part(report, "Evidence", show_why, finding, report, zone)


def _advice(finding: Finding) -> None:
    if finding.recommendation is not None:
        step = finding.recommendation
        st.markdown(f":material/arrow_forward: **Next step.** {advice(step.text)}")
        for text in step.further:
            st.markdown(advice(text))
        if step.code:
            st.code(step.code, language=step.language, wrap_lines=True)
    if finding.prediction is not None:
        st.markdown(f":material/calculate: {plain(gain_words(finding.prediction))}")


def _plan(finding: Finding, report: Report) -> None:
    """The way to the plan of a change that is one parameter of a plan."""
    advised = finding.recommendation
    if advised is None or advised.to_value is None or advised.parameter not in CANONICAL:
        return
    to = links.to(**plan_address.link(report.job.name, **{advised.parameter: advised.to_value}))
    st.page_link(PLAN_PAGE, label="Plan this change", icon=":material/tune:", query_params=to)


def _quiet(finding: Finding) -> None:
    """How sure, what was not checked, and who says so: one line."""
    parts = [f"{finding.confidence.capitalize()} confidence."]
    if finding.not_checked:
        parts.append(f"Not checked: {'; '.join(finding.not_checked)}.")
    if finding.recommendation is not None and finding.recommendation.source:
        parts.append(f"Source: {finding.recommendation.source}.")
    st.caption(plain(" ".join(parts)))
