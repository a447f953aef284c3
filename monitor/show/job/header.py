"""The head of a job: its status, where it runs and since when, what it cost, how old the figures are; its figures in one row; and
how a viewer saves the report: built when it is asked for.

The run before it, and what was set otherwise, is asked in the background and kept: two DescribeTrainingJob, and one
ListTrainingJobs where the newest jobs do not hold it. Compared is what was given to both: what a log tells of one run and not of
the other would be no difference between them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo

import streamlit as st

from monitor import settings, words
from monitor.archive.document import as_json, report_document
from monitor.aws.console import job_url, s3_url, streams_url
from monitor.diagnose.comparison.comparability import ParameterDifference, differences
from monitor.diagnose.headline import facts, outlook, status_word
from monitor.diagnose.verdict import has_gpus
from monitor.diagnose.words.devices import LEFT_OUT
from monitor.diagnose.words.epochs import epoch_count
from monitor.diagnose.words.report import (
    OVERHEAD_MEANS,
    RECOVERABLE_MEANS,
    like_words,
    mfu_words,
    recoverable_words,
    usual_words,
)
from monitor.diagnose.words.step_readings import how_words
from monitor.errors import TrainwatchError
from monitor.export.layout import markdown
from monitor.export.tables import TABLES
from monitor.fetch.logs.events import prefix
from monitor.fetch.source import JobQuery
from monitor.model import Job, MetricName, Report, StepStats
from monitor.model.host_metrics import HOST_METRICS, OF_GPUS, HostMetric
from monitor.review import Snapshot
from monitor.review.archived import Source
from monitor.review.run_names import base_and_stamp, previous, short_names
from monitor.show import data
from monitor.show.compare import choice as compare_address
from monitor.show.shell import COMPARE_PAGE, show_link
from monitor.show.trouble import Colour, plain
from monitor.words import DASH, capitalised, duration, percent, sentence, step_seconds, usd, warm_pool

SAMPLE = "Simulated sample account: this job never ran. Its metrics and logs are made up."
_TABLE_NAMES = {
    "steps": "Steps",
    "metrics": "Metrics",
    "findings": "Findings",
    "phases": "Phases",
    "nodes": "Nodes",
    "configuration": "Configuration",
}


def show_save(account: data.AccountChoice, name: str) -> None:
    """The button behind which the ways are; of a job without a report yet it does nothing."""
    nothing_yet = data.snapshot(account, name).report is None

    def button(label: str, end: str, mime: str, make: Callable[[Report], str], icon: str | None, about: str) -> None:
        st.download_button(
            label,
            _newest(account, name, make),
            f"{name}{end}",
            mime,
            key=f"save{end}",
            help=about,
            icon=icon,
            # The page stays as it is while the file is made.
            on_click="ignore",
            type="secondary" if icon else "tertiary",
            width="stretch" if icon else "content",
        )

    with st.popover("Save report", icon=":material/download:", key="save-report", disabled=nothing_yet):
        button("Page with charts (HTML)", ".html", "text/html", page, ":material/web:", "One file that opens offline.")
        button("Text for a ticket (Markdown)", ".md", "text/markdown", markdown, ":material/notes:", "Without charts.")
        button(
            "Data (JSON)",
            ".json",
            "application/json",
            document,
            ":material/data_object:",
            "Same as `report --format json`.",
        )
        st.caption("Tables (CSV)")
        with st.container(horizontal=True, gap="small"):
            for table, label in _TABLE_NAMES.items():
                button(label, f"-{table}.csv", "text/csv", TABLES[table], None, f"The {table} of this job as CSV.")


def page(report: Report) -> str:
    # Imported late: what draws the charts is large, and most visits save nothing.
    from monitor.export.layout import html

    return html(report, datetime.now(UTC), SAMPLE if os.environ.get(settings.SAMPLE_SHOWN) == "1" else "")


def document(report: Report) -> str:
    """The report as ``report --format json`` prints it."""
    return as_json(report_document(report))


def _newest(account: data.AccountChoice, name: str, make: Callable[[Report], str]) -> Callable[[], bytes]:
    """What is made of the report that is the newest when somebody clicks."""

    def made() -> bytes:
        report = data.snapshot(account, name).report
        if report is None:
            raise ValueError(f"The report of {name} is no longer available: reload the page.")
        return make(report).encode("utf-8")

    return made


_STATUS_COLOURS: dict[str, Colour] = {"InProgress": "blue", "Completed": "green", "Failed": "red"}


_STATE_SIGNS = {"completed": "✓", "failed": "✕", "stopped": "■"}


def tab_title(report: Report) -> str:
    """What the browser's tab says: ``● stalled · gpt2-60b``; a dot is a job that goes on."""
    stalled = report.job.is_running and any(finding.id == "stall" for finding in report.warnings)
    state = "stalled" if stalled else status_word(report.job.status)
    sign = "●" if report.job.is_running else _STATE_SIGNS.get(state, "")
    return f"{sign} {state} · {short_names((report.job.name,))[0]}".strip()


