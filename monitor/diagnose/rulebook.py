"""What a rule is: a function from a case to a finding or nothing, found by being in the package ``rules``; all of them in the
order in which they are asked, and what they find over a case.

@rule("low-gpu-utilization", needs="metrics", silenced_by=("one-gpu-in-use",))
    def low_gpu_utilization(case: Case) -> Finding | None:
        '''GPUs are busy less than 70 % of the time.

What it means: …
        Why it matters: …
        What to do: …
        Source: …
        '''

The docstring is the manual: its first line and four paragraphs serve dashboard, command line, alerts and the
generated page of documentation, and a test demands them.

A module whose text holds ``@rule(`` is one of rules: a new file needs no other edit here. A rule is asked after all that can
silence it and all that explain it; apart from that by what it is about, then by module and place in it. Findings come in the
order of what to act on.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any, Generic, Literal, TypeVar, get_args

import pandas as pd

import monitor.diagnose.rules
from monitor.analyze import step_time, utilization
from monitor.analyze.checkpoints import Activity, Span, activities, outside, spans_set_aside
from monitor.analyze.devices import by_minute
from monitor.analyze.ending import Ending, ending_of
from monitor.analyze.journal import NanLoss, journal, nan_loss
from monitor.analyze.lost import LostWork, lost_work
from monitor.analyze.memory import Fill, fill, memory_peaks
from monitor.analyze.mfu import Mfu, mfu, parameters
from monitor.analyze.phases import billing_factor, buckets, cost
from monitor.analyze.phases import phases as phases_of
from monitor.analyze.single_gpus import fullest
from monitor.analyze.step_time import seconds_to_finish
from monitor.analyze.utilization import TrainingWindow, in_window, training_spans, work_window
from monitor.diagnose.stakes import Bill, bill_of
from monitor.diagnose.words.step_readings import came_by
from monitor.model import Distribution, Finding, Phase, Price, Run, StepStats
from monitor.predict.layout import samples_of_step
from monitor.predict.setup import Setup, SourcedValue, setup_of
from monitor.words import clock

Part = TypeVar("Part")


class once(Generic[Part]):  # noqa: N801
    """A part of a case, worked out when it is first asked for; one that failed fails again with the same error, at once."""

    def __init__(self, make: Callable[[Any], Part]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, case: Case, owner: type) -> Part:
        kept = case.__dict__
        if (failed := kept.get(f"{self._name} failed")) is not None:
            raise failed[0].with_traceback(failed[1])
        try:
            kept[self._name] = self._make(case)
        except Exception as error:
            kept[f"{self._name} failed"] = error, error.__traceback__
            raise
        made: Part = kept[self._name]
        return made


@dataclass(frozen=True)
class Case:
    """A run with what every rule needs of it, each part worked out once, when it is first asked for.

    A part that cannot be worked out fails whoever asks for it, and nobody else.
    """

    run: Run
    now: datetime
    price: Price | None = None

    @once
    def nan(self) -> NanLoss | None:
        return nan_loss(self.run.steps, self.run.events)

    @once
    def ending(self) -> Ending | None:
        """What ended the job; None where nothing did, or nothing tells of it."""
        return ending_of(self.run, self.nan)

    @once
    def window(self) -> TrainingWindow | None:
        window, ending = work_window(self.run, self.now), self.ending
        if window is not None and ending is not None and ending.since is not None and window.start < ending.since:
            # What comes of a failure is no fault of its own.
            window = replace(window, end=min(window.end, ending.since))
        return window

    @once
    def metrics(self) -> pd.DataFrame:
        """The Metrics frame of the window of work."""
        return in_window(self.run.metrics, self.window, self.run, self.now)

    @once
    def lost(self) -> LostWork | None:
        return lost_work(self.run.steps, self.run.events, self.run.job) if self.run.logs.complete else None

    @once
    def journal(self) -> pd.DataFrame:
        """How the training moved on: see ``monitor.analyze.journal``."""
        return journal(self.run.steps, self.run.events)

    @once
    def steps(self) -> StepStats | None:
        stats = step_time.summary(self.run.steps, self.run.job, self.lost)
        if stats is not None and self.run.job.is_running and self.run.logs.complete:
            left = seconds_to_finish(self.journal, stats.done, stats.total, self.now, self.lost)
            stats = replace(stats, seconds_to_finish=left)
        return stats

    @once
    def activities(self) -> tuple[Activity, ...]:
        """The checkpoints and evaluations that held the steps up."""
        return activities(self.journal, self.run.events)

    @once
    def set_aside(self) -> tuple[Span, ...]:
        """Checkpoints, evaluations and restarts, in which devices may rest: see ``monitor.analyze.checkpoints``."""
        job = self.run.job
        spans = training_spans(job, self.now)
        return spans_set_aside(self.journal, self.run.events, self.activities, spans, job.ended or self.now)

    @once
    def steady(self) -> pd.DataFrame:
        """``metrics`` without the minutes that are set aside."""
        return outside(self.metrics, self.set_aside)

    @once
    def gpus(self) -> pd.DataFrame:
        """The Gpus frame of the window of work, without the spans that are set aside."""
        return self._without_set_aside(self.gpus_at_work)

    @once
    def gpus_at_work(self) -> pd.DataFrame:
        """The Gpus frame of the window of work, with checkpoints and all."""
        return self._at_work(self.run.gpus)

    @once
    def hosts(self) -> pd.DataFrame:
        """The Hosts frame of the window of work, without the spans that are set aside."""
        return self._without_set_aside(self._at_work(self.run.hosts))

    def _at_work(self, samples: pd.DataFrame) -> pd.DataFrame:
        if samples.empty or self.window is None:
            return samples.iloc[:0]
        return samples[(samples["timestamp"] >= self.window.start) & (samples["timestamp"] < self.window.end)]

    def _without_set_aside(self, samples: pd.DataFrame) -> pd.DataFrame:
        for start, end in self.set_aside:
            samples = samples[(samples["timestamp"] < start) | (samples["timestamp"] >= end)]
        return samples

    @once
    def pooled(self) -> dict[str, Distribution]:
        """Of ``steady``."""
        return utilization.pooled(self.steady)

    @property
    def minutes(self) -> pd.DataFrame:
        """What the devices' figures are of: ``steady``, and ``metrics`` where no minute is."""
        return self.steady if len(self.steady) else self.metrics

    @once
    def by_minute(self) -> pd.DataFrame:
        """GPU utilization and memory side by side, of ``steady``: see ``monitor.analyze.devices``."""
        return by_minute(self.steady)

    @once
    def phases(self) -> tuple[Phase, ...]:
        """Where the time went."""
        return phases_of(self.run, self.now, self.journal, self.activities, self.lost)

    @once
    def bill(self) -> Bill:
        """What the phases cost, by which the findings say what could be saved.

        Empty where the phases cannot be worked out: findings are said without their money, and the report says what failed.
        """
        try:
            parts = self.phases
        except Exception:
            return Bill({}, {})
        job, price = self.run.job, self.price
        sums = buckets(parts, job, price.usd_per_instance_hour if price else None)
        return bill_of(job, parts, cost(job, parts, sums, price), self.usd_per_hour)

    @once
    def setup(self) -> Setup:
        """The configuration, with the GPU memory and the step time that were measured."""
        ending, first = self.ending, None
        if ending is not None and ending.id == "cuda-out-of-memory":
            first = fill(self.run.events, ending.first)
        return setup_seen(self.run, self.steady, self.steps, first, self.gpus)

    @once
    def mfu(self) -> Mfu | None:
        """The model FLOP utilization; None where it cannot be known."""
        step_s = self.steps.median_s if self.steps is not None else None
        samples, sequence = samples_of_step(self.setup), self.setup.number("sequence_length")
        return mfu(self.run.job, self.run.steps, self.run.events, step_s, samples, sequence)

    def clock(self, at: datetime) -> str:
        """A time of the job in words, with its day where the job takes longer than one."""
        job = self.run.job
        begun = job.started or job.created
        return clock(at, None if begun is None else (begun, job.ended or self.now))

    @property
    def gpu_nodes(self) -> int:
        return sum(1 for node in self.run.job.nodes if node.gpus)

    @property
    def usd_per_hour(self) -> float | None:
        """What the whole job costs an hour; None where no price or no number of instances is known."""
        instances = self.run.job.instance_count
        if self.price is None or not instances:
            return None
        return self.price.usd_per_instance_hour * instances * billing_factor(self.run.job)


