"""Everything that is said about a run, from the run and the price of its instances alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from monitor.analyze import step_time, utilization
from monitor.analyze.at_risk import at_risk
from monitor.analyze.cost import goodput
from monitor.analyze.saves import saves
from monitor.diagnose.findings import asks_to_save, findings
from monitor.diagnose.rule import Case, case_of
from monitor.diagnose.stakes import recoverable
from monitor.diagnose.verdict import is_judged
from monitor.model import METRICS, ApiBill, AtRisk, LogCoverage, Node, NodeStats, Parameter, Price, Report, Run
from monitor.parse.recognise import RawRows
from monitor.predict.setup import setup_of


def report(
    run: Run, now: datetime, price: Price | None = None, api: ApiBill = ApiBill(), total: ApiBill = ApiBill()
) -> Report:
    """Everything that is said about a run, from run and price: the same for a live, a finished and an archived job."""
    case = case_of(run, now, price)
    found = Report(
        run=run,
        reviewed_at=now,
        nodes=_node_stats(case),
        steps=case.steps,
        phases=case.phases,
        buckets=case.buckets,
        findings=findings(case),
        activities=case.activities,
        cost=case.cost,
        price=price,
        goodput=goodput(run.job, case.phases),
        at_risk=_at_risk(case),
        measured=_measured(case),
        api=api,
        api_total=total,
    )
    asks = asks_to_save(found.findings)
    return replace(found, cost=recoverable(found.cost, case.bill, found.findings, asks, is_judged(found)))


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
    return LogCoverage(len(raw.streams), raw.lines, last, raw.shapes.best(), complete)


def _node_stats(case: Case) -> tuple[NodeStats, ...]:
    used = utilization.by_node(case.metrics)
    spreads = step_time.by_node(case.run.steps)
    nodes = case.run.job.nodes or tuple(Node(name) for name in sorted(spreads))
    return tuple(
        NodeStats(node, **{name: used.get(node.name, {}).get(name) for name in METRICS}, steps=spreads.get(node.name))
        for node in nodes
    )
