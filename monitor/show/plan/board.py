"""A plan on the page: the answer, the inputs, risks and unknowns, what to pass to the SDK, and the pictures: the curve of a knob,
memory against the limit, the pipeline's schedule before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from monitor.charts.plan import (
    CurveMark,
    MemoryBar,
    ScheduleLanes,
    curve_limit,
    curve_marks,
    curve_points,
    gantt,
    is_dense,
    memory_bars,
    memory_curve,
    memory_limits,
    memory_parts,
    memory_wholes,
    schedule_lanes,
    schedule_pieces,
    step_time_curve,
    until_pct,
)
from monitor.choices import FRAMEWORK_NAMES
from monitor.diagnose.stakes import usd_per_hour_of_steps
from monitor.model import Report
from monitor.predict.memory import modelled
from monitor.predict.outcome import schedule_of
from monitor.predict.presets import preset
from monitor.predict.setup import Setup, changed
from monitor.review.planning import Plan, advice_of, plan, start_from, start_of
from monitor.show.drawing import draw_frames
from monitor.show.job.findings import show_problem
from monitor.show.plan import inputs as plan_address
from monitor.show.plan.inputs import CLUSTER, MODEL, NOTHING, PlanRequest, knobs, show_inputs
from monitor.show.plan.words import (
    PlanSummary,
    answer,
    band_words,
    changed_words,
    curve_words,
    gantt_words,
    head_words,
    memory_words,
    script_lines,
    snippet,
    start_words,
    to_fit_rows,
)
from monitor.show.trouble import calm, part, plain


def show_plan(report: Report | None) -> None:
    """The plan that is asked for, of a job where ``report`` is given."""
    asked = pruned(report, plan_address.current())
    plan_address.choose(asked)
    found = planned(report, asked)
    _banner(answer(found, None if report is None else usd_per_hour_of_steps(report)))
    drawn = [
        lambda: part(report, "What to change", _change, found),
        lambda: part(report, "Starting point", _start, found, asked, report),
    ]
    # Of nothing, nothing can be changed.
    for each in reversed(drawn) if asked.source == NOTHING else drawn:
        each()
    with st.grid(2, min_column_width=430):
        with st.container(border=True, height="stretch"):
            part(report, "Choice of the parameter", _knob, found)
            part(report, "Curve of the plan", show_curve, found)
        with st.container(border=True, height="stretch"):
            st.markdown("**GPU memory by component, against the limit**")
            part(report, "Chart of the memory", show_memory, found)
    with st.container(border=True):
        st.markdown("**The pipeline's schedule: stages over time**")
        part(report, "Chart of the schedule", show_schedule, found)
    with st.grid(2, min_column_width=430):
        with st.container(border=True):
            part(report, "Risks and unknowns", _problems, found)
            part(report, "What would make it fit", _to_fit, found)
            st.caption(plain(f"Basis of the figures: {found.method}"))
        with st.container(border=True):
            part(report, "Arguments for the SDK", _distribution, found)
    plan_address.write()


def _to_fit(found: Plan) -> None:
    if not found.to_fit:
        return
    st.markdown("**To make it fit, the cheapest first**")
    titles = ("Change", "Step time", "GPU memory", "Fits")
    st.table(
        pd.DataFrame([[plain(cell) for cell in row] for row in to_fit_rows(found)], columns=titles), hide_index=True
    )


def planned(report: Report | None, request: PlanRequest) -> Plan:
    advised = None if report is None else advice_of(report)
    ran = report is not None and report.steps is not None
    return plan(start_setup(report, request), request.changes, advised, ran, request.knob)


def pruned(report: Report | None, request: PlanRequest) -> PlanRequest:
    """What is asked without changes to what is so already."""
    start = start_setup(report, request)
    changes = {name: value for name, value in request.changes.items() if not _is_so(start, name, value)}
    return replace(request, changes=changes)


def start_setup(report: Report | None, request: PlanRequest) -> Setup:
    """Where the plan starts: a job, a preset or nothing, with what is stated of it."""
    if report is None:
        return start_from(request.stated, preset(request.source), request.framework)
    found = start_of(report, request.stated)
    if found.framework is None and request.framework is not None:
        found = changed(replace(found, framework=request.framework), {})
    return found


def _is_so(start: Setup, name: str, value: Any) -> bool:
    known = start.known(name)
    return known is not None and (known.value == value or str(known.value).lower() == str(value).lower())


def _banner(summary: PlanSummary) -> None:
    title, body = plain(summary.title), plain(summary.body)
    match summary.level:
        case "error":
            st.error(body, title=title, icon=":material/block:")
        case "warning":
            st.warning(body, title=title, icon=":material/warning:")
        case "success":
            st.success(body, title=title, icon=":material/trending_up:")
        case _:
            st.info(body, title=title, icon=":material/tune:")


def _change(found: Plan) -> None:
    """What may be moved, what was, and the way back."""
    asked, advised = plan_address.current(), found.advised
    if asked.source == NOTHING:
        st.markdown("**What to change**")
    show_inputs("change", knobs(found.start), found.start, found.asked)
    with st.container(horizontal=True, vertical_alignment="center"):
        words = f"Changed: {changed_words(found)}." if found.asked else "Change an input to see its effect."
        st.caption(plain(words), width="stretch")
        st.button(
            "Apply the advice",
            key="plan-advice",
            icon=":material/lightbulb:",
            disabled=advised is None or _is_so(found.change, advised.parameter, advised.value),
            help=None if advised is None else plain(f"{advised.parameter} {advised.value}: {advised.source}"),
            on_click=calm("Applying the advice", _take),
            args=(None if advised is None else (advised.parameter, advised.value),),
        )
        st.button(
            "Undo all",
            key="plan-undo",
            icon=":material/undo:",
            disabled=not asked.changes,
            on_click=calm("Undoing the changes", _undo),
        )


def _take(advised: tuple[str, Any] | None) -> None:
    if advised is not None:
        plan_address.choose(plan_address.current().moved("change", *advised))


def _undo() -> None:
    plan_address.choose(replace(plan_address.current(), changes={}))


def _start(found: Plan, request: PlanRequest, report: Report | None) -> None:
    """What the plan starts from; open where there is nothing yet."""
    start = found.start
    with st.expander(
        plain(f"Starting point: {start_words(start)}"),
        icon=":material/edit:",
        expanded=request.source == NOTHING,
        key=f"plan-start-{request.source}",
    ):
        if request.source == NOTHING or (report is not None and _framework_of(report) is None):
            _framework(start)
        for title, names in (("Model", MODEL), ("Cluster and measurements", CLUSTER), ("Configuration", knobs(start))):
            st.markdown(f"**{title}**")
            shown = [name for name in names if title != "Configuration" or name not in CLUSTER]
            show_inputs("set", shown, start, request.stated)


def _framework_of(report: Report) -> str | None:
    return start_of(report).framework


def _framework(start: Setup) -> None:
    st.session_state["plan-framework"] = start.framework
    st.selectbox(
        "Framework",
        list(FRAMEWORK_NAMES),
        index=None if start.framework is None else list(FRAMEWORK_NAMES).index(start.framework),
        key="plan-framework",
        format_func=FRAMEWORK_NAMES.__getitem__,
        placeholder="not known",
        width=240,
        on_change=calm("Choosing the framework", _other_framework),
    )


def _other_framework() -> None:
    asked = plan_address.current()
    plan_address.choose(replace(asked, framework=st.session_state["plan-framework"], knob=None))


def _knob(found: Plan) -> None:
    """The title of the curve, with the parameter to choose."""
    names = list(knobs(found.start))
    if found.knob is not None and found.knob not in names:
        names.append(found.knob)
    st.session_state["plan-knob"] = found.knob
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Step time and memory along**", width="content")
        st.selectbox(
            "Parameter of the curve",
            names,
            index=None,
            key="plan-knob",
            placeholder="choose a parameter",
            label_visibility="collapsed",
            width=280,
            on_change=calm("Choosing the parameter of the curve", _other_knob),
        )


def _other_knob() -> None:
    plan_address.choose(replace(plan_address.current(), knob=st.session_state["plan-knob"]))


def _problems(found: Plan) -> None:
    st.markdown("**Risks and unknowns**")
    if not found.problems:
        st.caption(":material/check: Nothing in this configuration is rejected, ignored or known to cost time.")
    for number, finding in enumerate(found.problems):
        show_problem(finding, number)


def _distribution(found: Plan) -> None:
    st.markdown("**For the SageMaker SDK's estimator**")
    if not found.distribution:
        st.caption(":material/visibility_off: The parallelism library is not known.")
        return
    if found.is_rejected:
        st.caption(":material/block: The library rejects this: fix the problems named beside it first.")
    st.code("\n".join(snippet(found)), language="python")
    for line in script_lines(found):
        st.caption(plain(line))


# Legends have little room.
_SHORT = {"gathered parameters": "gathered", "context, buffers, fragmentation": "context and buffers"}
_START, _CHANGE = "start", "change"


def show_curve(plan: Plan) -> None:
    """Step time along the knob and, below it, memory; start, change and advice marked."""
    if plan.knob is None or not plan.curve:
        st.caption(":material/visibility_off: This setup has no known parameter to draw a curve for.")
        return
    along = plan.knob
    shown = curve_points(
        [(point.value, point.step_time_relative, point.low, point.high, point.gpu_memory_gib) for point in plan.curve]
    )
    marked = curve_marks(shown, _marks(plan))
    said = " ".join(part for part in (curve_words(plan), band_words(plan)) if part)
    if shown["time_pct"].notna().sum() > 1:
        draw_frames(
            ("plan-curve", along),
            (shown, marked),
            lambda points, marks: step_time_curve(points, marks, along),
            f"Step time along {along}. {said}",
        )
    if shown["memory_gib"].notna().sum() > 1:
        draw_frames(
            ("plan-memory-curve", along),
            (shown, marked, curve_limit(plan.outcome.memory.limit_gib)),
            lambda points, marks, limit: memory_curve(points, marks, along, limit),
            f"GPU memory along {along}, GiB",
        )
    hidden = "" if shown["time_pct"].notna().sum() > 1 else ":material/visibility_off: "
    st.caption(hidden + plain(said))


def _marks(plan: Plan) -> list[CurveMark]:
    assert plan.knob is not None
    found, by_value = plan.outcome, {point.value: point for point in plan.curve}
    out = []
    is_switch = any(isinstance(value, bool) for value in by_value)
    start, change = (
        setup.flag(plan.knob) if is_switch else setup.number(plan.knob) for setup in (plan.start, plan.change)
    )
    if start is not None:
        out.append(CurveMark("start", start, 1.0, found.memory.start_gib))
    if plan.asked and change is not None:
        middle = found.step_time_change_pct
        out.append(
            CurveMark("change", change, None if middle is None else 1 + middle[1] / 100, found.memory.expected_gib)
        )
    if plan.advised is not None and (point := by_value.get(plan.advised.value)) is not None:
        out.append(CurveMark("advised", plan.advised.value, point.step_time_relative, point.gpu_memory_gib))
    return out


def show_memory(plan: Plan) -> None:
    """Bars by component against the limit, or what is missing for them."""
    found = plan.outcome.memory
    low, _, high = found.change_gib or (None, None, None)
    after = MemoryBar(_CHANGE if plan.asked else _START, _short(found.components), low, found.expected_gib, high)
    bars = [after]
    if plan.asked:
        before = modelled(plan.start)
        bars = [
            MemoryBar(_START, {} if before is None else _short(before.components_gib()), None, found.start_gib, None),
            after,
        ]
    if not any(bar.parts or bar.expected_gib is not None for bar in bars):
        st.caption(f":material/visibility_off: {plain(memory_words(plan))}")
        return
    said = memory_words(plan)
    frames = (memory_parts(bars), memory_wholes(bars), *memory_limits(found.limit_gib))
    draw_frames(("plan-memory",), frames, memory_bars, f"GPU memory by component, GiB. {said}")
    st.caption(plain(said))


def _short(components: Mapping[str, float]) -> dict[str, float]:
    return {_SHORT.get(name, name): gib for name, gib in components.items()}


def show_schedule(plan: Plan) -> None:
    """The schedule of the start and, below it on the same axis, that of the change."""
    courses = courses_of(plan)
    if not courses:
        st.caption(f":material/visibility_off: {plain(_no_schedule(plan))}")
        return
    said = gantt_words(until_pct(courses))
    ground, work = schedule_lanes(courses), schedule_pieces(courses)
    told = "; ".join(course.said for course in courses)
    draw_frames(("plan-schedule", len(ground), is_dense(work)), (ground, work), gantt, f"Stages over time. {told}.")
    st.caption(plain(said))


def courses_of(plan: Plan) -> list[ScheduleLanes]:
    """Both schedules in percent of the starting point's time for the same samples; none where there is no pipeline."""
    start, change = plan.start, plan.change
    if max(start.pipeline_degree or 1, change.pipeline_degree or 1) == 1:
        return []
    middle = plan.outcome.step_time_change_pct
    length = None if middle is None else 100 + middle[1]
    found = [_course(_START, start, 100.0)]
    if plan.asked:
        found.append(_course(_CHANGE, change, length))
    return [course for course in found if course is not None]


def _course(name: str, setup: Setup, length_pct: float | None) -> ScheduleLanes | None:
    schedule = schedule_of(setup)
    if schedule is None:
        return None
    whole = 100.0 if length_pct is None else length_pct
    scale = whole / schedule.seconds
    pieces = pd.DataFrame(
        [(each.stage, each.kind, each.microbatch, each.start_s * scale, each.end_s * scale) for each in schedule.work],
        columns=["stage", "kind", "microbatch", "from_pct", "to_pct"],
    )
    said = head_words(name, length_pct, schedule.bubble_fraction, schedule.stages)
    return ScheduleLanes(name, said, schedule.stages, whole, pieces)


def _no_schedule(plan: Plan) -> str:
    change = plan.change
    if change.pipeline_degree is None:
        return "The number of pipeline stages is not known."
    if change.pipeline_degree == 1:
        return "One pipeline stage: there is no schedule to fill, and nothing waits for another stage."
    if change.microbatches is None:
        return "The number of microbatches is not known."
    return "This pipeline has too many pieces to draw."
