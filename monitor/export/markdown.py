"""A report as Markdown, for a ticket or a pull request. Log text and names stand in code, so that none is markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from monitor.analyze.step_time import is_aggregated
from monitor.diagnose.cost_words import cost_words
from monitor.diagnose.headline import facts, status_word
from monitor.diagnose.hidden import hidden_words
from monitor.diagnose.muted_words import muted_words
from monitor.diagnose.outlook import outlook
from monitor.diagnose.verdict import gain_words, judge
from monitor.model import Distribution, Report
from monitor.words import DASH, capitalised, duration, from_cache, instant, percent, phase, sentence, step_seconds, usd


def markdown(report: Report) -> str:
    """The whole report."""
    verdict = judge(report)
    lines = [
        f"# {as_code(report.job.name)}",
        "",
        " · ".join([status_word(report.job.status), *facts(report)]),
        "",
        *(f"{capitalised(clause)}  " for clause in outlook(report)),
        *([""] if outlook(report) else []),
        f"**{sentence(verdict.headline)}**",
        "",
    ]
    if verdict.headline.startswith("Failed: "):
        lines += [as_code(verdict.detail), ""]
    for finding in report.findings:
        lines += [f"## {finding.severity}: {finding.title}", "", finding.summary, ""]
        if finding.id in report.muted:
            lines += [as_code(muted_words(report.muted[finding.id])), ""]
        if finding.recommendation:
            step, _, code = finding.recommendation.text.partition("\n")
            lines += [f"Next: {step}", "", *(["```", code, "```", ""] if code else [])]
        if finding.prediction:
            lines += [f"Predicted: {gain_words(finding.prediction)}", ""]
        quoted = [evidence.line for evidence in finding.evidence if evidence.line]
        lines += [f"- {as_code(line)}" for line in quoted] + ([""] if quoted else [])
        if finding.not_checked:
            lines += [f"Not checked: {'; '.join(finding.not_checked)}.", ""]
    if report.buckets:
        rows = [(phase(bucket.name), duration(bucket.seconds), usd(bucket.cost_usd)) for bucket in report.buckets]
        lines += ["## Where the time went", "", *as_table(("phase", "time", "cost"), rows), ""]
        lines += [
            *([] if report.goodput is None else [f"Goodput {percent(100 * report.goodput)}."]),
            *cost_words(report),
            "",
        ]
    if report.nodes:
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
        lines += ["## Nodes", "", *as_table(titles, nodes), ""]
    if is_aggregated(report.run.steps):
        marked = [gap.why for gap in report.run.gaps if "aggregated" in gap.why]
        lines += [*(marked or ["The step figures are aggregated."]), ""]
    kept = "" if report.kept_at is None else f", {from_cache(report.kept_at)}"
    if report.archive is not None:
        kept = f", from the archive {as_code(report.archive)}"
    if said := hidden_words(report.job):
        lines += [as_code(said), ""]
    lines.append(f"Reviewed {instant(report.reviewed_at)}{kept}.")
    return "\n".join(lines) + "\n"


def _mean(found: Distribution | None) -> str:
    return DASH if found is None else percent(found.mean)


def as_code(text: str) -> str:
    """One line of text as code; a longer fence where the text holds back-ticks."""
    text = " ".join(text.split())
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def as_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return [line(titles), line(["---"] * len(titles)), *(line(row) for row in rows)]