def parameter(case: Case, name: str) -> int | None:
    """A whole number of the job's configuration, None where it is missing or none."""
    found = case.run.job.configuration.get(name)
    return None if found is None else found.whole


Check = Callable[[Case], Finding | None]

#: What a rule reads without which its silence means nothing; "nothing" where that always means something.
Need = Literal["metrics", "steps", "logs", "profiler", "nothing"]

#: What a finding is about, in the order in which they are to be acted on: what ended the job, what stops it now, what
#: wastes it, what may go wrong, what cannot be seen.
About = Literal["end", "now", "waste", "risk", "sight"]
ABOUT: tuple[About, ...] = get_args(About)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule by its finding's id. It stays silent where one of ``silenced_by`` has spoken: one cause, one finding.

    Where both are said, it stands before those that it ``explains``. One of the ``whole_log`` is not asked while older lines
    are still being read: what it says hangs on the head of the log, or on how much of all there is, and no finding is taken
    back. What its silence rests on is what it ``needs``: without that it says nothing of a healthy job either.
    """

    id: str
    check: Check
    needs: Need
    silenced_by: tuple[str, ...] = ()
    about: About = "waste"
    explains: tuple[str, ...] = ()
    whole_log: bool = False


def rule(
    id: str,
    needs: Need,
    silenced_by: tuple[str, ...] = (),
    about: About = "waste",
    explains: tuple[str, ...] = (),
    whole_log: bool = False,
) -> Callable[[Check], Rule]:
    """Makes a function of a case the rule of finding ``id``."""
    return lambda check: Rule(id, check, needs, silenced_by, about, explains, whole_log)


MEASURED = "measured"
OF_ONE_GPU = "measured, on the fullest GPU"


def setup_seen(
    run: Run,
    steady: pd.DataFrame,
    stats: StepStats | None,
    refused: Fill | None = None,
    gpus: pd.DataFrame | None = None,
) -> Setup:
    """The setup of the job, with the size of its model as the log tells it, the memory of its fullest node (p95 of one GPU,
    in percent; of its fullest GPU where ``gpus``, the Gpus frame of steady work, tells) and its median step time. What was
    not measured is left out.

    Of a job that a GPU had no memory for (``refused``), the memory is what it would have taken: 100 % at the least.
    """
    setup = setup_of(run.job)
    seen: dict[str, SourcedValue] = {}
    if setup.known("parameters_billion") is None and (count := parameters(run.job, run.events)) is not None:
        seen["parameters_billion"] = SourcedValue(count / 1e9, "the model's size in the log, or its layers and width")
    if refused is not None and not refused.shared and not refused.fragmented:
        seen["gpu_memory_utilization"] = SourcedValue(refused.needed_pct or 100.0, "what the GPU refused")
        if setup.known("gpu_memory_gib") is None and refused.capacity:
            seen["gpu_memory_gib"] = SourcedValue(refused.capacity, "what the GPU refused")
    elif (used := _fullest_pct(run, steady)) is not None:
        one = max((each.pct for each in fullest(gpus).values()), default=0.0) if gpus is not None else 0.0
        seen["gpu_memory_utilization"] = SourcedValue(max(used, one), MEASURED if used >= one else OF_ONE_GPU)
    if stats is not None and stats.median_s is not None:
        came = came_by(run.logs.readings)
        seen["step_time_s"] = SourcedValue(stats.median_s, f"{MEASURED}, {came}" if came else MEASURED, came_by=came)
    return replace(setup, values={**setup.values, **seen})


def _fullest_pct(run: Run, steady: pd.DataFrame) -> float | None:
    held = steady[steady["metric"] == "gpu_memory_utilization"]
    if len(held):
        return float(held.groupby("node", observed=True)["value_pct"].quantile(0.95).max())
    shares = [
        100 * peak.peak_gib / peak.capacity_gib for peak in memory_peaks(run.steps, run.events) if peak.capacity_gib
    ]
    return max(shares, default=None)


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule. ValueError where one names an id that no rule has, has another one's id, or is to follow itself."""
    return in_order_of_asking(_rules_of_modules())


