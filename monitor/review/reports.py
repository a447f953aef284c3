"""Everything that is said about a run, from the run and the price of its instances alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

from monitor import faults
from monitor.analyze import phases, step_time, utilization
from monitor.analyze.checkpoints import at_risk, saves
from monitor.analyze.cost import cost, goodput
from monitor.analyze.single_gpus import by_gpu
from monitor.diagnose.rule import Case, Rule
from monitor.diagnose.rulebook import asks_to_save, findings
from monitor.diagnose.stakes import recoverable
from monitor.diagnose.verdict import is_judged
from monitor.model import (
    METRICS,
    ApiBill,
    AtRisk,
    Cost,
    Gap,
    LogCoverage,
    Node,
    NodeStats,
    Parameter,
    Price,
    Report,
    Run,
    StepReading,
    Utilized,
)
from monitor.parse.recognise import RawRows
from monitor.predict.setup import setup_of
from monitor.words import count

Part = TypeVar("Part")
Instead = TypeVar("Instead")
# So many checks are named that failed on one error; the rest is counted.
_NAMED = 3


def report(
    run: Run, now: datetime, price: Price | None = None, api: ApiBill = ApiBill(), total: ApiBill = ApiBill()
) -> Report:
    """Everything that is said about a run, from run and price: the same for a live, a finished and an archived job.

    A part that fails on an error of this program costs that part: the error is logged, and ``faults`` names the part.
    """
    case, failed = Case(run, now, price), _Failed(run)
    told = failed.without("Where the time went", lambda: case.phases, None)
    parts = told or ()
    # Without its phases nobody knows for how long a job that runs is billed.
    billed = told is not None or run.job.training_seconds is not None
    usd_per_hour = price.usd_per_instance_hour if price else None
    sums = failed.without("Where the time went", lambda: phases.buckets(parts, run.job, usd_per_hour), ())
    said = findings(case, failed.rule)
    found = Report(
        run=run,
        reviewed_at=now,
        nodes=failed.without("Figures of the nodes", lambda: _node_stats(case), ()),
        devices=failed.without("Figures of the nodes", lambda: utilization.pooled(case.minutes), {}),
        work_since=failed.without("Figures of the nodes", lambda: case.window.start if case.window else None, None),
        steps=failed.without("Step times", lambda: case.steps, None),
        phases=parts,
        buckets=sums,
        findings=said,
        activities=failed.without("Checkpoints and evaluations", lambda: case.activities, ()),
        cost=failed.without("Cost", lambda: cost(run.job, parts, sums, price) if billed else Cost(), Cost()),
        price=price,
        goodput=failed.without("Goodput", lambda: goodput(run.job, parts), None),
        mfu=failed.without("Model FLOP utilization", lambda: _mfu(case), None),
        at_risk=failed.without("Work not yet in a checkpoint", lambda: _at_risk(case), None),
        measured=failed.without("What was measured of the setup", lambda: _measured(case), {}),
        api=api,
        api_total=total,
        broken=failed.rules,
    )
    saved = failed.without(
        "What could be saved",
        lambda: recoverable(found.cost, case.bill, said, asks_to_save(said), is_judged(found)),
        found.cost,
    )
    return replace(found, cost=saved, faults=failed.gaps())


class _Failed:
    """The parts of one report that failed, by their errors: many parts may fail on one."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._by_error: dict[int, tuple[Exception, list[str], list[str]]] = {}
        self.rules: frozenset[str] = frozenset()

    def without(self, part: str, make: Callable[[], Part], otherwise: Instead) -> Part | Instead:
        """What ``make`` makes, or ``otherwise`` where it fails."""
        try:
            return make()
        except Exception as error:
            names = self._by_error.setdefault(id(error), (error, [], []))[1]
            if part not in names:
                names.append(part)
            return otherwise

    def rule(self, rule: Rule, error: Exception) -> None:
        self._by_error.setdefault(id(error), (error, [], []))[2].append(rule.id)
        self.rules |= {rule.id}

    def gaps(self) -> tuple[Gap, ...]:
        """A gap an error, which names all that it cost."""
        return tuple(
            faults.gap(error, _named(parts, checks), faults.shape_of(self._run.job, self._run))
            for error, parts, checks in self._by_error.values()
        )


def _named(parts: list[str], checks: list[str]) -> str:
    """``Step times and the check slow-node``."""
    more = len(checks) - _NAMED
    listed = ", ".join(checks[:_NAMED]) + (f" and {more} more" if more > 0 else "")
    said = [
        *parts,
        *([f"{'the check' if len(checks) == 1 else count(len(checks), 'check')} ({listed})"] if checks else []),
    ]
    text = f"{', '.join(said[:-1])} and {said[-1]}" if len(said) > 1 else said[0]
    return f"{text[:1].upper()}{text[1:]}"


def _measured(case: Case) -> dict[str, Parameter]:
    told = setup_of(case.run.job).values
    return {
        name: Parameter(known.value, known.read_from, known.came_by)
        for name, known in case.setup.values.items()
        if told.get(name) != known
    }


def _mfu(case: Case) -> Utilized | None:
    found = case.mfu
    if found is None:
        return None
    return Utilized(
        100 * found.value, None if found.healthy is None else 100 * found.healthy, found.gpu_model, found.how
    )


def _at_risk(case: Case) -> AtRisk | None:
    if not case.run.job.is_running:
        return None
    # What a job does that stands still is no work.
    last = case.phases[-1] if case.phases else None
    until = last.start if last is not None and last.name == "stall" else case.now
    return at_risk(saves(case.journal, case.run.events), case.journal, until, case.usd_per_hour, case.lost)


def coverage(
    raw: RawRows, complete: bool = True, readings: tuple[StepReading, ...] = (), learned: tuple[str, ...] = ()
) -> LogCoverage:
    """How much log text stands behind a run, how its steps were read, and which lines of it were learned as step reports."""
    last = None if raw.last_ms is None else datetime.fromtimestamp(raw.last_ms / 1000, UTC)
    sample = () if readings or learned else raw.shapes.best()
    return LogCoverage(len(raw.streams), raw.lines, last, sample, readings, complete, learned)


def _node_stats(case: Case) -> tuple[NodeStats, ...]:
    used = utilization.by_node(case.minutes)
    gpus = by_gpu(case.gpus)
    spreads = step_time.by_node(case.run.steps)
    nodes = case.run.job.nodes or tuple(Node(name) for name in sorted(spreads))
    return tuple(
        NodeStats(
            node,
            **{name: used.get(node.name, {}).get(name) for name in METRICS},
            steps=spreads.get(node.name),
            gpus=gpus.get(node.name, ()),
        )
        for node in nodes
    )
