"""What do all jobs together run, cost, and could save? The tiles above the table of jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from monitor.diagnose.stakes import stakes_usd, total_usd
from monitor.diagnose.words.report import OVERHEAD_MEANS, RECOVERABLE_MEANS
from monitor.model import JobSummary
from monitor.review import Snapshot
from monitor.show.job.header import TILE_HEIGHT_PX, Figure
from monitor.show.jobs.table import REVIEWED, is_running, standing
from monitor.words import DASH, count, usd


def figures(
    jobs: Sequence[JobSummary], reviewed: Mapping[str, Snapshot], prices: Mapping[str, float], more: bool = False
) -> tuple[Figure, ...]:
    """The tiles; ``prices`` are those that a user set, USD per instance-hour. What is not known is said, and is no 0."""
    running = [job for job in jobs if is_running(job)]
    reports = {name: snapshot.report for name, snapshot in reviewed.items() if snapshot.report is not None}
    known = dict(prices)
    for report in reports.values():
        if report.cost.price_usd_per_instance_hour is not None and report.job.instance_type:
            known[report.job.instance_type] = report.cost.price_usd_per_instance_hour
    costs = [_hour(job, reviewed.get(job.name), known) for job in running]
    going = [reports[job.name] for job in running if job.name in reports]
    over = [report for report in reports.values() if not report.job.is_running]
    overheads = [report.cost.overhead_usd for report in going]
    gains = [stakes_usd(report) for report in going]
    recovered = total_usd(stakes_usd(report) for report in over)
    levels = [standing(snapshot).level for snapshot in reviewed.values()]
    waiting = levels.count("waiting")
    done = len(levels) - waiting
    is_whole = len(gains) - gains.count(None) == len(running)
    stalled = sum(any(finding.id == "stall" for finding in report.warnings) for report in going)
    return (
        Figure("Running", f"{len(running)}", f"of {'the newest ' if more else ''}{count(len(jobs), 'job')}"),
        Figure("Cost / h", _usd(total_usd(costs), running), _of(costs, running), _priced(costs, running)),
        Figure(
            "Overhead so far",
            _usd(total_usd(overheads), running),
            _of(overheads, running),
            _explained(f"Running jobs: {OVERHEAD_MEANS}", overheads, running),
        ),
        Figure(
            "Recoverable / h",
            _usd(total_usd(gains), running),
            f"finished: {usd(recovered)}" if recovered and is_whole else _of(gains, running),
            _explained(
                f"Running jobs, an hour, if they go on as now: {RECOVERABLE_MEANS} Of the finished ones among those reviewed, "
                f"in all: {DASH if recovered is None else usd(recovered)}.",
                gains,
                running,
            ),
        ),
        Figure(
            "Critical",
            f"{levels.count('critical')}",
            _reviewed(stalled, done, waiting),
        ),
    )


_PRICES = "On-demand prices: from the settings file, else from AWS's price list (looked up when a job is reviewed)."


def show_jobs_figures(tiles: Sequence[Figure]) -> None:
    with st.grid(len(tiles), min_column_width=140):
        for tile in tiles:
            st.metric(
                tile.label,
                tile.value,
                delta_description=tile.context,
                help=tile.help or None,
                border=True,
                height=TILE_HEIGHT_PX,
            )


def _hour(job: JobSummary, snapshot: Snapshot | None, known: Mapping[str, float]) -> float | None:
    report = None if snapshot is None else snapshot.report
    kind = job.instance_type or (report.job.instance_type if report else None)
    number = job.instance_count or (report.job.instance_count if report else None)
    return None if kind is None or not number or kind not in known else known[kind] * number


def _usd(value: float | None, running: Sequence[JobSummary]) -> str:
    return "$0" if not running else DASH if value is None else usd(value)


def _of(values: Sequence[float | None], running: Sequence[JobSummary]) -> str:
    """Which running jobs are in a sum of what is known of those reviewed."""
    known = len(values) - values.count(None)
    if not running:
        return "nothing is running"
    return "all running jobs" if known == len(running) else f"for {known} of {len(running)} running"


def _reviewed(stalled: int, done: int, waiting: int) -> str:
    """``1 stalled, 15 reviewed``, and while reviews are under way ``1 stalled of 15 so far``."""
    if waiting:
        return f"{stalled} stalled of {done} so far" if stalled else f"of {done} reviewed so far"
    return f"{stalled} stalled, {done} reviewed" if stalled else f"of {done} reviewed"


def _explained(means: str, values: Sequence[float | None], running: Sequence[JobSummary]) -> str:
    """What a tile means and, where jobs are missing from its sum, why."""
    out = [means]
    if len(values) < len(running):
        out.append(
            f"{len(values)} of {count(len(running), 'running job')} reviewed; these tiles cover at most the {REVIEWED} most "
            "urgent jobs of the list."
        )
    if unknown := values.count(None):
        out.append(f"Not known for {unknown} of those reviewed.")
    return " ".join(out)


def _priced(costs: Sequence[float | None], running: Sequence[JobSummary]) -> str:
    """Where prices come from, and which are missing."""
    missing = [job for job, cost in zip(running, costs, strict=True) if cost is None]
    if not missing:
        return _PRICES
    types = sorted({(job.instance_type or "").removeprefix("ml.") for job in missing} - {""})
    which = f" ({', '.join(types[:2])}{', …' if len(types) > 2 else ''})" if types else ""
    return f"{_PRICES} No price yet for {count(len(missing), 'running job')}{which}."