def in_order_of_asking(found: Iterable[Rule]) -> tuple[Rule, ...]:
    """The rules, each after those that silence or explain it and otherwise in the order given, by what they are about."""
    ordered = sorted(found, key=lambda rule: ABOUT.index(rule.about))
    by_id = {rule.id: rule for rule in ordered}
    if len(by_id) < len(ordered):
        twice = sorted({rule.id for rule in ordered if by_id[rule.id] is not rule})
        raise ValueError(f"Two rules have the id {', '.join(twice)}.")
    for rule in ordered:
        if unknown := [id for id in (*rule.silenced_by, *rule.explains) if id not in by_id]:
            raise ValueError(f"The rule {rule.id} names {', '.join(unknown)}, which no rule has as its id.")
    before = {rule.id: set(rule.silenced_by) for rule in ordered}
    for rule in ordered:
        for id in rule.explains:
            before[id].add(rule.id)
    out: dict[str, Rule] = {}
    for rule in ordered:
        _put(rule.id, by_id, before, out, ())
    return tuple(out.values())


def _put(
    id: str, by_id: Mapping[str, Rule], before: Mapping[str, set[str]], out: dict[str, Rule], way: tuple[str, ...]
) -> None:
    if id in out:
        return
    if id in way:
        raise ValueError(f"Rules follow one another in a circle: {' after '.join((*way[way.index(id) :], id))}.")
    for other in by_id:
        if other in before[id]:
            _put(other, by_id, before, out, (*way, id))
    out[id] = by_id[id]


