"""A plan for a person at a terminal: the answer first, then what changes, memory, curve, schedule, problems and the snippet.

Bars and schedules are drawn with letters. For a ticket or a pull request, the same is Markdown.
"""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from monitor.cli.output import Column, table, titled
from monitor.cli.report import print_finding
from monitor.export.markdown import as_code, block, bold, document, heading, joined
from monitor.export.markdown import table as markdown_table
from monitor.predict.distribution import is_default
from monitor.predict.layout import pipeline_of
from monitor.predict.outcome import Point, bubble_fraction, schedule_of
from monitor.predict.pipeline import Schedule
from monitor.predict.setup import FRAMEWORK_NAMES, Setup
from monitor.review.planning import Plan
from monitor.show.plan.words import answer, changed_words, curve_words, script_lines, snippet, to_fit_rows
from monitor.words import DASH, count, percent, sentence

_STYLE = {"error": "bold red", "warning": "bold yellow", "success": "bold green", "info": "bold"}
# Bars are so long where the paper is wide enough for them and the figures beside.
_LONGEST_BAR, _BESIDE = 36, 52


def print_plan(name: str, plan: Plan, paper: Console, usd_per_hour: float | None = None) -> None:
    """Prints all of it to ``paper``; ``usd_per_hour`` is what the job costs."""
    said = answer(plan, usd_per_hour)
    paper.print(Text(name, "bold"))
    if plan.asked:
        paper.print(Text(changed_words(plan)))
    paper.print()
    paper.print(Text(sentence(said.outcome), _STYLE[said.level]))
    paper.print(Text(said.body))
    _values(plan, paper)
    _memory(plan, paper)
    _to_fit(plan, paper)
    _curve(plan, paper)
    _schedules(plan, paper)
    if plan.problems:
        titled("Risks and unknowns", paper)
    for finding in plan.problems:
        print_finding(finding, paper)
    _snippet(plan, paper)
    paper.print()
    paper.print(Padding(Text(plan.method, "dim"), (0, 0)))


def rows(plan: Plan) -> list[tuple[str, str, str, str, bool]]:
    """(parameter, start, change, where the start was read, whether it changes): changed ones, then what was given."""
    changes = plan.changes
    out = []
    for name, value in changes.items():
        known = plan.start.known(name)
        start = "not known" if known is None else written(known.value)
        out.append((name, start, "not known" if value is None else written(value), plan.start.read_from(name), True))
    for name, known in sorted(plan.start.values.items()):
        if name not in changes and known.value is not None and not is_default(plan.start, name):
            out.append((name, written(known.value), "", known.read_from, False))
    return out