def show_header(report: Report, snapshot: Snapshot, zone: tzinfo, now: datetime) -> None:
    """One line of facts and, of a running job, one of how it goes on."""
    job = report.job
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(status_word(job.status), color=_STATUS_COLOURS.get(job.status or "", "gray"))
        st.markdown(plain(" · ".join(facts(report, zone))), width="stretch")
        if snapshot.updated_at is not None:
            st.caption(_updated(report, snapshot.updated_at, snapshot.working, zone, now), width="content")
    if clauses := outlook(report, zone):
        st.caption(plain(" · ".join(clauses)))


def show_links(report: Report, account: data.AccountChoice, names: Iterable[str]) -> bool:
    """The previous run with the settings that differ, and AWS's own pages of the job; whether more is still to come."""
    job = report.job
    found = earlier(account, job.name, names)
    urls = _console(job) if has_console(report, account) else []
    before = found.name if found is not None else None
    different = found.different if found is not None else None
    if not urls and (before is None or different is None):
        return found is None
    with st.container(horizontal=True, vertical_alignment="center"):
        if before is not None and different is not None:
            st.caption(plain(like_words(before, different)), width="content")
            to = compare_address.link(before, job.name)
            show_link(COMPARE_PAGE, "Compare them", to)
        for label, url in urls:
            st.link_button(label, url, icon=":material/open_in_new:", type="tertiary")
    return found is None


def _console(job: Job) -> list[tuple[str, str]]:
    """AWS's own pages: of the job, of its logs, and of what it writes to S3."""
    pages = (
        ("SageMaker console", job_url(job.arn)),
        ("CloudWatch logs", streams_url(job.arn, prefix(job.name))),
        ("Model in S3", s3_url(job.arn, job.outputs.model or "")),
        ("Checkpoints in S3", s3_url(job.arn, job.outputs.checkpoints or "")),
    )
    return [(label, url) for label, url in pages if url is not None]


def has_console(report: Report, account: data.AccountChoice) -> bool:
    """Whether AWS's console knows the job: not that of a sample, of another service's address, or of an archive alone."""
    place = data.origin(account)
    return report.job.source == "aws" and not report.archive and place.endpoint is None and place.region is not None


def _updated(report: Report, at: datetime, working: bool, zone: tzinfo, now: datetime) -> str:
    """How old the figures are; a time of day where the page does not go on, since "12 s ago" would stand for ever."""
    if report.archive or not report.job.is_running:
        return f"Reviewed {words.instant(at, zone)}"
    return f"Updated {words.ago(at, now)}{', refreshing' if working else ''}"


@dataclass(frozen=True, slots=True)
class Earlier:
    """The run before; ``different`` is None where it could not be read. No name: there is none."""

    name: str | None = None
    different: tuple[ParameterDifference, ...] | None = None


def earlier(account: data.AccountChoice, name: str, names: Iterable[str]) -> Earlier | None:
    """What is known of the run before ``name``; None while it is being asked for."""
    if base_and_stamp(name) is None:
        return Earlier()
    asked = _pending_earlier(account, name, previous(name, names))
    return asked.result() if asked.done() else None


@st.cache_resource(show_spinner=False)
def _workers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2, "previous run")


@st.cache_resource(max_entries=256, ttl="1h", show_spinner=False)
def _pending_earlier(account: data.AccountChoice, name: str, known: str | None) -> Future[Earlier]:
    return _workers().submit(_find_earlier, account, name, known)


def _find_earlier(account: data.AccountChoice, name: str, known: str | None) -> Earlier:
    try:
        source: Source = data.shared_source(account)
        found = known or _listed(source, name)
        if found is None:
            return Earlier()
        return Earlier(found, differences((source.job(found), source.job(name))))
    except TrainwatchError:
        return Earlier(known)


def _listed(source: Source, name: str) -> str | None:
    stamped = base_and_stamp(name)
    assert stamped is not None
    return previous(name, [job.name for job in source.jobs(JobQuery(name_contains=stamped[0]))])


#: A label, a value and a line of context, which are cut and never wrapped. Told beforehand, so that what stands below the
#: tiles does not move when they come.
TILE_HEIGHT_PX = 101


@dataclass(frozen=True, slots=True)
class Tile:
    """One tile: a label with its unit's meaning, a value, and a line of context."""

    label: str
    value: str
    context: str
    help: str = ""


