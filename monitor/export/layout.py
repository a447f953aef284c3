"""How a report, a comparison and a report of a fleet are laid out: one tree each, which a terminal, Markdown and HTML draw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from monitor.analyze.memory import memory_peaks
from monitor.analyze.step_time import is_aggregated
from monitor.archive.comparison import PredictionRecord, record_line
from monitor.diagnose.comparison.compare import Comparison
from monitor.diagnose.comparison.rows import difference_rows, figure_rows, heading, prediction_lines, verdict_lines
from monitor.diagnose.headline import about, outlook
from monitor.diagnose.rights import of_report
from monitor.diagnose.verdict import gain_words, judge
from monitor.diagnose.words.devices import LEFT_OUT
from monitor.diagnose.words.report import (
    NODE_TITLES,
    cost_words,
    fact_value,
    file_rows,
    hidden_words,
    mfu_words,
    muted_words,
    node_cells,
    when,
)
from monitor.diagnose.words.step_readings import reading_words
from monitor.document import ALL, Code, Column, FactLine, Facts, Figure, FindingNode, Form, Node, Note, Section, Table
from monitor.export.markdown import as_markdown
from monitor.faults import attempt
from monitor.fleet.report import FleetReport
from monitor.fleet.sections import headline, sections
from monitor.model import METRICS, Finding, Mute, NodeStats, Parameter, Report
from monitor.predict.setup import resolved
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

_PAGE: frozenset[Form] = frozenset({"html"})
_PHASE_COLUMNS = (
    Column("phase"),
    Column("time", right=True),
    Column("share", right=True),
    Column("billed", goes=1),
    Column("cost", right=True),
)
# In the order of their titles, when a column of the nodes goes.
_NODE_GOES = (0, 3, 6, 0, 1, 2, 4, 5, 0)
_NODES_SHOWN = 16
_SETTING_COLUMNS = (
    Column("parameter"),
    Column("value", wraps=True, code=True, letters=60),
    Column("read from", goes=1, wraps=True),
)
_FILE_COLUMNS = (Column("what"), Column("where", wraps=True, code=True), Column("how"))


def markdown(report: Report) -> str:
    return as_markdown(report_tree(report))


def html(report: Report, made_at: datetime, note: str = "") -> str:
    """The page, as made at ``made_at``. All times in it are UTC. ``note`` stands above all, such as that this is a sample."""
    # Imported late: what draws charts is large, and nobody else needs it.
    from monitor.export import figures
    from monitor.export.html import as_html

    drawn = attempt(report, "Charts", lambda: tuple(figures.pictures(report)), lambda said: (Note(said, "quiet"),))
    return as_html(report_tree(report, drawn), f"{instant(made_at, UTC)}. All times are UTC.", note)


def fleet_markdown(report: FleetReport) -> str:
    return as_markdown(_fleet_tree(report, {}))


def fleet_html(report: FleetReport) -> str:
    from monitor.export import figures
    from monitor.export.html import as_html

    tree = _fleet_tree(report, figures.fleet_pictures(report))
    return as_html(tree, f"{instant(report.made_at)}. Days and weeks are UTC.")


def _fleet_tree(report: FleetReport, pictures: Mapping[str, str]) -> Section:
    first, *others = headline(report)
    nodes = [Section("", (Note(first, "strong"), *map(Note, others)), "strong")]
    for section in sections(report):
        columns = tuple(replace(column, title=column.title.lower()) for column in section.columns)
        drawn = pictures.get(section.figure)
        parts: list[Node | None] = [
            Note(section.said) if section.said else None,
            Figure(section.title, drawn) if drawn else None,
            Table(columns, section.rows) if section.rows else None,
            Note(section.note, "quiet") if section.note else None,
        ]
        nodes.append(Section(section.title, tuple(part for part in parts if part is not None)))
    made = Note(f"From the archive {report.archive}, made {report.made_at:%Y-%m-%d %H:%M} UTC.", "quiet")
    return Section(f"GPU-hours, {report.window.name}", (*nodes, Section("", (made,))))


def report_tree(report: Report, figures: Iterable[Section | Note] = ()) -> Section:
    """All of the report; a part that fails says so in its place."""
    parts: tuple[tuple[str, Callable[[Report], Iterable[Node]]], ...] = (
        ("Header", _header),
        ("Missing rights", _rights),
        ("Verdict", _verdict),
        ("Findings", _findings),
        ("Charts", lambda _: figures),
        ("Where the time went", _phases),
        ("Steps", _steps),
        ("Nodes", _nodes),
        ("Configuration", _configuration),
        ("Inputs and outputs", _files),
        ("Coverage", _coverage),
    )
    nodes: list[Node] = []
    for part, made in parts:
        nodes += attempt(report, part, partial(_made, made, report), lambda said: (Note(said, "quiet"),))
    return Section(report.job.name, tuple(nodes))


def _made(made: Callable[[Report], Iterable[Node]], report: Report) -> tuple[Node, ...]:
    # Here and now: where a generator fails nobody waits for it.
    return tuple(made(report))


def _header(report: Report) -> Iterator[Node]:
    yield Note(about(report))
    for clause in outlook(report):
        yield Note(capitalised(clause))


def _rights(report: Report) -> Iterator[Node]:
    for right in of_report(report):
        said = " ".join((right.lost, right.why, right.remedy))
        nodes = (Note(sentence(right.title), "warning"), Note(said), Code(right.statement, "json"))
        yield Section("", nodes, "warning")


def _verdict(report: Report) -> Iterator[Node]:
    verdict = judge(report)
    nodes = [Note(sentence(verdict.headline), verdict.level)]
    if verdict.detail:
        # With findings below it stands there in full; a failure that no finding explains has no other place.
        is_alone = not report.warnings or verdict.unexplained
        nodes.append(Note(verdict.detail, forms=ALL if is_alone else _PAGE))
    yield Section("", tuple(nodes), verdict.level)


def _findings(report: Report) -> Iterator[Node]:
    if report.findings:
        found = tuple(finding_node(each, report.muted.get(each.id)) for each in report.findings)
        yield Section("Findings", found, plain=True)


def finding_node(finding: Finding, muted: Mute | None = None) -> FindingNode:
    """What, where, what next, how sure."""
    nodes: list[Node] = [Note(muted_words(muted), "quiet")] if muted else []
    nodes.append(Note(finding.summary))
    if advice := finding.recommendation:
        nodes += [Note(advice.text, label="Next"), *map(Note, advice.further)]
        nodes += [Code(advice.code)] if advice.code else []
    if finding.prediction:
        nodes.append(Note(gain_words(finding.prediction), label="Predicted"))
    if finding.evidence:
        about = [tuple(filter(None, (fact.node, when(fact)))) for fact in finding.evidence]
        facts = (
            FactLine(fact.label, fact_value(fact) or "", place, fact.line or "")
            for fact, place in zip(finding.evidence, about, strict=True)
        )
        nodes.append(Facts(tuple(facts)))
    if finding.not_checked:
        nodes.append(Note(f"{'; '.join(finding.not_checked)}.", label="Not checked"))
    if finding.severity != "info":
        nodes.append(Note(f"{finding.confidence}.", label="Confidence"))
    if advice and advice.source:
        nodes.append(Note(f"{advice.source}.", label="Source", forms=_PAGE))
    return FindingNode(finding.title, finding.severity, finding.id, tuple(nodes))


def _phases(report: Report) -> Iterator[Node]:
    if not report.buckets:
        return
    total = sum(bucket.seconds for bucket in report.buckets) or 1.0
    billed = {phase.name for phase in report.phases if phase.billed}
    # As they came, not as they are defined.
    order = [phase.name for phase in report.phases]
    rows = tuple(
        (
            phase(bucket.name),
            duration(bucket.seconds),
            percent(100 * bucket.seconds / total),
            "yes" if bucket.name in billed else "no",
            usd(bucket.cost_usd),
        )
        for bucket in sorted(report.buckets, key=lambda bucket: order.index(bucket.name))
    )
    goodput = "the share of billed time spent training steps that were kept."
    known = () if report.goodput is None else (Note(f"Goodput {percent(100 * report.goodput)}: {goodput}"),)
    costs = (Note(line, "quiet") for line in cost_words(report))
    yield Section("Where the time went", (Table(_PHASE_COLUMNS, rows), *known, *costs))


def _steps(report: Report) -> Iterator[Node]:
    memory = tuple(_memory(report))
    if report.steps is not None:
        yield Section("Steps", (*_step_notes(report), *memory))
    elif memory:
        yield Section("GPU memory", memory, plain=True)


def _step_notes(report: Report) -> Iterator[Note]:
    steps = report.steps
    assert steps is not None
    of = f"of {count(steps.distinct, 'step')}" if steps.distinct else "without a step's number"
    said = f"{count(steps.count, 'report')} {of}"
    if report.job.instance_count:
        nodes = f"{steps.nodes_observed} of {count(report.job.instance_count, 'node')}"
        said += f" from {nodes}" if steps.nodes_observed else "; which node wrote them is not known"
    yield Note(f"{said}; read as {', '.join(steps.formats)}")
    for shape in report.run.logs.learned:
        yield Note(f"Learned from this log: {shape}")
    if steps.median_s is None:
        yield Note("Neither the lines nor their clock give a step time.")
    else:
        yield Note(
            f"step time {step_seconds(steps.median_s)} (p10 {step_seconds(steps.p10_s)}, p90 {step_seconds(steps.p90_s)}, "
            f"warm-up left out); first report {step_seconds(steps.first_step_s)}"
        )
    for line in reading_words(report.run.logs.readings):
        yield Note(line, "quiet")
    if report.mfu is not None:
        yield Note(mfu_words(report.mfu))
    if is_aggregated(report.run.steps):
        yield Note("Aggregated by Logs Insights: each time is a median over a minute or more, not of single steps.")
    if steps.total is not None:
        yield Note(f"step {steps.done:,} of {steps.total:,}")
    if steps.lost_steps:
        # As long as in the list of phases, which their cost is of.
        took_s = sum(phase.seconds for phase in report.phases if phase.name == "lost-work")
        yield Note(done_twice(steps.lost_steps, took_s or steps.lost_seconds))


def _memory(report: Report) -> Iterator[Note]:
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
    yield Note(said)


def _nodes(report: Report) -> Iterator[Node]:
    known = [node for node in report.nodes if _has_figures(node)]
    # The least busy first when not all fit: these are the ones to look at.
    if len(known) > _NODES_SHOWN:
        known.sort(key=lambda node: node.gpu_utilization.mean if node.gpu_utilization else 101.0)
    cells = [node_cells(stats) for stats in known]
    goes = dict(zip(NODE_TITLES, _NODE_GOES, strict=True))
    names = [name for name in NODE_TITLES if any(each[name] != DASH for each in cells)]
    if len(names) < 3:
        return
    rows = tuple(tuple(each[name] for name in names) for each in cells)
    nodes: list[Node] = [
        Table(tuple(_node_column(name, goes[name]) for name in names), rows, most=_NODES_SHOWN, rows_are="nodes")
    ]
    silent = [stats.node.name for stats in report.nodes if not _has_figures(stats)]
    if silent:
        nodes.append(Note(f"Without figures: {', '.join(silent[:8])}{' …' if len(silent) > 8 else ''}", "quiet"))
    if any(name in METRICS for name in names):
        nodes.append(Note(f"Percent of one GPU or vCPU, over the minutes of training; {LEFT_OUT}.", "quiet"))
    yield Section("Nodes", tuple(nodes))


def _node_column(name: str, goes: int) -> Column:
    title, spread = NODE_TITLES[name], " (p5-p95)" if name == "gpu_utilization" else ""
    short = f"{title.upper().replace('MEMORY', 'MEM')}{spread}"
    return Column(f"{title}{spread}", name not in {"node", "instance_type"}, goes, short=short)


def _has_figures(stats: NodeStats) -> bool:
    """More than of its disk, which stands still."""
    return any(getattr(stats, name) for name in (*METRICS, "steps") if name != "disk_utilization")


def _configuration(report: Report) -> Iterator[Node]:
    given, known = report.job.configuration, resolved(report.job)
    said = hidden_words(report.job)
    if given:
        yield Section("Configuration", (_settings(given), *([Note(said)] if said else [])))
    if defaults := {name: each for name, each in known.items() if name not in given}:
        yield Section("The library's defaults", (_settings(defaults),), forms=_PAGE)


def _settings(settings: Mapping[str, Parameter]) -> Table:
    rows = ((name, str(each.value), each.read_from) for name, each in settings.items())
    return Table(_SETTING_COLUMNS, tuple(rows))


def _files(report: Report) -> Iterator[Node]:
    if rows := file_rows(report.job):
        yield Section("Inputs and outputs", (Table(_FILE_COLUMNS, tuple(rows)),), forms=_PAGE)


def _coverage(report: Report) -> Iterator[Node]:
    run = report.run
    said = [gap for finding in report.findings for gap in finding.gaps]
    nodes = []
    for gap in report.gaps:
        if (gap.what == "price" and report.buckets) or gap.action:
            continue  # said beside the costs, and before the verdict
        if gap not in said:
            head = "" if gap.what in {"program", "archive"} else "Not read: "
            nodes.append(Note(f"{head}{gap.sentence}", "quiet"))
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
    if run.logs.last_line_at is not None:
        nodes.append(Note(f"The last log line is of {instant(run.logs.last_line_at)}.", "quiet", forms=_PAGE))
    nodes.append(Note(f"Read {', '.join(parts)}. Reviewed {instant(report.reviewed_at, UTC)}.", "quiet"))
    yield Section("What was read, and what was not", tuple(nodes), plain=True)


_VERDICT_LEVELS = {"faster": "healthy", "slower": "critical", "cannot tell": "warning", "not comparable": "warning"}
_DIFFERENCES_SHOWN = 30


def comparison_markdown(comparison: Comparison, earlier: PredictionRecord | None) -> str:
    return as_markdown(comparison_tree(comparison, earlier))


def comparison_tree(comparison: Comparison, earlier: PredictionRecord | None) -> Section:
    """The verdicts, the jobs, what differs, the figures, what was predicted; ``earlier`` is how predictions did before."""
    jobs = [(heading(comparison, place), f"   {about(report)}") for place, report in enumerate(comparison.reports)]
    different = tuple(difference_rows(comparison))
    nodes: list[Node] = [
        *map(Note, verdict_lines(comparison), (_VERDICT_LEVELS[result.answer] for result in comparison.against)),
        Section("", tuple(note for name, said in jobs for note in (Note(name, "strong"), Note(said)))),
        Section(
            "What differs",
            (
                Table(_compared("parameter", comparison, code=True), different, most=_DIFFERENCES_SHOWN)
                if different
                else Note("Nothing in the known configuration."),
            ),
        ),
        Section(
            "Side by side",
            (
                Table(_compared("", comparison, right=True), tuple(figure_rows(comparison))),
                *(Note(note, "quiet") for note in comparison.notes),
            ),
        ),
    ]
    if predicted := prediction_lines(comparison):
        nodes.append(Section("Predicted and measured", tuple(map(Note, predicted))))
    if line := record_line(earlier):
        nodes.append(Section("", (Note(line),)))
    return Section("Comparison", tuple(nodes), plain=True)


def _compared(first: str, comparison: Comparison, right: bool = False, code: bool = False) -> tuple[Column, ...]:
    return Column(first, code=code), *(Column(name, right, wraps=True, code=code) for name in comparison.letters)
