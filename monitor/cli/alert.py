"""``alert``: the thresholds that a job crosses. Exit code 0 no, 1 yes, 3 where that could not be determined. ``--backtest``: what
the rules would have said over past jobs, when, how long before the end, for how much."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from monitor.alert.conditions import AlertRule, Threshold
from monitor.alert.delivery import RuleSinks
from monitor.alert.evaluate import RuleVerdict, evaluate, figure
from monitor.alert.history import Backtested, BacktestedAlert, BacktestedJob, backtest
from monitor.alert.ledger import durable, ledger_file
from monitor.alert.message import alert_document, backtest_document
from monitor.alert.news import AlertContext
from monitor.alert.rules import read_rules, rules_of, saved
from monitor.cli import alert_across
from monitor.cli.alert_text import print_set_aside, print_verdicts, run_resend, sentences, undelivered
from monitor.cli.alert_watch import JobCheck, publisher, run_watch
from monitor.cli.options import archive_source, chosen_cache, is_many, job_source, own_patterns, seconds_of
from monitor.cli.output import Cell, Column, Paper, as_json, deliver, on_screen, paper_for, progress, table
from monitor.cli.thresholds import report_doubts
from monitor.diagnose.headline import status_word
from monitor.diagnose.stakes import total_usd
from monitor.errors import BadCall, CannotDo, NoData, TrainwatchError
from monitor.fetch.source import JobQuery
from monitor.review import Reviewer
from monitor.settings import read
from monitor.terminal import to_stderr
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


def run_backtest(arguments: argparse.Namespace, rules: tuple[AlertRule, ...]) -> int:
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


def _tested(
    arguments: argparse.Namespace, rules: tuple[AlertRule, ...], advance: _Advance, place: int
) -> BacktestedJob:
    extra = own_patterns(arguments)
    source, name = job_source(arguments)
    settings = read()
    reviewer = Reviewer(source, name, settings, extra, cache=chosen_cache(arguments, settings))
    report = reviewer.review(datetime.now(UTC), lambda text: advance(place, name, 0.0))
    return backtest(report, rules, report.reviewed_at, progress=lambda share: advance(place, name, share))


def _exit_code(jobs: Sequence[BacktestedJob], troubles: Sequence[TrainwatchError]) -> int:
    for trouble in troubles:
        to_stderr(f"left out: {trouble}")
    tested = [tested for job in jobs for tested in job.rules]
    if any(each.state == "firing" for each in tested):
        return 1
    unknown = [each for each in tested if each.state == "no data"]
    if unknown and not troubles:
        to_stderr(f"{unknown[0].rule.name} could not be evaluated: {unknown[0].why}")
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


def _print(jobs: Sequence[BacktestedJob], rules: Sequence[AlertRule], paper: Console) -> None:
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


def _cost(said: BacktestedAlert) -> str:
    wasted = "" if said.wasted_usd_after is None else f" ({usd(said.wasted_usd_after)})"
    return f"{usd(said.usd_after)}{wasted}"


def _value(rule: AlertRule, said: BacktestedAlert) -> str:
    return figure(said.episode.value, rule.when.metric, said.episode.unit) if isinstance(rule.when, Threshold) else ""


def _clock(at: datetime | None) -> str:
    return DASH if at is None else f"{at:%d %b %H:%M}".lstrip("0")


def _sums(jobs: Sequence[BacktestedJob], rules: Sequence[AlertRule], paper: Console) -> None:
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


CROSSED, NOT_DONE = 1, 3


def run(arguments: argparse.Namespace) -> int:
    """Evaluates, prints, tells whoever is to be told, and tells the rest by the exit code."""
    ledger = Path(arguments.ledger) if arguments.ledger else ledger_file()
    several = _is_of_several(arguments)
    if arguments.resend is not None:
        if arguments.job or arguments.logs or arguments.watch or arguments.backtest or arguments.publish:
            raise BadCall("--resend looks at no job.", "Leave out the job, --watch, --backtest and --publish.")
        return run_resend(arguments, _given_rules(arguments) or saved(), durable(ledger))
    rules = rules_of_call(arguments)
    seconds_of("--interval", arguments.interval)
    seconds_of("--cool-down", arguments.cool_down)
    if arguments.backtest:
        if arguments.watch or arguments.notify or arguments.publish:
            raise BadCall("--backtest only looks at the past.", "Leave out --watch, --notify and --publish.")
        return run_backtest(arguments, rules)
    if arguments.more:
        raise BadCall(f"{1 + len(arguments.more)} jobs were named.", "Name one; several go with --backtest.")
    sinks = RuleSinks(rules, arguments.notify, ledger)
    if several:
        if arguments.watch:
            return alert_across.run_watch_across(arguments, rules, sinks)
        return alert_across.run(arguments, rules, sinks)
    said, trouble = False, ""
    try:
        check = _job_check(arguments, ledger)
        if arguments.watch:
            verdicts, said = run_watch(arguments, rules, sinks, check)
        else:
            verdicts, trouble = _once(arguments, rules, sinks, check)
    except BadCall:
        raise
    except TrainwatchError as error:
        if arguments.format == "json":
            nothing = [RuleVerdict(rule, "no data", why=str(error)) for rule in rules]
            deliver(arguments, as_json(alert_document(arguments.job or "", nothing, datetime.now(UTC))))
        raise
    code = CROSSED if said else exit_code(verdicts)
    return NOT_DONE if trouble and not code else code


def _is_of_several(arguments: argparse.Namespace) -> bool:
    """Whether all running jobs of several accounts are looked at. BadCall where that meets what is of one job."""
    if not is_many(arguments) or (arguments.account and _has_job(arguments) and not arguments.all_accounts):
        return False
    if _has_job(arguments) or arguments.resend is not None:
        raise BadCall("--all-accounts looks at all running jobs.", "Leave out the job, --resend, or --all-accounts.")
    if arguments.backtest:
        raise BadCall(
            "--backtest looks at the past of jobs that are named, --all-accounts at what runs.",
            "Name jobs, with --account for those of another account; or leave out --backtest.",
        )
    if arguments.publish:
        raise BadCall(
            "--publish writes into the account of a job that is named; the roles of --all-accounts only read.",
            "Name a job, with --account for one of another account; or leave out --publish.",
        )
    return True


def _has_job(arguments: argparse.Namespace) -> bool:
    return bool(arguments.job or arguments.logs or arguments.archive)


def _once(
    arguments: argparse.Namespace, rules: tuple[AlertRule, ...], sinks: RuleSinks, check: JobCheck
) -> tuple[tuple[RuleVerdict, ...], str]:
    """One look, printed; sinks other than the terminal get what they did not get before.

    (the verdicts, why step times were not published, if that was asked for)
    """
    cool_down_s = seconds_of("--cool-down", arguments.cool_down)
    with progress(arguments) as say:
        report = check.review_at(datetime.now(UTC), say)
    # An archived job is as it was then.
    now = report.reviewed_at
    verdicts = evaluate(report, rules, now)
    if sinks.sinks:
        sinks.record(AlertContext(report, now, check.public_url, cool_down_s), verdicts)
    outcomes = sinks.deliver()
    asides = sinks.set_aside()
    if arguments.format == "json":
        document = alert_document(report.job.name, verdicts, now)
        deliver(arguments, as_json(document | undelivered(outcomes, asides)))
    else:
        paper = paper_for(arguments)
        print_verdicts(report.job.name, verdicts, now, paper)
        print_set_aside(asides, sinks.ledger, paper)
        deliver(arguments, paper)
    trouble = check.publish(report, now)
    for sentence in [*sentences(sinks, outcomes, set()), *filter(None, [trouble])]:
        to_stderr(sentence)
    return verdicts, trouble or sinks.trouble


def _job_check(arguments: argparse.Namespace, ledger: Path | None) -> JobCheck:
    """How the job is looked at, and what is done with a look beside judging it."""
    extra = own_patterns(arguments)
    source, name = job_source(arguments)
    settings = read()
    reviewer = Reviewer(source, name, settings, extra, cache=chosen_cache(arguments, settings))
    publish = publisher(source, ledger) if arguments.publish else lambda report, now: ""
    return JobCheck(reviewer.review, settings.public_url, publish)


def rules_of_call(arguments: argparse.Namespace) -> tuple[AlertRule, ...]:
    """The rules of the call: those of the file and of each --when, else the saved ones."""
    rules = _given_rules(arguments)
    if not rules:
        rules = saved()
        report_doubts(rules)
    if not rules:
        raise BadCall(
            "No threshold was given, and none is saved.",
            'Give one with --when, such as --when "gpu_utilization < 40% for 10 min", a file with --rules, or save one with '
            "thresholds add.",
        )
    return rules


def _given_rules(arguments: argparse.Namespace) -> tuple[AlertRule, ...]:
    rules = read_rules(Path(arguments.rules)) if arguments.rules else ()
    return rules + rules_of(arguments.when, [rule.name for rule in rules])


def exit_code(verdicts: tuple[RuleVerdict, ...]) -> int:
    """1 where a rule fires, else 3 where one could not be evaluated (told on standard error), else 0."""
    if any(verdict.state == "firing" for verdict in verdicts):
        return CROSSED
    unknown = [verdict for verdict in verdicts if verdict.state == "no data"]
    if not unknown:
        return 0
    more = f" ({len(unknown) - 1} more rules have no data either)" if len(unknown) > 1 else ""
    to_stderr(f"{unknown[0].rule.name} could not be evaluated{more}: {unknown[0].why}")
    return NOT_DONE
