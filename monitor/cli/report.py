"""``report``: the review of one job, running or finished. For a person at a terminal: what the job was, what stands out, where
the time went, a line per node."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from functools import partial

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from monitor.analyze.memory import memory_peaks
from monitor.analyze.step_time import is_aggregated
from monitor.archive.document import report_document
from monitor.aws.calls import metered
from monitor.cli.options import checked_limit, reviewer_of
from monitor.cli.output import Column, as_json, deliver, paper_for, progress, table, titled
from monitor.diagnose.headline import about, outlook
from monitor.diagnose.rights import of_report
from monitor.diagnose.verdict import gain_words, judge
from monitor.diagnose.words.devices import LEFT_OUT
from monitor.diagnose.words.report import NODE_TITLES, cost_words, hidden_words, mfu_words, muted_words, node_cells
from monitor.diagnose.words.step_readings import reading_words
from monitor.errors import BadCall
from monitor.export.markdown import markdown
from monitor.faults import attempt
from monitor.model import METRICS, Finding, Mute, NodeStats, Report
from monitor.review.muted import mutes, with_mutes
from monitor.words import (
    DASH,
    capitalised,
    count,
    done_twice,
    duration,
    from_cache,
    instant,
    percent,
    phase,
    profiler_objects,
    sentence,
    step_seconds,
    usd,
)

_STYLE = {"critical": "bold red", "warning": "bold yellow", "info": "bold blue", "healthy": "bold green"}
# Nodes beyond this are summed up: the worst are named, the others counted.
_NODES_SHOWN = 16


def print_report(report: Report, paper: Console) -> None:
    paper.print(Text(report.job.name, "bold"))
    paper.print(about(report))
    for clause in outlook(report):
        paper.print(Text(capitalised(clause)))
    for part, draw in (
        ("Missing rights", _rights),
        ("Verdict", _verdict),
        ("Findings", _findings),
        ("Where the time went", _phases),
        ("Steps", _steps),
        ("GPU memory", _memory),
        ("Nodes", _nodes),
        ("Configuration", _configuration),
        ("Coverage", _coverage),
    ):
        failed = attempt(report, part, partial(draw, report, paper), lambda said: said)
        if failed:
            paper.print(Text(failed, "dim"))


def _rights(report: Report, paper: Console) -> None:
    for right in of_report(report):
        paper.print()
        paper.print(Text(sentence(right.title), "bold yellow"))
        paper.print(Text(" ".join((right.lost, right.why, right.remedy))))
        paper.print(Text(right.statement), soft_wrap=True)


def _verdict(report: Report, paper: Console) -> None:
    verdict = judge(report)
    paper.print()
    paper.print(Text(f"{sentence(verdict.headline)}", _STYLE.get(verdict.level, "bold")))
    # With findings below the detail stands there in full; a failure that no finding explains has no other place.
    if verdict.detail and (not report.warnings or verdict.unexplained):
        paper.print(Text(verdict.detail))


def _findings(report: Report, paper: Console) -> None:
    for finding in report.findings:
        print_finding(finding, paper, report.muted.get(finding.id))


def print_finding(finding: Finding, paper: Console, muted: Mute | None = None) -> None:
    """One finding: what, where, what next, how sure."""
    paper.print()
    fits = 9 + len(finding.title) + 2 + len(finding.id) <= paper.width
    severity = Text(f"{finding.severity:<9}", _STYLE[finding.severity])
    if fits:
        paper.print(Text.assemble(severity, (finding.title, "bold"), f"  {finding.id}"))
    else:
        # A title of two lines stays beside how serious it is.
        head = Table.grid()
        head.add_column(width=9, no_wrap=True)
        head.add_column()
        head.add_row(severity, Text(finding.title, "bold"))
        head.add_row("", Text(finding.id, "dim"))
        paper.print(head)
    lines = [*([muted_words(muted)] if muted else []), finding.summary]
    advice = finding.recommendation
    if advice:
        lines += [f"Next: {advice.text}", *advice.further]
        for line in filter(None, lines):
            paper.print(_indented(line))
        if advice.code:
            # Not wrapped, so that it can be copied.
            paper.print(Text(" " * 9 + advice.code), soft_wrap=True)
        lines = []
    if finding.prediction:
        lines.append(f"Predicted: {gain_words(finding.prediction)}")
    lines.extend(f"| {evidence.line}" for evidence in finding.evidence if evidence.line)
    if finding.not_checked:
        lines.append(f"Not checked: {'; '.join(finding.not_checked)}.")
    lines.append(f"Confidence: {finding.confidence}." if finding.severity != "info" else "")
    for line in filter(None, lines):
        paper.print(_indented(line))


def _indented(line: str) -> Padding:
    return Padding(Text(line), (0, 0, 0, 9), expand=False)


def _phases(report: Report, paper: Console) -> None:
    if not report.buckets:
        return
    titled("Where the time went", paper)
    total = sum(bucket.seconds for bucket in report.buckets) or 1.0
    billed = {phase.name for phase in report.phases if phase.billed}
    # As they came, not as they are defined.
    order = [phase.name for phase in report.phases]
    rows = [
        (
            phase(bucket.name),
            duration(bucket.seconds),
            percent(100 * bucket.seconds / total),
            "yes" if bucket.name in billed else "no",
            usd(bucket.cost_usd),
        )
        for bucket in sorted(report.buckets, key=lambda bucket: order.index(bucket.name))
    ]
    paper.print(table(_PHASE_COLUMNS, rows, paper.width, head="dim"))
    if report.goodput is not None:
        paper.print(
            f"Goodput {percent(100 * report.goodput)}: the share of billed time spent training steps that were kept."
        )
    for line in cost_words(report):
        paper.print(Text(line, "dim"))


def _steps(report: Report, paper: Console) -> None:
    steps = report.steps
    if steps is None:
        return
    titled("Steps", paper)
    of = f"of {count(steps.distinct, 'step')}" if steps.distinct else "without a step's number"
    said = f"{count(steps.count, 'report')} {of}"
    if report.job.instance_count:
        nodes = f"{steps.nodes_observed} of {count(report.job.instance_count, 'node')}"
        said += f" from {nodes}" if steps.nodes_observed else "; which node wrote them is not known"
    paper.print(f"{said}; read as {', '.join(steps.formats)}")
    for shape in report.run.logs.learned:
        paper.print(f"Learned from this log: {shape}")
    if steps.median_s is None:
        paper.print("Neither the lines nor their clock give a step time.")
    else:
        paper.print(
            f"step time {step_seconds(steps.median_s)} (p10 {step_seconds(steps.p10_s)}, p90 {step_seconds(steps.p90_s)}, "
            f"warm-up left out); first report {step_seconds(steps.first_step_s)}"
        )
    for line in reading_words(report.run.logs.readings):
        paper.print(Text(line, "dim"))
    if report.mfu is not None:
        paper.print(mfu_words(report.mfu))
    if is_aggregated(report.run.steps):
        paper.print("Aggregated by Logs Insights: each time is a median over a minute or more, not of single steps.")
    if steps.total is not None:
        paper.print(f"step {steps.done:,} of {steps.total:,}")
    if steps.lost_steps:
        # As long as in the list of phases, which their cost is of.
        took_s = sum(phase.seconds for phase in report.phases if phase.name == "lost-work")
        paper.print(done_twice(steps.lost_steps, took_s or steps.lost_seconds))


def _memory(report: Report, paper: Console) -> None:
    peaks = memory_peaks(report.run.steps, report.run.events)
    if not peaks:
        return
    most = max(peaks, key=lambda peak: peak.peak_gib)
    who = " on ".join(part for part in ("" if most.rank is None else f"rank {most.rank}", most.node) if part)
    said = f"GPU memory as printed: {most.peak_gib:.1f} GiB at most{f', {who}' if who else ''}"
    if most.capacity_gib is not None:
        said += f", of {most.capacity_gib:.1f} GiB"
    if len(peaks) > 1:
        said += f"; {min(peak.peak_gib for peak in peaks):.1f} GiB on the rank with the least, of {len(peaks)}"
    if report.steps is None:
        paper.print()
    paper.print(said)


def _nodes(report: Report, paper: Console) -> None:
    shown = [node for node in report.nodes if _has_figures(node)]
    # The least busy first when not all fit: these are the ones to look at.
    if len(shown) > _NODES_SHOWN:
        shown.sort(key=lambda node: node.gpu_utilization.mean if node.gpu_utilization else 101.0)
    cells = [node_cells(stats, "-") for stats in shown]
    names = [name for name in _NODE_COLUMNS if any(each[name] != DASH for each in cells)]
    if len(names) < 3:
        return
    titled("Nodes", paper)
    rows = [[each[name] for name in names] for each in cells[:_NODES_SHOWN]]
    paper.print(table([_NODE_COLUMNS[name] for name in names], rows, paper.width, head="dim"), crop=False)
    if len(shown) > _NODES_SHOWN:
        paper.print(f"{len(shown) - _NODES_SHOWN} more nodes; --format json has all.", style="dim")
    silent = [stats.node.name for stats in report.nodes if not _has_figures(stats)]
    if silent:
        paper.print(f"Without figures: {', '.join(silent[:8])}{' …' if len(silent) > 8 else ''}", style="dim")
    if any(name in METRICS for name in names):
        paper.print(f"Percent of one GPU or vCPU, over the minutes of training; {LEFT_OUT}.", style="dim")


_PHASE_COLUMNS = (
    Column("PHASE"),
    Column("TIME", right=True),
    Column("SHARE", right=True),
    Column("BILLED", goes=1),
    Column("COST", right=True),
)
_NODE_COLUMNS = {
    name: Column(
        f"{title.upper().replace('MEMORY', 'MEM')}{' (p5-p95)' if name == 'gpu_utilization' else ''}",
        # In the order of their titles.
        goes=goes,
        right=name not in {"node", "instance_type"},
    )
    for (name, title), goes in zip(NODE_TITLES.items(), (0, 3, 6, 0, 1, 2, 4, 5, 0), strict=True)
}
_SETTING_COLUMNS = (Column("PARAMETER"), Column("VALUE", wraps=True), Column("READ FROM", goes=1, wraps=True))


def _has_figures(stats: NodeStats) -> bool:
    """More than of its disk, which stands still."""
    return any(getattr(stats, name) for name in (*METRICS, "steps") if name != "disk_utilization")


def _configuration(report: Report, paper: Console) -> None:
    if not report.job.configuration:
        return
    titled("Configuration", paper)
    rows = [(name, str(each.value)[:60], each.read_from) for name, each in report.job.configuration.items()]
    paper.print(table(_SETTING_COLUMNS, rows, paper.width, head="dim"), crop=False)
    if said := hidden_words(report.job):
        paper.print(Text(said))


def _coverage(report: Report, paper: Console) -> None:
    run = report.run
    paper.print()
    said = [gap for finding in report.findings for gap in finding.gaps]
    for gap in report.gaps:
        if (gap.what == "price" and report.buckets) or gap.action:
            continue  # said beside the costs, and before the verdict
        if gap not in said:
            head = "" if gap.what in {"program", "archive"} else "Not read: "
            paper.print(Text(f"{head}{gap.said}", "dim"))
    parts = [f"{count(run.logs.lines, 'log line')} from {count(run.logs.streams, 'stream')}"]
    if run.metrics_period_s and len(run.metrics):
        parts.append(f"metrics every {duration(run.metrics_period_s)}")
    if read := run.profiler:
        parts.append(profiler_objects(read.objects, read.size_bytes, read.usd, read.skipped_lines))
    if report.api.calls:
        parts.append(f"{count(sum(report.api.calls.values()), 'AWS call')}, {usd(report.api.estimated_usd)}")
    if report.archive is not None:
        parts.append(f"from the archive {report.archive}")
    if report.kept_at is not None:
        parts.append(f"{from_cache(report.kept_at)} (--no-cache reads it again)")
    line = f"Read {', '.join(parts)}. Reviewed {instant(report.reviewed_at, UTC)}."
    paper.print(line, style="dim")


def run(arguments: argparse.Namespace) -> int:
    reviewer = reviewer_of(arguments)
    with progress(arguments) as say, metered(checked_limit(arguments)):
        report = _with_mutes(reviewer.review(datetime.now(UTC), say))
    if arguments.format == "json":
        deliver(arguments, as_json(report_document(report)))
    elif arguments.format == "markdown":
        deliver(arguments, markdown(report))
    elif arguments.format == "html":
        # Imported late: what draws charts is large, and nobody else needs it.
        from monitor.export.html import html

        deliver(arguments, html(report, datetime.now(UTC)))
    else:
        paper = paper_for(arguments)
        print_report(report, paper)
        deliver(arguments, paper)
    return 0


def _with_mutes(report: Report) -> Report:
    """A file of them that cannot be used keeps nobody from the report."""
    try:
        return with_mutes(report, mutes())
    except BadCall as error:
        print(f"trainwatch: not read: {error}", file=sys.stderr)
        return report
