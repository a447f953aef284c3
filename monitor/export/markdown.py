"""Reports as Markdown: of a job, for a ticket or a pull request, and of a fleet. Log text and names stand in code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from monitor.diagnose.headline import facts, status_word
from monitor.diagnose.outlook import outlook
from monitor.diagnose.quoted import hidden_words
from monitor.diagnose.rights import of_report
from monitor.diagnose.verdict import gain_words, judge
from monitor.diagnose.words.cost import cost_words
from monitor.diagnose.words.report import mfu_words, muted_words
from monitor.diagnose.words.step_readings import reading_words
from monitor.export.markup import Markup, as_code, as_text, block, bold, broken, document, heading, item, joined, table
from monitor.faults import attempt
from monitor.fleet.report import FleetReport
from monitor.fleet.sections import headline, sections
from monitor.model import Distribution, Report
from monitor.words import DASH, capitalised, duration, from_cache, instant, percent, phase, sentence, step_seconds, usd


def markdown(report: Report) -> str:
    """The whole report; a part that fails says so in its place."""
    parts: tuple[tuple[str, Callable[[Report], list[str]]], ...] = (
        ("Header", _header),
        ("Missing rights", _rights),
        ("Verdict", _verdict),
        ("Findings", _findings),
        ("Where the time went", _phases),
        ("Nodes", _nodes),
        ("What could not be read", _gaps),
        ("Coverage", _coverage),
    )
    lines = [heading(1, as_code(report.job.name)), ""]
    for part, made in parts:
        lines += attempt(report, part, partial(made, report), lambda said: [as_code(said), ""])
    return document(lines)


def _header(report: Report) -> list[str]:
    clauses = outlook(report)
    return [
        " · ".join([status_word(report.job.status), *facts(report)]),
        "",
        *(broken(capitalised(clause)) for clause in clauses),
        *([""] if clauses else []),
    ]


def _rights(report: Report) -> list[str]:
    lines: list[str] = []
    for right in of_report(report):
        lines += [joined(bold(sentence(right.title)), right.lost, as_code(right.why), right.remedy), ""]
        lines += [block(right.statement, "json"), ""]
    return lines


def _verdict(report: Report) -> list[str]:
    verdict = judge(report)
    failed = [as_code(verdict.detail), ""] if verdict.unexplained else []
    return [bold(sentence(verdict.headline)), "", *failed]


def _findings(report: Report) -> list[str]:
    lines: list[str] = []
    for finding in report.findings:
        lines += [heading(2, f"{finding.severity}: {finding.title}"), "", finding.summary, ""]
        if finding.id in report.muted:
            lines += [as_code(muted_words(report.muted[finding.id])), ""]
        if finding.recommendation:
            advice = finding.recommendation
            lines += [f"Next: {advice.text}", "", *(part for step in advice.further for part in (step, ""))]
            lines += [block(advice.code), ""] if advice.code else []
        if finding.prediction:
            lines += [f"Predicted: {gain_words(finding.prediction)}", ""]
        quoted = [evidence.line for evidence in finding.evidence if evidence.line]
        lines += [*(item(as_code(line)) for line in quoted), *([""] if quoted else [])]
        if finding.not_checked:
            lines += [f"Not checked: {'; '.join(finding.not_checked)}.", ""]
    return lines


def _phases(report: Report) -> list[str]:
    if not report.buckets:
        return []
    rows = [(phase(bucket.name), duration(bucket.seconds), usd(bucket.cost_usd)) for bucket in report.buckets]
    goodput = [] if report.goodput is None else [f"Goodput {percent(100 * report.goodput)}."]
    found = table(("phase", "time", "cost"), rows)
    useful = [] if report.mfu is None else [mfu_words(report.mfu)]
    return [heading(2, "Where the time went"), "", *found, "", *goodput, *useful, *cost_words(report), ""]


def _nodes(report: Report) -> list[str]:
    if not report.nodes:
        return []
    titles = ("node", "GPU %", "GPU memory %", "CPU %", "step time")
    nodes = [
        (
            stats.node.name,
            _mean(stats.gpu_utilization),
            _mean(stats.gpu_memory_utilization),
            _mean(stats.cpu_utilization),
            step_seconds(stats.steps.median_s) if stats.steps else DASH,
        )
        for stats in report.nodes
    ]
    return [heading(2, "Nodes"), "", *table(titles, nodes), ""]


def _gaps(report: Report) -> list[str]:
    """What no line above says already: rights and prices stand there, and findings about what cannot be seen."""
    said = {finding.id for finding in report.findings}
    gaps = [
        gap for gap in report.gaps if not gap.action and gap.what != "price" and f"{gap.what}-unavailable" not in said
    ]
    lines = [item(as_code(gap.said)) for gap in gaps]
    return [heading(2, "What could not be read"), "", *lines, ""] if lines else []


def _coverage(report: Report) -> list[str]:
    lines: list[str] = []
    lines += [part for line in reading_words(report.run.logs.readings) for part in (as_code(line), "")]
    if said := hidden_words(report.job):
        lines += [as_code(said), ""]
    reviewed = f"Reviewed {instant(report.reviewed_at)}"
    if report.archive is not None:
        return [*lines, joined(f"{reviewed}, from the archive", Markup(f"{as_code(report.archive)}."))]
    return [*lines, f"{reviewed}{'' if report.kept_at is None else f', {from_cache(report.kept_at)}'}."]


def _mean(found: Distribution | None) -> str:
    return DASH if found is None else percent(found.mean)


def fleet_markdown(report: FleetReport) -> str:
    lines = [heading(1, f"GPU-hours, {report.window.name}"), ""]
    lines += [bold(sentence) for sentence in headline(report)[:1]]
    lines += [as_text(" ".join(headline(report)[1:])), ""]
    for section in sections(report):
        lines += [heading(2, section.title), ""]
        if section.said:
            lines += [as_text(section.said), ""]
        if section.rows:
            lines += [*table([column.title.lower() for column in section.columns], section.rows), ""]
        if section.note:
            lines += [as_text(section.note), ""]
    lines += [as_text(f"From the archive {report.archive}, made {report.made_at:%Y-%m-%d %H:%M} UTC.")]
    return document(lines)
