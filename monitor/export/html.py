"""A report as one HTML page that contains all it shows: no script, no font, no request; light, dark and on paper.

Charts are static SVG: what a reader may want to measure is in the tables, and a file without a script opens from an
e-mail and under any policy. The template escapes all text. A day of 64 nodes stays below 2 MB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from monitor import __version__, words
from monitor.diagnose.headline import facts, status_word
from monitor.diagnose.outlook import outlook
from monitor.diagnose.rights import of_report
from monitor.diagnose.verdict import Verdict, gain_words, judge
from monitor.diagnose.words.cost import cost_words
from monitor.diagnose.words.devices import LEFT_OUT
from monitor.diagnose.words.evidence import fact_value, when
from monitor.diagnose.words.files import file_rows
from monitor.diagnose.words.mfu import mfu_words
from monitor.diagnose.words.mutes import muted_words
from monitor.export.pictures import pictures
from monitor.faults import attempt
from monitor.model import Distribution, NodeStats, Report
from monitor.predict.setup import resolved

Made = TypeVar("Made")

_HERE = Path(__file__).parent
_LEVELS = {
    "critical": "Critical",
    "warning": "Warning",
    "healthy": "Healthy",
    "partial": "Partial data",
    "muted": "Muted",
}
_MASK = "***"


def html(report: Report, made_at: datetime, note: str = "") -> str:
    """The page, as made at ``made_at``. All times in it are UTC. ``note`` stands above all, such as that this is a sample."""
    failed: list[str] = []

    def made(part: str, make: Callable[[], Made]) -> Made | None:
        return attempt(report, part, make, failed.append)

    verdict = made("Verdict", lambda: judge(report)) or Verdict("unknown", "The verdict could not be worked out")
    configuration = made("Configuration", lambda: _configuration(report)) or []
    parts: dict[str, Any] = {
        "head": made("Header", lambda: " · ".join([status_word(report.job.status), *facts(report)])) or "",
        "outlook": made("Outlook", lambda: [words.capitalised(clause) for clause in outlook(report)]) or [],
        "rights": made("Missing rights", lambda: of_report(report)) or (),
        "muted": made("Muted findings", lambda: {id: muted_words(mute) for id, mute in report.muted.items()}) or {},
        "pictures": made("Charts", lambda: list(pictures(report))) or [],
        "costs": made("Cost", lambda: _costs(report)) or [],
        "buckets": made("Time and cost by phase", lambda: _buckets(report)) or [],
        "nodes": made("Nodes", lambda: [_node(stats) for stats in report.nodes]) or [],
        "coverage": made("Coverage", lambda: list(_coverage(report))) or [],
    }
    gaps = [" ".join(part for part in (gap.why, gap.remedy) if part) for gap in report.gaps if not gap.action]
    page = _template().render(
        style=(_HERE / "page.css").read_text(encoding="utf-8"),
        note=note,
        job=report.job,
        verdict=verdict,
        level=_LEVELS.get(verdict.level, "Not judged"),
        said=words.sentence(verdict.headline),
        findings=report.findings,
        gain=gain_words,
        value=fact_value,
        when=when,
        configuration=configuration,
        files=file_rows(report.job),
        masked=any(_MASK in value for _, value, _ in configuration),
        gaps=[*gaps, *failed],
        not_checked=[
            (finding.title, "; ".join(finding.not_checked)) for finding in report.findings if finding.not_checked
        ],
        made=words.instant(made_at, UTC),
        left_out=LEFT_OUT,
        version=__version__,
        **parts,
    )
    return f"{page}\n"


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("page.html.j2")


def _configuration(report: Report) -> list[tuple[str, str, str]]:
    return [(name, str(known.value), known.read_from) for name, known in sorted(resolved(report.job).items())]


def _costs(report: Report) -> list[str]:
    goodput = [] if report.goodput is None else [f"Goodput {words.percent(100 * report.goodput)}."]
    useful = [] if report.mfu is None else [mfu_words(report.mfu)]
    return [*goodput, *useful, *(cost_words(report) if report.buckets else [])]


def _buckets(report: Report) -> list[tuple[str, str, str]]:
    return [(words.phase(each.name), words.duration(each.seconds), words.usd(each.cost_usd)) for each in report.buckets]


def _node(stats: NodeStats) -> tuple[str, ...]:
    steps = stats.steps
    return (
        stats.node.name,
        stats.node.instance_type or words.DASH,
        _span(stats.gpu_utilization),
        _mean(stats.gpu_memory_utilization),
        _mean(stats.cpu_utilization),
        _mean(stats.memory_utilization),
        _mean(stats.disk_utilization),
        words.step_seconds(steps.median_s) if steps else words.DASH,
    )


def _mean(found: Distribution | None) -> str:
    return words.DASH if found is None else f"{found.mean:.0f}"


def _span(found: Distribution | None) -> str:
    return words.DASH if found is None else f"{found.mean:.0f} ({found.p5:.0f} to {found.p95:.0f})"


def _coverage(report: Report) -> Iterator[str]:
    run = report.run
    yield f"Metrics every {words.duration(run.metrics_period_s)}." if run.metrics_period_s else "No metrics."
    lines = f"{words.count(run.logs.lines, 'log line')} from {words.count(run.logs.streams, 'stream')}"
    last = "" if run.logs.last_line_at is None else f", the last at {words.instant(run.logs.last_line_at)}"
    yield f"{lines}{last}."
    if read := run.profiler:
        yield f"Read {words.profiler_objects(read.objects, read.size_bytes, read.usd, read.skipped_lines)}."
    if report.api.calls:
        calls = words.count(sum(report.api.calls.values()), "AWS call")
        yield f"{calls}, {words.about_usd(report.api.estimated_usd)}."
    if report.archive is not None:
        yield f"From the archive {report.archive}."
    if report.kept_at is not None:
        yield f"Read {words.from_cache(report.kept_at)}."
    yield f"Reviewed {words.instant(report.reviewed_at)}."
