"""A plan as Markdown, for a ticket or a pull request."""

from __future__ import annotations

from monitor.cli.plan_text import marks, rows, title_of, written
from monitor.export.markdown import as_code, as_table
from monitor.review.planning import Plan
from monitor.show.plan_captions import curve_words, script_lines, snippet
from monitor.show.plan_words import answer, changed_words
from monitor.words import DASH


def markdown(name: str, plan: Plan, usd_per_hour: float | None = None) -> str:
    """The whole plan; ``usd_per_hour`` is what the job costs."""
    said = answer(plan, usd_per_hour)
    lines = [f"# {as_code(name)}", ""]
    if plan.asked:
        lines += [as_code(changed_words(plan)), ""]
    lines += [f"**{title_of(said)}** {said.body}", ""]
    titles = ("parameter", "start", "change", "read from")
    found = [
        (f"**{name}**" if is_changed else name, start, change, read_from)
        for name, start, change, read_from, is_changed in rows(plan)
    ]
    lines += [*as_table(titles, found), ""]
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
        lines += [*as_table((plan.knob, "step time", "GPU memory, GiB", ""), points), "", curve_words(plan), ""]
    for finding in plan.problems:
        lines += [f"## {finding.severity}: {finding.title}", "", finding.summary, ""]
        if finding.recommendation:
            lines += [f"Next: {finding.recommendation.text}", ""]
    if plan.distribution:
        lines += ["```python", *snippet(plan), "```", ""]
        lines += ["The library rejects this: fix the problems named above first.", ""] if plan.is_rejected else []
        lines += [*script_lines(plan), ""]
    lines.append(plan.method)
    return "\n".join(lines) + "\n"