def _rules_of_modules() -> Iterator[Rule]:
    for info in sorted(pkgutil.iter_modules(monitor.diagnose.rules.__path__), key=lambda info: info.name):
        # To import what holds no rule would take the better part of a second.
        spec = info.module_finder.find_spec(info.name, None)
        source = (
            spec.loader.get_source(info.name) if spec and spec.loader and hasattr(spec.loader, "get_source") else ""
        )
        if source and "\n@rule(" in source:
            module = importlib.import_module(f"{monitor.diagnose.rules.__name__}.{info.name}")
            yield from (value for value in vars(module).values() if _is_own(value, module.__name__))


def _is_own(value: object, module: str) -> bool:
    return isinstance(value, Rule) and value.check.__module__ == module


_SEVERITY = {"critical": 0, "warning": 1, "info": 2}

Broke = Callable[[Rule, Exception], None]


def _raised(rule: Rule, error: Exception) -> None:
    raise error


def diagnose(run: Run, now: datetime, price: Price | None = None, broke: Broke = _raised) -> tuple[Finding, ...]:
    """The findings of a run as of ``now``. A rule whose data are missing stays silent; the gap has its own rule."""
    return findings(Case(run, now, price), broke)


def findings(case: Case, broke: Broke = _raised) -> tuple[Finding, ...]:
    """The findings of a case, for who has worked it out already.

    A rule that fails is told to ``broke`` and left out: the others are asked. Unless one is given, its error is raised.
    """
    found: dict[str, Finding] = {}
    asked = rules()
    for rule in asked:
        if found.keys() & set(rule.silenced_by) or (rule.whole_log and not case.run.logs.complete):
            continue
        try:
            finding = rule.check(case)
        except Exception as error:
            broke(rule, error)
            continue
        if finding is not None:
            found[finding.id] = replace(finding, share=case.bill.share(finding.savings) if finding.savings else None)
    return in_order(tuple(found.values()), {rule.id: rule for rule in asked})


def asks_to_save(found: Iterable[Finding]) -> bool:
    """Whether any of the findings is one to act on that time and money go into; risks have cost nothing so far."""
    risks = {rule.id for rule in rules() if rule.about == "risk"}
    return any(finding.severity != "info" and finding.id not in risks for finding in found)


def in_order(found: tuple[Finding, ...], by_id: Mapping[str, Rule]) -> tuple[Finding, ...]:
    """Findings by severity, by what they are about, and by what they cost, the largest first; of equal ones the order of
    their rules, which names the exact before the general. One that explains another stands before it."""

    def place(finding: Finding) -> tuple[int, int, float]:
        return _SEVERITY[finding.severity], ABOUT.index(by_id[finding.id].about), -(finding.share or 0.0)

    out = sorted(found, key=place)
    for finding in sorted(found, key=place, reverse=True):
        explained = [n for n, other in enumerate(out) if other.id in by_id[finding.id].explains]
        here = out.index(finding)
        if explained and explained[0] < here and out[explained[0]].severity == finding.severity:
            out.insert(explained[0], out.pop(here))
    return tuple(out)
