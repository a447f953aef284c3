"""A plan as Markdown, for a ticket or a pull request."""

from __future__ import annotations

from monitor.cli.plan_text import marks, rows, written
from monitor.export.markup import as_code, block, bold, document, heading, joined, table
from monitor.review.planning import Plan
from monitor.show.plan.words import answer, changed_words, curve_words, script_lines, snippet
from monitor.words import DASH, sentence


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
    lines += [*table(titles, found), ""]
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
        lines += [*table((plan.knob, "step time", "GPU memory, GiB", ""), points), "", curve_words(plan), ""]
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
