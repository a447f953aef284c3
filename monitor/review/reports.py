"""Everything that is said about a run, from the run and the price of its instances alone: what an instance-hour costs by the
user's settings or the source, and how the steps of each log format were read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import Future
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

import numpy as np
import pandas as pd

from monitor import faults
from monitor.analyze import phases, step_time, utilization
from monitor.analyze.checkpoints import at_risk, saves
from monitor.analyze.phases import cost, goodput, mean_price
from monitor.analyze.single_gpus import by_gpu
from monitor.aws.calls import begin
from monitor.diagnose.rulebook import Case, Rule, asks_to_save, findings
from monitor.diagnose.stakes import recoverable
from monitor.diagnose.verdict import is_conclusive
from monitor.model import (
    METRICS,
    ApiBill,
    AtRisk,
    Cost,
    Gap,
    Job,
    LogCoverage,
    Node,
    NodeStats,
    Parameter,
    Price,
    ReadLine,
    Report,
    Run,
    StepReading,
    Utilized,
)
from monitor.parse.assemble import Parsed
from monitor.parse.examples import EACH, Examples
from monitor.parse.recognise import RawRows
from monitor.parse.steps.timing import Timing
from monitor.predict.setup import setup_of
from monitor.predict.spread import others
from monitor.review.archived import Source
from monitor.settings import Settings
from monitor.words import count

# The report before it stands within so many rows, or is not looked for.
_NEAR = 2_000
_COUNTS = re.compile(r"(?<![\d.])\d+(?=/\d)")
_OF_ALL = re.compile(r"(?<![\d.])(\d{1,15})/(0*[1-9]\d{0,14})(?!\.?\d)")
_DIGITS = re.compile(r"\d{1,18}")
# Whole ones.
_NUMBERS = re.compile(r"(?<![\d.])\d+(?!\.?\d)")
_Pair = tuple[int, int]
"""A count and its total."""


def step_readings(steps: pd.DataFrame, parsed: Parsed, examples: Examples) -> tuple[StepReading, ...]:
    """One a format, that of most reports first; ``steps`` are those of the review, ``parsed`` is what its lines were read as."""
    if steps.empty:
        return ()
    timings = {timing.format: timing for timing in parsed.timings}
    raw = {**parsed.examples, **examples.texts()}
    texts = {(stream, line + parsed.moved.get(stream, 0)): text for (stream, line), text in raw.items()}
    reports = steps.groupby("format", sort=False)["reports"].sum().sort_values(ascending=False, kind="stable")
    lines = _read_lines(parsed.steps, texts, {name: round(timing.each) for name, timing in timings.items()})
    return tuple(
        _reading(str(name), int(count), steps, timings.get(str(name)), lines.get(str(name), ()))
        for name, count in reports.items()
    )


def _reading(
    name: str, reports: int, steps: pd.DataFrame, timing: Timing | None, lines: tuple[ReadLine, ...]
) -> StepReading:
    own = steps[steps["format"] == name]
    timed = own[own["step_time_s"].notna()]
    kind = str((timed if len(timed) else own)["kind"].value_counts().index[0])
    if timing is None:
        return StepReading(name, reports, kind, lines=lines)
    told = timing.verdict
    return StepReading(
        name,
        reports,
        kind,
        told.cause,
        told.factor,
        _known(timing.printed_s),
        _known(timing.clock_s),
        _known(timing.resolution_s),
        lines=lines,
    )


def _read_lines(
    steps: pd.DataFrame, texts: Mapping[tuple[str, int], str], moves: Mapping[str, int]
) -> dict[str, tuple[ReadLine, ...]]:
    """The first reports of each format whose lines are known; ``moves`` tells how far a format's counter goes on with a step."""
    codes, lines = steps["stream"].cat.codes.to_numpy(), steps["line"].to_numpy()
    places: list[int] = []
    for code, stream in enumerate(steps["stream"].cat.categories):
        wanted = [line for name, line in texts if name == stream]
        if wanted:
            places += np.flatnonzero((codes == code) & np.isin(lines, wanted)).tolist()
    found: dict[str, list[ReadLine]] = {}
    for place in _one_a_line(steps, sorted(places), texts):
        row = steps.iloc[place]
        if len(shown := found.setdefault(str(row["format"]), [])) < EACH:
            text = texts[str(row["stream"]), int(row["line"])]
            shown.append(_read_line(steps, place, text, moves.get(str(row["format"]), 1)))
    return {name: tuple(shown) for name, shown in found.items()}


def _one_a_line(steps: pd.DataFrame, places: Sequence[int], texts: Mapping[tuple[str, int], str]) -> Iterator[int]:
    """Of the reports in one line, such as a bar's redraws, the one whose step its text names; none where it names another."""
    by_line: dict[tuple[str, int, str], list[int]] = {}
    for place, row in zip(places, steps.iloc[list(places)].itertuples(), strict=True):
        by_line.setdefault((str(row.stream), int(row.line), str(row.format)), []).append(place)
    for (stream, line, _), own in by_line.items():
        text = texts[stream, line]
        # Of a count and its total the first is the step.
        named, pairs = set(_COUNTS.findall(text) or _NUMBERS.findall(text)), _pairs(text)
        told = steps.iloc[own][["step", "total"]].itertuples(index=False)
        chosen = (place for place, (step, total) in zip(own, told, strict=True) if _names(named, pairs, step, total))
        first = next(chosen, own[0] if len(own) == 1 else None)
        if first is not None:
            yield first


