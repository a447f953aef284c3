"""What a rule is: a function from a case to a finding or nothing, found by being in this package.

    @rule("low-gpu-utilization", silenced_by=("one-gpu-in-use",))
    def low_gpu_utilization(case: Case) -> Finding | None:
        '''GPUs are busy less than 70 % of the time.

        What it means: …
        Why it matters: …
        What to do: …
        Source: …
        '''

The docstring is the manual: its first line and four paragraphs serve dashboard, command line, alerts and the
generated page of documentation, and a test demands them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

import pandas as pd

from monitor.analyze import phases, step_time, utilization
from monitor.analyze.activities import Activity, activities
from monitor.analyze.cost import cost, usd_per_hour
from monitor.analyze.devices import by_minute
from monitor.analyze.ending import Ending, ending_of
from monitor.analyze.finish import seconds_to_finish
from monitor.analyze.journal import journal
from monitor.analyze.lost import LostWork, lost_work
from monitor.analyze.nan_loss import NanLoss, nan_loss
from monitor.analyze.refused import fill
from monitor.analyze.set_aside import Span, outside, spans_set_aside
from monitor.analyze.window import Window, in_window, training_spans, work_window
from monitor.diagnose.setup_seen import setup_seen
from monitor.diagnose.stakes import Bill, bill_of
from monitor.model import Bucket, Cost, Distribution, Finding, Phase, Price, Run, StepStats, metrics_frame
from monitor.predict.setup_types import Setup

SECTIONS = ("What it means", "Why it matters", "What to do", "Source")


@dataclass(frozen=True, slots=True)
class Case:
    """A run with what every rule needs of it, worked out once."""

    run: Run
    now: datetime
    window: Window | None
    metrics: pd.DataFrame
    """The Metrics frame of the window of work."""
    set_aside: tuple[Span, ...] = ()
    """Checkpoints, evaluations and restarts, in which devices may rest: see ``monitor.analyze.set_aside``."""
    steady: pd.DataFrame = field(default_factory=metrics_frame)
    """``metrics`` without the minutes that are set aside."""
    pooled: dict[str, Distribution] = field(default_factory=dict)
    """Of ``steady``."""
    by_minute: pd.DataFrame = field(default_factory=pd.DataFrame)
    """GPU utilization and memory side by side, of ``steady``: see ``monitor.analyze.devices``."""
    steps: StepStats | None = None
    lost: LostWork | None = None
    journal: pd.DataFrame = field(default_factory=pd.DataFrame)
    """How the training moved on: see ``monitor.analyze.journal``."""
    activities: tuple[Activity, ...] = ()
    """The checkpoints and evaluations that held the steps up."""
    price: Price | None = None
    phases: tuple[Phase, ...] = ()
    buckets: tuple[Bucket, ...] = ()
    cost: Cost = Cost()
    bill: Bill = field(default_factory=lambda: Bill({}, {}))
    """What the phases cost, by which the findings say what could be saved."""
    ending: Ending | None = None
    """What ended the job; None where nothing did, or nothing tells of it."""
    nan: NanLoss | None = None
    setup: Setup = field(default_factory=Setup)
    """The configuration, with the GPU memory and the step time that were measured."""

    @property
    def gpu_nodes(self) -> int:
        return sum(1 for node in self.run.job.nodes if node.gpus)

    @property
    def usd_per_hour(self) -> float | None:
        """What the whole job costs an hour; None where no price or no number of instances is known."""
        return self.bill.usd_per_hour


def case_of(run: Run, now: datetime, price: Price | None = None) -> Case:
    """The case of a run as of ``now``; with the ``price`` of an instance-hour where one is known."""
    nan = nan_loss(run.steps, run.events)
    ending = ending_of(run, nan)
    window = work_window(run, now)
    if window is not None and ending is not None and ending.since is not None and window.start < ending.since:
        # What comes of a failure is no fault of its own.
        window = replace(window, end=min(window.end, ending.since))
    metrics = in_window(run.metrics, window, run, now)
    lost = lost_work(run.steps, run.events, run.job) if run.logs.complete else None
    stats = step_time.summary(run.steps, run.job, lost)
    book = journal(run.steps, run.events)
    if stats is not None and run.job.is_running and run.logs.complete:
        stats = replace(stats, seconds_to_finish=seconds_to_finish(book, stats.done, stats.total, now, lost))
    spans = activities(book, run.events)
    aside = spans_set_aside(book, run.events, spans, training_spans(run.job, now), run.job.ended or now)
    steady = outside(metrics, aside)
    pooled = utilization.pooled(steady)
    ran_out = ending is not None and ending.id == "cuda-out-of-memory"
    setup = setup_seen(run, steady, stats, fill(run.events, ending.first) if ending is not None and ran_out else None)
    parts = phases.phases(run, now, book, spans, lost)
    sums = phases.buckets(parts, run.job, price.usd_per_instance_hour if price else None)
    bill = cost(run.job, parts, sums, price)
    return Case(
        run=run,
        now=now,
        window=window,
        metrics=metrics,
        set_aside=aside,
        steady=steady,
        pooled=pooled,
        by_minute=by_minute(steady),
        steps=stats,
        lost=lost,
        journal=book,
        activities=spans,
        price=price,
        phases=parts,
        buckets=sums,
        cost=bill,
        bill=bill_of(run.job, parts, bill, usd_per_hour(run.job, bill)),
        ending=ending,
        nan=nan,
        setup=setup,
    )


def parameter(case: Case, name: str) -> int | None:
    """A whole number of the job's configuration, None where it is missing or none."""
    found = case.run.job.configuration.get(name)
    value = found.value if found is not None else None
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


Check = Callable[[Case], Finding | None]

#: What a finding is about, in the order in which they are to be acted on: what ended the job, what stops it now, what
#: wastes it, what may go wrong, what cannot be seen.
About = Literal["end", "now", "waste", "risk", "sight"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule by its finding's id. It stays silent where one of ``silenced_by`` has spoken: one cause, one finding.

    Where both are said, it stands before those that it ``explains``.
    """

    id: str
    check: Check
    silenced_by: tuple[str, ...] = ()
    about: About = "waste"
    explains: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return self._manual().partition("\n")[0].strip()

    def section(self, name: str) -> str:
        """The text of one section of the manual; empty if it is missing."""
        for paragraph in self._manual().split("\n\n"):
            if paragraph.startswith(f"{name}:"):
                return " ".join(paragraph.removeprefix(f"{name}:").split())
        return ""

    def _manual(self) -> str:
        return inspect.getdoc(self.check) or ""


def rule(
    id: str, silenced_by: tuple[str, ...] = (), about: About = "waste", explains: tuple[str, ...] = ()
) -> Callable[[Check], Rule]:
    """Makes a function of a case the rule of finding ``id``."""
    return lambda check: Rule(id, check, silenced_by, about, explains)
