"""``alert --all-accounts``: one look at all running jobs of many accounts, and at those that ended within the hour.

A job that could not be reviewed, and an account that could not be read, are said; the others are judged all the same.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.text import Text

from monitor.accounts import AccountRegion
from monitor.alert.conditions import Rule
from monitor.alert.document import alert_document, iso
from monitor.alert.evaluate import evaluate
from monitor.alert.news import Look
from monitor.alert.telling import Telling
from monitor.alert.verdict import Verdict
from monitor.cli.accounts import missing_documents, pairs_of, say_missing, sweep_of
from monitor.cli.alert_text import print_verdicts
from monitor.cli.alert_undelivered import print_set_aside, sentences, undelivered
from monitor.cli.durations import seconds_of
from monitor.cli.output import as_json, deliver, paper_for, progress
from monitor.cli.paper import Paper
from monitor.cli.sources import chosen_cache
from monitor.errors import TrainwatchError
from monitor.faults import fault
from monitor.fetch.background import side_by_side
from monitor.fetch.source import JobQuery
from monitor.model import JobSummary, Report
from monitor.parse.user import step_pattern
from monitor.review import Reviewer
from monitor.review.across import Across, Missing, Sweep
from monitor.settings import Settings, read
from monitor.words import count

# Each reads the streams of its job side by side.
_AT_ONCE = 4
_MOST = 1000
# The end of a job is told by the next look, if that comes within this time.
_ENDED_WITHIN = timedelta(hours=1)
CROSSED, NOT_DONE = 1, 3


@dataclass(frozen=True, slots=True)
class _Judged:
    """One job, and what the rules say of it."""

    where: AccountRegion
    name: str
    verdicts: tuple[Verdict, ...]
    report: Report | None = None
    """None where it could not be reviewed; each verdict says why."""

    def has(self, state: str) -> bool:
        return any(verdict.state == state for verdict in self.verdicts)


def run(arguments: argparse.Namespace, rules: tuple[Rule, ...], telling: Telling) -> int:
    """Judges, prints and tells; 1 where a rule fires, else 3 where something could not be judged."""
    settings, now = read(), datetime.now(UTC)
    pairs, sweep = pairs_of(arguments, settings), sweep_of(arguments)
    with progress(arguments, "listing jobs") as say:
        listed = (
            sweep.look(pairs, JobQuery(status="InProgress", limit=_MOST), now, say),
            sweep.look(pairs, JobQuery(modified_after=now - _ENDED_WITHIN, limit=_MOST), now, say),
        )
        jobs, missing = _jobs(listed, now), _missing(listed)
        judged = []
        for one in side_by_side(lambda job: _judge(arguments, settings, sweep, rules, *job), jobs, _AT_ONCE):
            judged.append(one)
            say(f"{len(judged)} of {len(jobs)} jobs judged")
    _tell(arguments, settings, telling, judged)
    outcomes, asides = telling.deliver(), telling.set_aside()
    if arguments.format == "json":
        deliver(arguments, as_json(_document(judged, missing, now) | undelivered(outcomes, asides)))
    else:
        paper = paper_for(arguments)
        _print(judged, len(pairs) - len(missing), len(pairs), paper)
        print_set_aside(asides, telling.ledger, paper)
        deliver(arguments, paper)
    for sentence in sentences(telling, outcomes, set()):
        print(f"trainwatch: {sentence}", file=sys.stderr)
    say_missing(missing, len(pairs))
    if any(one.has("firing") for one in judged):
        return CROSSED
    unknown = missing or telling.trouble or any(one.has("no data") for one in judged)
    return NOT_DONE if unknown else 0


def _jobs(listed: Sequence[Across], now: datetime) -> list[tuple[AccountRegion, JobSummary]]:
    found = {(row.where, row.job.name): row.job for look in listed for row in look.rows}
    return [(where, job) for (where, _), job in found.items() if job.ended is None or now - job.ended <= _ENDED_WITHIN]


def _missing(listed: Sequence[Across]) -> tuple[Missing, ...]:
    return tuple({one.where: one for look in listed for one in look.missing}.values())


def _judge(
    arguments: argparse.Namespace,
    settings: Settings,
    sweep: Sweep,
    rules: tuple[Rule, ...],
    where: AccountRegion,
    job: JobSummary,
) -> _Judged:
    extra = (step_pattern(arguments.step_regex),) if arguments.step_regex else ()
    try:
        cache = chosen_cache(arguments, settings)
        report = Reviewer(sweep.source(where), job.name, settings, extra, cache=cache).review(datetime.now(UTC))
        return _Judged(where, job.name, evaluate(report, rules, report.reviewed_at), report)
    except Exception as error:  # a bug met in one job must not hide the others
        told = error if isinstance(error, TrainwatchError) else fault(error, f"Judging {job.name}")
        return _Judged(where, job.name, tuple(Verdict(rule, "no data", why=str(told)) for rule in rules))


def _tell(arguments: argparse.Namespace, settings: Settings, telling: Telling, judged: Sequence[_Judged]) -> None:
    cool_down_s = seconds_of("--cool-down", arguments.cool_down)
    if telling.sinks:
        for one in judged:
            if one.report is not None:
                telling.hear(Look(one.report, one.report.reviewed_at, settings.public_url, cool_down_s), one.verdicts)


def _document(judged: Sequence[_Judged], missing: Sequence[Missing], now: datetime) -> dict[str, Any]:
    jobs = [
        {"account": one.where.account.name, "region": one.where.region}
        | alert_document(one.name, one.verdicts, one.report.reviewed_at if one.report else now)
        for one in judged
    ]
    return {"schema": 1, "evaluated_at": iso(now), "jobs": jobs, "not_read": missing_documents(missing)}


def _print(judged: Sequence[_Judged], answered: int, asked: int, paper: Paper) -> None:
    """The jobs with something to say, those that fire first; the others are counted."""
    loud = [one for one in judged if one.has("firing")]
    unsure = [one for one in judged if one.has("no data") and one not in loud]
    for one in (*loud, *unsure):
        at = one.report.reviewed_at if one.report else datetime.now(UTC)
        paper.print(Text(f"{one.where}", "dim"))
        print_verdicts(one.name, one.verdicts, at, paper)
        if one.report is None or not one.has("firing"):
            for why in dict.fromkeys(verdict.why for verdict in one.verdicts if verdict.why):
                paper.print(Text(why, "yellow"))
        paper.print()
    quiet = len(judged) - len(loud) - len(unsure)
    crossed = "crosses a threshold" if len(loud) == 1 else "cross a threshold"
    said = [f"{len(loud)} {crossed}", f"{quiet} {'does' if quiet == 1 else 'do'} not"]
    if unsure:
        said.append(f"{len(unsure)} could not be judged")
    of = f"{answered} of {asked}" if answered < asked else f"{asked}"
    jobs = count(len(judged), "job that runs or", "jobs that run or")
    paper.print(f"{jobs} ended within the hour, in {of} accounts and regions: {', '.join(said)}.")
