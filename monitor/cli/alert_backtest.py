"""``alert --backtest``: what the rules would have said over past jobs, when, how long before the end, for how much."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from monitor.alert.conditions import Rule, Threshold
from monitor.alert.evaluate import figure
from monitor.alert.history import Backtested, BacktestedJob, Said, backtest
from monitor.alert.message import backtest_document
from monitor.cli.options import archive_source, chosen_cache, job_source, own_patterns
from monitor.cli.output import Cell, Column, Paper, as_json, deliver, on_screen, paper_for, table
from monitor.diagnose.headline import status_word
from monitor.diagnose.stakes import total_usd
from monitor.errors import BadCall, CannotDo, NoData, TrainwatchError
from monitor.fetch.source import JobQuery
from monitor.review import Reviewer
from monitor.settings import read
from monitor.words import DASH, count, duration, instant, usd

# So many alerts of one rule are listed; the others are counted.
_LISTED = 8
_EVERY_JOB = 1_000_000
_COLUMNS = (
    Column("RULE", wraps=True),
    Column("FIRED"),
    Column("WHERE", goes=1),
    Column("VALUE"),
    Column("RESOLVED", goes=3),
    Column("BEFORE END", goes=2, right=True),
    Column("COST AFTER (OVERHEAD)", goes=4, right=True),
)
_SUMS = (
    Column("RULE", wraps=True),
    Column("FIRED IN"),
    Column("ALERTS", right=True),
    Column("COST AFTER THE FIRST", goes=1, right=True),
    Column("OF WHICH OVERHEAD", goes=2, right=True),
)

_Advance = Callable[[int, str, float], None]
"""Told which job of all is read or walked through, and how much of it is done."""


def run_backtest(arguments: argparse.Namespace, rules: tuple[Rule, ...]) -> int:
    """Walks through each job, and prints what would have been said. 1 where anything would have been."""
    names = _names(arguments)
    jobs, troubles = [], []
    with _bar(arguments, len(names)) as advance:
        for place, name in enumerate(names):
            try:
                jobs.append(_tested(argparse.Namespace(**{**vars(arguments), "job": name}), rules, advance, place))
            except BadCall:
                raise
            except TrainwatchError as error:
                troubles.append(error)
    if not jobs:
        raise troubles[0]
    if arguments.format == "json":
        deliver(arguments, as_json(backtest_document(jobs)))
    else:
        paper = paper_for(arguments)
        _print(jobs, rules, paper)
        deliver(arguments, paper)
    return _exit_code(jobs, troubles)


def _names(arguments: argparse.Namespace) -> list[str | None]:
    """The jobs of the call; where it names an archive and no job, all that are in it, newest first."""
    named = [name for name in (arguments.job, *arguments.more) if name]
    if named or arguments.archive is None:
        return named or [None]
    try:
        source = archive_source(arguments.archive, arguments)
    except NoData:
        return [None]  # the path of one job, or of nothing: who reads it knows
    found = [job.name for job in source.jobs(JobQuery(limit=_EVERY_JOB))]
    if not found:
        raise NoData(f"The archive {arguments.archive} contains no jobs.", "Add some with archive JOB --to DIR.")
    return [*found]


def _tested(arguments: argparse.Namespace, rules: tuple[Rule, ...], advance: _Advance, place: int) -> BacktestedJob:
    extra = own_patterns(arguments)
    source, name = job_source(arguments)
    settings = read()
    reviewer = Reviewer(source, name, settings, extra, cache=chosen_cache(arguments, settings))
    report = reviewer.review(datetime.now(UTC), lambda text: advance(place, name, 0.0))
    return backtest(report, rules, report.reviewed_at, progress=lambda share: advance(place, name, share))


def _exit_code(jobs: Sequence[BacktestedJob], troubles: Sequence[TrainwatchError]) -> int:
    for trouble in troubles:
        print(f"trainwatch: left out: {trouble}", file=sys.stderr)
    tested = [tested for job in jobs for tested in job.rules]
    if any(each.state == "firing" for each in tested):
        return 1
    unknown = [each for each in tested if each.state == "no data"]
    if unknown and not troubles:
        print(f"trainwatch: {unknown[0].rule.name} could not be evaluated: {unknown[0].why}", file=sys.stderr)
    return CannotDo.exit_code if unknown or troubles else 0


@contextmanager
def _bar(arguments: argparse.Namespace, jobs: int) -> Iterator[_Advance]:
    """A bar on standard error; silent with --quiet and where nobody watches."""
    if arguments.quiet or not sys.stderr.isatty():
        yield lambda place, name, share: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    with on_screen(Progress(*columns, console=Paper.on(sys.stderr), transient=True)) as bar:
        task = bar.add_task("reading", total=jobs)
        yield lambda place, name, share: bar.update(task, description=name, completed=place + share)


def _print(jobs: Sequence[BacktestedJob], rules: Sequence[Rule], paper: Console) -> None:
    for job in jobs:
        paper.print(Text.assemble((job.job, "bold"), f" · {_about(job)}"))
        rows = [row for tested in job.rules for row in _rows(tested)]
        paper.print(table(_COLUMNS, rows, paper.width))
        for tested in job.rules:
            if tested.why:
                paper.print(Text(f"{tested.rule.name}: {tested.why}", "yellow"))
        for came_by in dict.fromkeys(tested.came_by for tested in job.rules if tested.came_by):
            paper.print(Text(f"Step times are {came_by}.", "dim"))
        paper.print()
    if len(jobs) > 1:
        _sums(jobs, rules, paper)
    paper.print(
        Text(
            "Cost after: from the alert to the end of the job, what stopping at once would have saved. Overhead: "
            "the part of it that was not training, evaluation or checkpoint.",
            "dim",
        )
    )


def _about(job: BacktestedJob) -> str:
    ran = (job.judged_until - job.started).total_seconds() if job.started else None
    parts = [status_word(job.status), f"started {instant(job.started)}" if job.started else ""]
    parts += [f"ran {duration(ran)}" if ran is not None else "", f"cost {usd(job.usd)}" if job.usd is not None else ""]
    return ", ".join(filter(None, parts))


def _rows(tested: Backtested) -> Iterator[Sequence[Cell]]:
    rest = [""] * (len(_COLUMNS) - 2)
    if not tested.said:
        state = {"ok": "nothing", "no data": "no data"}[tested.state]
        yield tested.rule.text, Text(state, "green" if tested.state == "ok" else "yellow"), *rest
    for place, said in enumerate(tested.said[:_LISTED]):
        yield (
            tested.rule.text if place == 0 else "",
            Text(_clock(said.at) if said.at else "yes, time unknown", "bold red"),
            said.episode.node or said.episode.finding or DASH,
            _value(tested.rule, said),
            _clock(said.episode.until) if said.episode.until else "no",
            duration(said.seconds_before_end),
            _cost(said),
        )
    if len(tested.said) > _LISTED:
        yield "", f"and {len(tested.said) - _LISTED} more", *rest


def _cost(said: Said) -> str:
    wasted = "" if said.wasted_usd_after is None else f" ({usd(said.wasted_usd_after)})"
    return f"{usd(said.usd_after)}{wasted}"


def _value(rule: Rule, said: Said) -> str:
    return figure(said.episode.value, rule.when.metric, said.episode.unit) if isinstance(rule.when, Threshold) else ""


def _clock(at: datetime | None) -> str:
    return DASH if at is None else f"{at:%d %b %H:%M}".lstrip("0")


def _sums(jobs: Sequence[BacktestedJob], rules: Sequence[Rule], paper: Console) -> None:
    """A line a rule over all jobs."""
    rows = []
    for place, rule in enumerate(rules):
        over = [job.rules[place] for job in jobs]
        firsts = [tested.said[0] for tested in over if tested.said]
        rows.append(
            (
                rule.text,
                f"{len(firsts)} of {count(len(jobs), 'job')}",
                str(sum(len(tested.said) for tested in over)),
                usd(total_usd(said.usd_after for said in firsts)),
                usd(total_usd(said.wasted_usd_after for said in firsts)),
            )
        )
    paper.print(Text(f"All {count(len(jobs), 'job')}", "bold"))
    paper.print(table(_SUMS, rows, paper.width))
    paper.print()
