"""What was found: the verdict, with what it is based on, and a card for each further finding, in the order in which
to act.

Where the verdict is a finding's, its card begins with it, so that nothing is said twice. Why a finding should be believed stands
in the card: the chart that shows it, with its span marked; the facts; the log lines as they are. A viewer mutes a finding with a
reason; what is muted stays on the page, in a closed list.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo

import pandas as pd
import streamlit as st

from monitor.charts import step_time, utilization
from monitor.charts.elements import marked
from monitor.charts.utilization import ROWS
from monitor.diagnose.bookmarks import is_of_the_log
from monitor.diagnose.verdict import Verdict, gain_words, judge
from monitor.diagnose.words.charts import slow_node
from monitor.diagnose.words.report import fact_value, muted_words, when
from monitor.errors import TrainwatchError
from monitor.model import Evidence, Finding, Mute, Report, View
from monitor.model.host_metrics import HOST_METRICS
from monitor.predict.parameters import CANONICAL
from monitor.review.muted import LONGEST_REASON, base_of_runs, can_mute, mute, unmute
from monitor.show import address, visitor
from monitor.show.data import mutes
from monitor.show.drawing import draw
from monitor.show.job.pictures import work
from monitor.show.job.timeline import draw_timeline, key_of, of
from monitor.show.logs.address import link_of
from monitor.show.plan import inputs as plan_address
from monitor.show.shell import LOGS_PAGE, PLAN_PAGE, show_link
from monitor.show.trouble import LOOKS, advice, calm, part, plain
from monitor.words import DASH, clock, count, zone_name


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
    to = address.to(**plan_address.link(report.job.name, **{advised.parameter: advised.to_value}))
    show_link(PLAN_PAGE, "Plan this change", to)


def _quiet(finding: Finding) -> None:
    """How sure, what was not checked, and who says so: one line."""
    parts = [f"{finding.confidence.capitalize()} confidence."]
    if finding.not_checked:
        parts.append(f"Not checked: {'; '.join(finding.not_checked)}.")
    if finding.recommendation is not None and finding.recommendation.source:
        parts.append(f"Source: {finding.recommendation.source}.")
    st.caption(plain(" ".join(parts)))


_TROUBLE = "mute-trouble"
_THIS = "This job only"


def offer_mute(finding: Finding, report: Report) -> None:
    """The button, and behind it the question why and for which jobs."""
    if not can_mute(finding) or visitor.is_read_only():
        return
    with st.popover("Mute", icon=":material/notifications_off:", type="tertiary", key=f"mute-{finding.id}"):
        st.caption("It stays on this page with your reason, and in saved reports. Alerts are not affected.")
        base = base_of_runs(report.job.name)
        with st.form(f"mute-form-{finding.id}", border=False, enter_to_submit=True):
            st.text_input(
                "Why?",
                key=f"mute-reason-{finding.id}",
                max_chars=LONGEST_REASON,
                placeholder="Example: the data loader is being rewritten",
            )
            if base is not None:
                st.radio("For which jobs?", (_THIS, _all_runs(base)), key=f"mute-jobs-{finding.id}")
            st.form_submit_button(
                "Mute this finding",
                key=f"mute-save-{finding.id}",
                on_click=calm("Muting the finding", _mute),
                args=(finding.id, report.job.name, base),
            )
        trouble = st.session_state.get(_TROUBLE)
        if trouble is not None and trouble[0] == finding.id:
            st.error(advice(str(trouble[1])), icon=":material/error:")


def show_muted(report: Report, zone: tzinfo) -> None:
    """The findings of this job that are muted: why, since when, and the way back; and why they are not known."""
    error = mutes()[1]
    if error is not None:
        st.caption(f":material/notifications_off: {advice(str(error))}")
    trouble = st.session_state.get(_TROUBLE)
    if trouble is not None and trouble[0] in report.muted:
        st.error(advice(str(trouble[1])), icon=":material/error:")
    if not report.muted:
        return
    silenced = [finding for finding in report.findings if finding.id in report.muted]
    with st.expander(count(len(silenced), "muted finding"), icon=":material/notifications_off:", key="muted"):
        for finding in silenced:
            with st.container(border=True, gap="xsmall", key=f"muted-{finding.id}"):
                look = LOOKS[finding.severity]
                with st.container(horizontal=True, vertical_alignment="center"):
                    st.badge(look.word, icon=look.icon, color="gray")
                    st.markdown(f"**{plain(finding.title)}**", width="stretch")
                    if not visitor.is_read_only():
                        st.button(
                            "Unmute",
                            icon=":material/notifications:",
                            key=f"unmute-{finding.id}",
                            on_click=calm("Unmuting the finding", _unmute),
                            args=(finding.id, report.muted[finding.id]),
                        )
                st.caption(plain(muted_words(report.muted[finding.id], zone)))
                st.text(finding.summary)


def _all_runs(base: str) -> str:
    return f"All runs of {plain(base)}"


def _mute(finding: str, job: str, base: str | None) -> None:
    state = st.session_state
    all_runs = base is not None and state.get(f"mute-jobs-{finding}") not in (None, _THIS)
    made = Mute(
        finding,
        base if all_runs and base is not None else job,
        state.get(f"mute-reason-{finding}") or "",
        datetime.now(UTC).replace(microsecond=0),
        all_runs,
    )
    state.pop(_TROUBLE, None)
    try:
        visitor.refuse_if_read_only("mutes")
        mute(made)
    except TrainwatchError as error:
        state[_TROUBLE] = (finding, error)


def _unmute(finding: str, gone: Mute) -> None:
    st.session_state.pop(_TROUBLE, None)
    try:
        visitor.refuse_if_read_only("mutes")
        unmute(gone)
    except TrainwatchError as error:
        st.session_state[_TROUBLE] = (finding, error)


HEIGHT = 170
_MOST_SPANS = 20
# Where the order of things is the evidence, and no level of a device.
_IN_TIME = frozenset(
    {
        "cuda-out-of-memory", "nccl-timeout", "spot-interruption", "access-denied", "data-error", "script-error", "nan-loss",
        "max-runtime",
        "stopped-by-user", "long-initialization", "lost-work", "checkpoint-stall", "checkpoint-overdue",
    }
)  # fmt: skip
_STEPS = frozenset({"stall", "step-time-regression", "slow-steps"})


def view_of(finding: Finding, report: Report) -> View | None:
    """The chart to show; None where the job has no data for one, or where the finding is of no time at all."""
    if report.job.started is None:
        return None
    wanted: list[View] = []
    if finding.id in _IN_TIME:
        wanted.append("timeline")
    if finding.id in _STEPS:
        wanted.append("steps")
    wanted += [fact.view for fact in finding.evidence if fact.view is not None]
    return next((view for view in wanted if _has(report, view)), None)


def _has(report: Report, view: View) -> bool:
    if view == "timeline":
        return of(report).start is not None
    if view == "steps":
        return bool(report.run.steps["timestamp"].notna().any())
    metrics = report.run.metrics
    return bool((metrics["value_pct"].notna() & (metrics["metric"] == view)).any())


def spans_of(finding: Finding) -> tuple[tuple[datetime, datetime], ...]:
    """The stretches its evidence speaks of, each once; a fact with a beginning alone is a moment."""
    spans = [
        (fact.start or fact.end, fact.end or fact.start)
        for fact in finding.evidence
        if fact.start is not None or fact.end is not None
    ]
    return tuple(dict.fromkeys((start, end) for start, end in spans if start and end))[:_MOST_SPANS]


def show_why(finding: Finding, report: Report, zone: tzinfo) -> None:
    """Everything behind a finding."""
    view = view_of(finding, report)
    if view is not None:
        _chart(finding, view, report)
    spans = spans_of(finding)
    if spans:
        local = zone_name(spans[0][0], zone)
        if local != "UTC":
            example = f"{clock(spans[0][0])} is {spans[0][0].astimezone(zone):%H:%M} {local}"
            st.caption(plain(f"Times here are in your time zone, {local}; the sentences above use UTC: {example}."))
    _facts([fact for fact in finding.evidence if fact.value is not None or fact.line is None], finding.id, zone)
    for number, fact in enumerate(finding.evidence):
        if fact.line is not None:
            place = " · ".join(part for part in (fact.label, fact.node, when(fact, zone)) if part)
            st.caption(plain(place))
            st.code(fact.line, language=None, wrap_lines=True)
            if not report.archive and is_of_the_log(fact):
                to = link_of(report, finding.id, fact, number)
                show_link(LOGS_PAGE, "Open in the log", to)


def _chart(finding: Finding, view: View, report: Report) -> None:
    job = report.job
    assert job.started is not None
    span = (job.started, job.ended or report.reviewed_at)
    spans = spans_of(finding)
    key = f"why-chart-{finding.id}"
    timed = len(work(report)) > 0
    if view == "timeline":
        title = "What happened when, by node"
    elif view == "steps":
        title = "Step time, seconds" if timed else "Progress, steps"
    else:
        title = HOST_METRICS[view].by_node
    st.markdown(
        f"**{title}**" + (" :gray[(framed\\: the time the finding is about)]" if spans and view != "timeline" else "")
    )
    if view == "timeline":
        st.caption(key_of(of(report)))
        draw_timeline(report, key)
        return
    said = finding.title
    if view == "steps":
        steps = report.run.steps
        slow = slow_node(report)
        draw(
            report,
            lambda: marked(
                step_time.step_time(steps, span, slow) if timed else step_time.progress(steps, span), spans, HEIGHT
            ),
            key,
            title,
            said,
        )
        return
    frame = report.run.metrics
    nodes = [name for name in job.node_names if name] or sorted(set(frame["node"]))
    if len(nodes) == 1:
        draw(report, lambda: marked(utilization.line(frame, view, span), spans, HEIGHT), key, title, said)
    else:
        drawn = min(len(nodes), ROWS)
        height = min(240, utilization.row_pixels(drawn) * drawn + utilization.CHROME_PX)
        first = [fact.node for fact in finding.evidence if fact.node]
        draw(
            report,
            lambda: marked(utilization.heatmap(frame, view, nodes, span, first), spans, height),
            key,
            title,
            said,
        )


def _facts(facts: Sequence[Evidence], about: str, zone: tzinfo) -> None:
    if facts:
        st.dataframe(
            pd.DataFrame([_fact(fact, zone) for fact in facts]).dropna(axis="columns", how="all"),
            hide_index=True,
            width="content",
            placeholder=DASH,
            alt=f"Evidence of {about}",
        )


def _fact(fact: Evidence, zone: tzinfo) -> dict[str, str | None]:
    return {"What": fact.label, "Value": fact_value(fact), "Node": fact.node, "When": when(fact, zone)}
