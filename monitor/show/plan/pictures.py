"""The pictures of a plan: the curve of a knob, memory against the limit, the pipeline's schedule before and after."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from monitor.charts.plan import (
    Course,
    CurveMark,
    MemoryBar,
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
from monitor.predict.memory import modelled
from monitor.predict.outcome import schedule_of
from monitor.predict.setup import Setup
from monitor.review.planning import Plan
from monitor.show.drawing import draw_frames
from monitor.show.plain import plain
from monitor.show.plan.captions import band_words, curve_words, gantt_words, head_words, memory_words

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


def courses_of(plan: Plan) -> list[Course]:
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


def _course(name: str, setup: Setup, length_pct: float | None) -> Course | None:
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
    return Course(name, said, schedule.stages, whole, pieces)


def _no_schedule(plan: Plan) -> str:
    change = plan.change
    if change.pipeline_degree is None:
        return "The number of pipeline stages is not known."
    if change.pipeline_degree == 1:
        return "One pipeline stage: there is no schedule to fill, and nothing waits for another stage."
    if change.microbatches is None:
        return "The number of microbatches is not known."
    return "This pipeline has too many pieces to draw."