def written(value: Any) -> str:
    """A value for people."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)[:60]


def _values(plan: Plan, paper: Console) -> None:
    found = rows(plan)
    if not found:
        return
    titled("Start and change" if plan.asked else "Start", paper)
    change = [Column("CHANGE", wraps=True)] if plan.asked else []
    columns = [Column("PARAMETER"), Column("START", wraps=True), *change, Column("READ FROM", goes=1, wraps=True)]
    rows_shown = [
        [name, start, change, read_from] if plan.asked else [name, start, read_from]
        for name, start, change, read_from, _ in found
    ]
    paper.print(table(columns, rows_shown, paper.width, ["bold" if row[-1] else "" for row in found], head="dim"))
    if defaults := sum(1 for name in plan.start.values if is_default(plan.start, name)):
        library = FRAMEWORK_NAMES.get(plan.start.framework or "", "the library")
        paper.print(Text(f"And {count(defaults, 'default')} of {library}; --format json has them.", "dim"))


def _memory(plan: Plan, paper: Console) -> None:
    memory = plan.outcome.memory
    whole = {"start": memory.start_gib, **({"change": memory.expected_gib} if plan.asked else {})}
    totals = [(name, gib) for name, gib in whole.items() if gib is not None]
    if not memory.components and not totals:
        return
    titled("GPU memory of the fullest GPU, GiB", paper)
    limit, longest = memory.limit_gib, _bar_width(paper)
    most = max([limit or 0.0, *memory.components.values(), *(gib for _, gib in totals)]) or 1.0
    rows_shown = [(name, gib, "dim" if totals else "") for name, gib in memory.components.items()]
    rows_shown += [(name, gib, "") for name, gib in totals]
    rows_shown += [("limit", limit, "bold")] if limit else []
    drawn = Table(box=None, pad_edge=False, show_header=False)
    drawn.add_column(no_wrap=True)
    drawn.add_column(justify="right", no_wrap=True)
    drawn.add_column(no_wrap=True)
    for name, gib, style in rows_shown:
        drawn.add_row(name, f"{gib:.1f}", bar(gib / most, longest), style=style)
    paper.print(drawn)
    if memory.components and memory.measured:
        paper.print(Text("Components are predicted; the start was measured.", "dim"))


def _to_fit(plan: Plan, paper: Console) -> None:
    if not plan.to_fit:
        return
    titled("To make it fit, the cheapest first", paper)
    columns = [
        Column("CHANGE", wraps=True),
        Column("STEP TIME", right=True),
        Column("GPU MEMORY", right=True),
        Column("FITS"),
    ]
    paper.print(table(columns, to_fit_rows(plan), paper.width, head="dim"))


def _bar_width(paper: Console) -> int:
    return max(4, min(_LONGEST_BAR, paper.width - _BESIDE))


def _curve(plan: Plan, paper: Console) -> None:
    points = plan.curve
    if not points or plan.knob is None:
        return
    titled(f"Along {plan.knob}", paper)
    if len([point for point in points if point.step_time_relative or point.gpu_memory_gib]) < 2:
        paper.print(Text(curve_words(plan)))
        return
    longest = _bar_width(paper)
    most = max((point.step_time_relative or 0.0 for point in points), default=0.0) or 1.0
    columns = (
        Column("VALUE"),
        Column("STEP TIME", right=True),
        Column("", goes=1),
        Column("GPU MEMORY", right=True),
        Column(""),
    )
    shown = []
    for point in points:
        time, gib = point.step_time_relative, point.gpu_memory_gib
        drawn = "" if time is None else bar(time / most, longest)
        cells = (DASH if time is None else f"{time:.3f}", drawn, DASH if gib is None else f"{gib:.1f} GiB")
        shown.append((written(point.value), *cells, marks(plan, point)))
    paper.print(table(columns, shown, paper.width, head="dim"))
    paper.print(Text(curve_words(plan)))


def marks(plan: Plan, point: Point) -> str:
    """``today, change, advised``, as they apply to a point."""
    said = {
        "today": _is(plan.start, point),
        "change": point.parameter in plan.asked and _is(plan.change, point),
        "advised": plan.advised is not None and plan.advised.value == point.value,
    }
    return ", ".join(name for name, holds in said.items() if holds)


def _is(setup: Setup, point: Point) -> bool:
    if isinstance(point.value, bool):
        return setup.flag(point.parameter) == point.value
    return bool(setup.number(point.parameter) == point.value)


def _schedules(plan: Plan, paper: Console) -> None:
    setups = [("start", plan.start)]
    if plan.asked and pipeline_of(plan.start) != pipeline_of(plan.change):
        setups.append(("change", plan.change))
    drawn = [(name, setup, lanes(setup, paper.width - 12)) for name, setup in setups]
    if not any(found for _, _, found in drawn):
        return
    titled("The pipeline of a step", paper)
    for name, setup, found in drawn:
        if found:
            paper.print(Text(_schedule_words(name, setup)))
            for number, lane in enumerate(found):
                paper.print(Text(f"  stage {number + 1:<3} {lane}"), no_wrap=True, overflow="crop")
    paper.print(
        Text(
            "Digits: forward passes of microbatches. Letters: backward passes (a for microbatch 1). ·: waiting. "
            "Equal stages.",
            "dim",
        )
    )


def _schedule_words(name: str, setup: Setup) -> str:
    waits = bubble_fraction(setup)
    return name if waits is None else f"{name}: stages wait {percent(100 * waits)} of the time"


def _snippet(plan: Plan, paper: Console) -> None:
    if not plan.distribution:
        return
    titled("For the SageMaker SDK", paper)
    if plan.is_rejected:
        paper.print(Text("The library rejects this: fix the problems named above first.", "bold red"))
    for line in snippet(plan):
        paper.print(Text(line), soft_wrap=True)
    for line in script_lines(plan):
        paper.print(Text(line))


_EIGHTHS = " ▏▎▍▌▋▊▉█"
#: Stages beyond these are not drawn.
MOST_STAGES = 16
WAITING = "·"
_FORWARDS, _BACKWARDS = "1234567890", "abcdefghij"


def bar(share: float, width: int) -> str:
    """A bar of ``share`` of ``width``, to an eighth of a letter; what is more than nothing has one."""
    eighths = max(0, min(8 * width, round(8 * width * share)))
    if not eighths and share > 0:
        eighths = 1
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def lanes(setup: Setup, width: int) -> list[str]:
    """A line a stage, in time: a digit is the forward of a microbatch (its number's last), a letter its backward (a that of
    1). What does not fit ends in an ellipsis. Empty without a pipeline, or where it is not known or too large."""
    found = schedule_of(setup)
    if found is None or not 1 < found.stages <= MOST_STAGES:
        return []
    unit_s = min(work.end_s - work.start_s for work in found.work)
    return [_cut(lane, width) for lane in _lanes(found, unit_s, width)]


def _lanes(schedule: Schedule, unit_s: float, width: int) -> list[str]:
    cells = min(round(schedule.seconds / unit_s), width + 1)
    drawn = [[WAITING] * cells for _ in range(schedule.stages)]
    for work in schedule.work:
        first, last = round(work.start_s / unit_s), round(work.end_s / unit_s)
        if last > cells:
            continue
        sign = (_FORWARDS if work.kind == "forward" else _BACKWARDS)[work.microbatch % 10]
        drawn[work.stage][first:last] = [sign] * (last - first)
    return ["".join(lane) for lane in drawn]


def _cut(lane: str, width: int) -> str:
    return lane if len(lane) <= width else f"{lane[: width - 1]}…"


def markdown(name: str, plan: Plan, usd_per_hour: float | None = None) -> str:
    """The whole plan; ``usd_per_hour`` is what the job costs."""
    said = answer(plan, usd_per_hour)
    lines: list[str] = [heading(1, as_code(name)), ""]
    if plan.asked:
        lines += [as_code(changed_words(plan)), ""]
    lines += [joined(bold(sentence(said.outcome)), said.body), ""]
    titles = ("parameter", "start", "change", "read from")
    found = [
        (bold(name) if is_changed else name, start, change, read_from)
        for name, start, change, read_from, is_changed in rows(plan)
    ]
    lines += [*markdown_table(titles, found), ""]
    if plan.curve and plan.knob:
        points = [
            (
                written(point.value),
                DASH if point.step_time_relative is None else f"{point.step_time_relative:.3f}",
                DASH if point.gpu_memory_gib is None else f"{point.gpu_memory_gib:.1f}",
                marks(plan, point),
            )
            for point in plan.curve
        ]
        lines += [*markdown_table((plan.knob, "step time", "GPU memory, GiB", ""), points), "", curve_words(plan), ""]
    for finding in plan.problems:
        lines += [heading(2, f"{finding.severity}: {finding.title}"), "", finding.summary, ""]
        if finding.recommendation:
            lines += [f"Next: {finding.recommendation.whole}", ""]
    if plan.distribution:
        lines += [block("\n".join(snippet(plan)), "python"), ""]
        lines += ["The library rejects this: fix the problems named above first.", ""] if plan.is_rejected else []
        lines += [*script_lines(plan), ""]
    lines.append(plan.method)
    return document(lines)
