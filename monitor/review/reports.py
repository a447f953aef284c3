"""Everything that is said about a run, from the run and the price of its instances alone."""

from __future__ import annotations

from datetime import UTC, datetime

from monitor.analyze import phases, step_time, utilization
from monitor.analyze.at_risk import at_risk
from monitor.analyze.cost import cost, goodput
from monitor.analyze.saves import saves
from monitor.diagnose.findings import findings
from monitor.diagnose.rule import Case, case_of
from monitor.model import METRICS, ApiBill, AtRisk, LogCoverage, Node, NodeStats, Parameter, Price, Report, Run
from monitor.parse.recognise import RawRows
from monitor.predict.setup import setup_of


def report(
    run: Run, now: datetime, price: Price | None = None, api: ApiBill = ApiBill(), total: ApiBill = ApiBill()
) -> Report:
    """Everything that is said about a run, from run and price: the same for a live, a finished and an archived job."""
    case = case_of(run, now, price)
    parts = phases.phases(run, now, case.journal, case.activities, case.lost)
    sums = phases.buckets(parts, run.job, price.usd_per_instance_hour if price else None)
    return Report(
        run=run,
        reviewed_at=now,
        nodes=_node_stats(case),
        steps=case.steps,
        phases=parts,
        buckets=sums,
        findings=findings(case),
        activities=case.activities,
        cost=cost(run.job, parts, sums, price),
        price=price,
        goodput=goodput(run.job, parts),
        at_risk=_at_risk(case),
        measured=_measured(case),
        api=api,
        api_total=total,
    )


def _measured(case: Case) -> dict[str, Parameter]:
    told = setup_of(case.run.job).values
    return {
        name: Parameter(known.value, known.read_from)
        for name, known in case.setup.values.items()
        if told.get(name) != known
    }


def _at_risk(case: Case) -> AtRisk | None:
    if not case.run.job.is_running:
        return None
    return at_risk(saves(case.journal, case.run.events), case.journal, case.now, case.usd_per_hour, case.lost)


def coverage(raw: RawRows, complete: bool = True) -> LogCoverage:
    """How much log text stands behind a run."""
    last = None if raw.last_ms is None else datetime.fromtimestamp(raw.last_ms / 1000, UTC)
    sample = () if len(raw.steps) else raw.shapes.best()
    return LogCoverage(len(raw.streams), raw.lines, last, sample, complete)


def _node_stats(case: Case) -> tuple[NodeStats, ...]:
    used = utilization.by_node(case.metrics)
    spreads = step_time.by_node(case.run.steps)
    nodes = case.run.job.nodes or tuple(Node(name) for name in sorted(spreads))
    return tuple(
        NodeStats(node, **{name: used.get(node.name, {}).get(name) for name in METRICS}, steps=spreads.get(node.name))
        for node in nodes
    )