def figures(report: Report) -> tuple[Tile, ...]:
    """The tiles of a report; a CPU job shows CPU and memory in place of GPU and GPU memory."""
    job = report.job
    pair: tuple[MetricName, ...] = OF_GPUS if has_gpus(report) else ("cpu_utilization", "memory_utilization")
    tiles = [_device(report, HOST_METRICS[metric]) for metric in pair]
    steps = report.steps
    tiles.append(
        Tile(
            "Step time, median",
            step_seconds(steps.median_s if steps else None),
            _step_context(report),
            sentence(
                "Time of one optimizer step over all nodes that report it, warm-up left out"
                + (f": {how}" if (how := how_words(report.run.logs.readings)) else "")
            ),
        )
    )
    if report.mfu is not None:
        tiles.append(Tile("MFU", percent(report.mfu.mfu_pct), usual_words(report.mfu), mfu_words(report.mfu)))
    progress = _progress(steps) if job.started else "not started"
    tiles.append(Tile("Duration", duration(report.ran_s), progress, "Since the job's instances started."))
    if report.goodput is not None:
        tiles.append(
            Tile(
                "Goodput",
                percent(100 * report.goodput),
                "of the billed time",
                "The share of billed time spent training steps that were kept: startup, slow steps, checkpoints, "
                "evaluations, stalls and work done again do not count.",
            )
        )
    if report.cost.usd is not None:
        tiles += [_cost(report), _recoverable(report)]
    else:
        total = job.instance_count or len(job.nodes)
        observed = _observed(steps.nodes_observed if steps else 0, total) if report.run.logs.lines else "no logs read"
        tiles.append(Tile("Nodes", f"{total or DASH}", observed))
    return tuple(tiles)


def _cost(report: Report) -> Tile:
    cost, job = report.cost, report.job
    context = "so far" if job.is_running else "in total"
    words = [f"Price: {usd(cost.price_usd_per_instance_hour)} per instance-hour ({cost.price_source})."]
    if cost.overhead_usd is not None:
        context = f"overhead {usd(cost.overhead_usd)}"
        words.append(f"Overhead: {OVERHEAD_MEANS}")
    if job.warm_pool_billable_seconds:
        words.append(warm_pool(job.warm_pool_billable_seconds, cost.retained_usd))
    value = f"≤ {usd(cost.usd)}" if cost.at_most else usd(cost.usd)
    return Tile("Cost", value, context, " ".join(words))


def _recoverable(report: Report) -> Tile:
    value, context = recoverable_words(report)
    # A tile has no room for more words.
    return Tile("Recoverable", value.replace(" an hour", "/h"), context, f"{capitalised(RECOVERABLE_MEANS)}")


def show_figures(report: Report) -> None:
    show_tiles([replace(tile, help=plain(tile.help)) for tile in figures(report)], 150)


def show_tiles(tiles: Sequence[Tile], least_px: int = 140) -> None:
    """Side by side, each at least so many pixels wide; their help is Markdown."""
    with st.grid(len(tiles), min_column_width=least_px):
        for tile in tiles:
            st.metric(
                tile.label,
                tile.value,
                delta_description=tile.context,
                help=tile.help or None,
                border=True,
                height=TILE_HEIGHT_PX,
            )


def _step_context(report: Report) -> str:
    steps = report.steps
    if steps is None:
        if (told := epoch_count(report.run.events)) is not None:
            return f"an epoch takes {told.took}" if told.took else f"{told.epochs:,} epochs, no steps"
        return "no step lines" if report.run.logs.lines else "no logs read"
    if steps.median_s is None:
        return "no times in step lines"
    return f"p10 {step_seconds(steps.p10_s)}, p90 {step_seconds(steps.p90_s)}"


def _progress(steps: StepStats | None) -> str:
    if steps is None or steps.done is None:
        return "since the start"
    return f"{steps.done:,} of {steps.total:,} steps" if steps.total else f"{steps.done:,} steps"


def _observed(nodes: int, total: int) -> str:
    if not nodes:
        return "none reports steps"
    return (
        "all report steps"
        if nodes == total > 1
        else f"{nodes} of {total} report steps"
        if total > 1
        else "reports steps"
    )


def _device(report: Report, metric: HostMetric) -> Tile:
    found = report.devices.get(metric.name)
    if found is None:
        measured = bool((report.run.metrics["metric"] == metric.name).any())
        return Tile(metric.device, DASH, "too short to average" if measured else "no data")
    return Tile(
        metric.device,
        percent(found.mean),
        f"p5 {percent(found.p5)}, p95 {percent(found.p95)}",
        f"Percent of one device, over all nodes and minutes of training; {LEFT_OUT}.",
    )
