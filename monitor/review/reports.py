"""Everything that is said about a run, from the run alone."""

from __future__ import annotations

from datetime import UTC, datetime

from monitor.analyze import phases, step_time, utilization
from monitor.analyze.cost import cost
from monitor.analyze.lost import lost_work
from monitor.analyze.window import in_window, work_window
from monitor.diagnose.findings import diagnose
from monitor.model import METRICS, ApiBill, LogCoverage, Node, NodeStats, Report, Run
from monitor.parse.recognise import RawRows
from monitor.settings import Settings


def report(
    run: Run, now: datetime, settings: Settings = Settings(), api: ApiBill = ApiBill(), total: ApiBill = ApiBill()
) -> Report:
    """Everything that is said about a run, from the run alone: the same for a live, a finished and an archived job."""
    price = settings.prices.get(run.job.instance_type or "")
    lost = lost_work(run.steps, run.events, run.job) if run.logs.complete else None
    parts = phases.phases(run, now, lost)
    sums = phases.buckets(parts, run.job, price)
    return Report(
        run=run,
        reviewed_at=now,
        nodes=_node_stats(run, now),
        steps=step_time.summary(run.steps, run.job, lost),
        phases=parts,
        buckets=sums,
        findings=diagnose(run, now),
        cost=cost(run.job, sums, price, "settings file" if price is not None else None, now),
        api=api,
        api_total=total,
    )


def coverage(raw: RawRows, complete: bool = True) -> LogCoverage:
    """How much log text stands behind a run."""
    last = None if raw.last_ms is None else datetime.fromtimestamp(raw.last_ms / 1000, UTC)
    return LogCoverage(len(raw.streams), raw.lines, last, raw.shapes.best(), complete)


def _node_stats(run: Run, now: datetime) -> tuple[NodeStats, ...]:
    used = utilization.by_node(in_window(run.metrics, work_window(run, now), run, now))
    spreads = step_time.by_node(run.steps)
    nodes = run.job.nodes or tuple(Node(name) for name in sorted(spreads))
    return tuple(
        NodeStats(node, **{name: used.get(node.name, {}).get(name) for name in METRICS}, steps=spreads.get(node.name))
        for node in nodes
    )