def _names(named: Set[str], pairs: Sequence[_Pair], step: float, total: float) -> bool:
    """Whether a text with these numbers and counts tells this step: itself, or the samples up to it."""
    if pd.isna(step):
        return False
    if samples := _samples(pairs, total):
        return any(abs(count / whole - step / total) < 0.5 / total for count, whole in samples)
    return str(int(step)) in named


def _pairs(text: str) -> list[_Pair]:
    return [(int(count), int(whole)) for count, whole in _OF_ALL.findall(text)]


def _samples(pairs: Sequence[_Pair], total: float) -> list[_Pair]:
    """What was counted as batches; nothing where the step's own total is among the counts."""
    if pd.isna(total) or total <= 0 or any(whole == total for _, whole in pairs):
        return []
    return [pair for pair in pairs if pair[1] > total]


def _read_line(steps: pd.DataFrame, place: int, text: str, moves: int) -> ReadLine:
    row = steps.iloc[place]
    same = steps.iloc[max(0, place - _NEAR) : place]
    for name in ("stream", "format", "segment"):
        same = same[same[name] == row[name]]
    same = same[same["rank"].fillna(-1) == (-1 if pd.isna(row["rank"]) else row["rank"])]
    step = None if pd.isna(row["step"]) else int(row["step"])
    since = None
    if step is not None and len(same) and not pd.isna(same["step"].iloc[-1]):
        since = (step - int(same["step"].iloc[-1])) // moves
    return ReadLine(
        str(row["stream"]),
        int(row["line"]),
        text.strip(),
        step,
        step is None or _is_printed(text, step, row["total"]),
        _known(row["step_time_s"]),
        str(row["kind"]),
        since,
        _known(row["throughput"]),
        str(row["throughput_unit"]),
        _known(row["loss"]),
    )


def _is_printed(text: str, step: int, total: float) -> bool:
    """Whether the step stands in the text as it is."""
    if _samples(_pairs(text), total):
        return False
    return any(step in map(int, _DIGITS.findall(each)) for each in (text, text.replace(",", "")))


def _known(value: float) -> float | None:
    return None if pd.isna(value) else float(value)


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
        lambda: recoverable(found.cost, case.bill, said, asks_to_save(said), is_conclusive(found)),
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


_Answer = Price | Gap | None


class Pricing:
    """The price of one job, asked for anew at each look; the source remembers what it was told."""

    def __init__(self, source: Source, settings: Settings) -> None:
        self._source = source
        self._by_user: Mapping[str, Price] = {
            name: Price(usd, settings.price_source) for name, usd in settings.prices.items()
        }
        self._asked: dict[str, Future[_Answer]] = {}
        self._others: dict[str, Future[_Answer]] = {}

    def request(self, job: Job) -> None:
        """Begins to ask for what the settings do not say; returns at once."""
        unknown = self._unknown(job)
        # Types to compare it with, where its own price is AWS's too: a contract's and a list's say nothing together.
        compared = _comparable(job) if unknown else ()
        self._asked, self._others = (
            {name: begin(self._source.price, name, job) for name in names} for names in (unknown, compared)
        )

    def is_known(self) -> bool:
        """Whether all that was asked is answered."""
        return all(answer.done() for answer in (*self._asked.values(), *self._others.values()))

    def price(self, job: Job, wait: bool = True) -> tuple[Price | None, tuple[Gap, ...]]:
        """The mean over the job's instances, or why there is none.

        With ``wait`` it takes as long as the source does: a few seconds. Without, what is not answered yet is no gap.
        """
        prices = {name: self._by_user[name] for name in _types(job) if name in self._by_user}
        gaps: list[Gap] = []
        for instance_type in self._unknown(job):
            asked = self._asked.get(instance_type)
            if asked is not None and (wait or asked.done()):
                answer = asked.result()
                if isinstance(answer, Price):
                    prices[instance_type] = answer
                elif answer is not None:
                    gaps.append(answer)
        price = mean_price(job.instance_groups, prices)
        return (None if price is None else replace(price, others=self._known_others(job, wait))), tuple(gaps)

    def _known_others(self, job: Job, wait: bool) -> dict[str, float]:
        """What is known of them by now, from where its own price is; one that is not known is no gap."""
        if not self._unknown(job):
            return {
                name: self._by_user[name].usd_per_instance_hour for name in _comparable(job) if name in self._by_user
            }
        answers = {name: asked.result() for name, asked in self._others.items() if wait or asked.done()}
        return {name: each.usd_per_instance_hour for name, each in answers.items() if isinstance(each, Price)}

    def _unknown(self, job: Job) -> tuple[str, ...]:
        return tuple(name for name in _types(job) if name not in self._by_user)


def _types(job: Job) -> tuple[str, ...]:
    return tuple(dict.fromkeys(group.instance_type for group in job.instance_groups if group.instance_type))


def _comparable(job: Job) -> tuple[str, ...]:
    """Types whose pace is known beside that of the job's instances, which are of one type."""
    kinds = _types(job)
    return others(kinds[0]) if len(kinds) == 1 else ()
