"""``alert --all-accounts``: a look at all running jobs of many accounts, and at those that ended within the hour.

A job that could not be reviewed, and an account that could not be read, are said; the others are judged all the same.

With ``--watch``, the looks go on until Ctrl-C. Jobs that begin are looked at from then on, those that end are judged once
their last figures are there. An account that could not be read, and a sink that takes nothing, are said once, and tried again
at each look.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from rich.text import Text

from monitor.accounts import AccountRegion
from monitor.alert.conditions import AlertRule
from monitor.alert.delivery import DeliveryResult, RuleSinks
from monitor.alert.evaluate import RuleVerdict, evaluate
from monitor.alert.ledger import SetAside
from monitor.alert.message import Message, alert_document, iso
from monitor.alert.news import AlertContext
from monitor.aws.calls import metered, side_by_side
from monitor.cli.alert_text import (
    on_watch,
    print_set_aside,
    print_verdicts,
    sentences,
    undelivered,
)
from monitor.cli.alert_watch import SHORTEST_S, is_over
from monitor.cli.options import (
    chosen_cache,
    missing_documents,
    own_patterns,
    pairs_of,
    report_missing,
    seconds_of,
    sweep_of,
)
from monitor.cli.output import Paper, as_json, as_line, deliver, paper_for, progress
from monitor.errors import TrainwatchError
from monitor.faults import fault
from monitor.fetch.source import JobQuery
from monitor.model import JobSummary, Report
from monitor.review import Reviewer
from monitor.review.across import Across, Missing
from monitor.settings import read
from monitor.terminal import lost_output, to_stderr
from monitor.words import about_usd, clock, count

# Each reads the streams of its job side by side.
_AT_ONCE = 4
_MOST = 1000
# The end of a job is told by the next look, if that comes within this time.
_ENDED_WITHIN = timedelta(hours=1)
CROSSED, NOT_DONE = 1, 3


# Names repeat: in another account, and once a job was deleted.
_Key = tuple[AccountRegion, str, datetime | None]


@dataclass(frozen=True, slots=True)
class JobVerdicts:
    """One job, and what the rules say of it."""

    where: AccountRegion
    name: str
    verdicts: tuple[RuleVerdict, ...]
    report: Report | None = None
    """None where it could not be reviewed; each verdict says why."""

    def has(self, state: str) -> bool:
        return any(verdict.state == state for verdict in self.verdicts)


class AccountsWatcher:
    """Looks at the jobs of many accounts again and again, each time reading only what is new of each."""

    def __init__(self, arguments: argparse.Namespace, rules: tuple[AlertRule, ...]) -> None:
        self.settings = read()
        self.pairs = pairs_of(arguments, self.settings)
        self.cool_down_s = seconds_of("--cool-down", arguments.cool_down)
        self._arguments, self._rules = arguments, rules
        self._sweep = sweep_of(arguments)
        self._cache = chosen_cache(arguments, self.settings)
        self._reviewers: dict[_Key, Reviewer] = {}
        self._over: set[_Key] = set()

    def check(self, now: datetime, say: Callable[[str], None]) -> tuple[list[JobVerdicts], tuple[Missing, ...]]:
        """What the rules say of each job that runs or ended within the hour, and what could not be listed. A job of which
        nothing more is to come is judged once."""
        listed = (
            self._sweep.list_jobs(self.pairs, JobQuery(status="InProgress", limit=_MOST), now, say),
            self._sweep.list_jobs(self.pairs, JobQuery(modified_after=now - _ENDED_WITHIN, limit=_MOST), now, say),
        )
        jobs = [each for each in _jobs(listed, now) if _key(*each) not in self._over]
        # Of those that are gone from the lists nothing is kept.
        self._reviewers = {key: known for job in jobs if (known := self._reviewers.get(key := _key(*job)))}
        judged: list[JobVerdicts] = []
        for one in side_by_side(lambda job: self._judge(*job), jobs, _AT_ONCE):
            judged.append(one)
            say(f"{len(judged)} of {len(jobs)} jobs judged")
        return judged, _missing(listed)

    def record(self, sinks: RuleSinks, jobs: Sequence[JobVerdicts]) -> list[Message]:
        """Writes down what is new for the sinks; what is new to be printed comes back."""
        new: list[Message] = []
        for one in jobs:
            if one.report is not None:
                settings = self.settings
                at = one.report.reviewed_at
                context = AlertContext(one.report, at, settings.public_url, self.cool_down_s, str(one.where))
                new += sinks.record(context, one.verdicts)
        return new

    def _judge(self, where: AccountRegion, job: JobSummary) -> JobVerdicts:
        key = _key(where, job)
        try:
            reviewer = self._reviewers.get(key) or self._reviewer(where, job)
            self._reviewers[key] = reviewer
            report = reviewer.review(datetime.now(UTC))
            if is_over(report, report.reviewed_at):
                self._over.add(key)
            return JobVerdicts(where, job.name, evaluate(report, self._rules, report.reviewed_at), report)
        except Exception as error:  # a bug met in one job must not hide the others
            told = error if isinstance(error, TrainwatchError) else fault(error, f"Judging {job.name}")
            return JobVerdicts(
                where, job.name, tuple(RuleVerdict(rule, "no data", why=str(told)) for rule in self._rules)
            )

    def _reviewer(self, where: AccountRegion, job: JobSummary) -> Reviewer:
        extra = own_patterns(self._arguments)
        return Reviewer(self._sweep.source(where), job.name, self.settings, extra, cache=self._cache)


def run(arguments: argparse.Namespace, rules: tuple[AlertRule, ...], sinks: RuleSinks) -> int:
    """Judges, prints and tells; 1 where a rule fires, else 3 where something could not be judged."""
    now, watcher = datetime.now(UTC), AccountsWatcher(arguments, rules)
    pairs = watcher.pairs
    with progress(arguments, "listing jobs") as say:
        judged, missing = watcher.check(now, say)
    if sinks.sinks:
        watcher.record(sinks, judged)
    outcomes, asides = sinks.deliver(), sinks.set_aside()
    if arguments.format == "json":
        deliver(arguments, as_json(_document(judged, missing, now) | undelivered(outcomes, asides)))
    else:
        paper = paper_for(arguments)
        _print(judged, len(pairs) - len(missing), len(pairs), paper)
        print_set_aside(asides, sinks.ledger, paper)
        deliver(arguments, paper)
    for sentence in sentences(sinks, outcomes, set()):
        to_stderr(sentence)
    report_missing(missing, len(pairs))
    if any(one.has("firing") for one in judged):
        return CROSSED
    unknown = missing or sinks.trouble or any(one.has("no data") for one in judged)
    return NOT_DONE if unknown else 0


def _jobs(listed: Sequence[Across], now: datetime) -> list[tuple[AccountRegion, JobSummary]]:
    found = {(row.where, row.job.name): row.job for look in listed for row in look.rows}
    return [(where, job) for (where, _), job in found.items() if job.ended is None or now - job.ended <= _ENDED_WITHIN]


def _missing(listed: Sequence[Across]) -> tuple[Missing, ...]:
    return tuple({one.where: one for look in listed for one in look.missing}.values())


def _key(where: AccountRegion, job: JobSummary) -> _Key:
    return where, job.name, job.created


def _document(jobs_verdicts: Sequence[JobVerdicts], missing: Sequence[Missing], now: datetime) -> dict[str, Any]:
    jobs = [
        {"account": one.where.account.name, "region": one.where.region}
        | alert_document(one.name, one.verdicts, one.report.reviewed_at if one.report else now)
        for one in jobs_verdicts
    ]
    return {"schema": 1, "evaluated_at": iso(now), "jobs": jobs, "not_read": missing_documents(missing)}


def _print(jobs: Sequence[JobVerdicts], answered: int, pairs: int, paper: Paper) -> None:
    """The jobs with something to say, those that fire first; the others are counted."""
    loud = [one for one in jobs if one.has("firing")]
    unsure = [one for one in jobs if one.has("no data") and one not in loud]
    for one in (*loud, *unsure):
        at = one.report.reviewed_at if one.report else datetime.now(UTC)
        paper.print(Text(f"{one.where}", "dim"))
        print_verdicts(one.name, one.verdicts, at, paper)
        if one.report is None or not one.has("firing"):
            for why in dict.fromkeys(verdict.why for verdict in one.verdicts if verdict.why):
                paper.print(Text(why, "yellow"))
        paper.print()
    paper.print(f"{summary(jobs, answered, pairs)}.")


def summary(jobs: Sequence[JobVerdicts], answered: int, pairs: int) -> str:
    """How many jobs were looked at where, and how many of them cross a threshold."""
    loud = sum(one.has("firing") for one in jobs)
    unsure = sum(one.has("no data") and not one.has("firing") for one in jobs)
    quiet = len(jobs) - loud - unsure
    crossed = "crosses a threshold" if loud == 1 else "cross a threshold"
    said = [f"{loud} {crossed}", f"{quiet} {'does' if quiet == 1 else 'do'} not"]
    if unsure:
        said.append(f"{unsure} could not be judged")
    of = f"{answered} of {pairs}" if answered < pairs else f"{pairs}"
    looked_at = count(len(jobs), "job that runs or", "jobs that run or")
    return f"{looked_at} ended within the hour, in {of} accounts and regions: {', '.join(said)}"


Now = Callable[[], datetime]
Sleep = Callable[[float], None]


@dataclass
class _Seen:
    """What a watch has seen so far."""

    judged: list[JobVerdicts]
    missing: tuple[Missing, ...]
    at: datetime
    fired: int = 0
    """Messages of thresholds that were crossed, printed or sent."""
    messages: list[Message] = field(default_factory=list)
    outcomes: tuple[DeliveryResult, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    calls: int = 0
    usd: float = 0.0


def run_watch_across(
    arguments: argparse.Namespace,
    rules: tuple[AlertRule, ...],
    sinks: RuleSinks,
    sleep: Sleep = time.sleep,
    now: Now = lambda: datetime.now(UTC),
) -> int:
    """Watches until nobody reads it any more; 1 where a threshold was crossed. 3 where no account at all can be read first."""
    interval_s = max(SHORTEST_S, seconds_of("--interval", arguments.interval))
    watcher = AccountsWatcher(arguments, rules)
    seen: _Seen | None = None
    told: set[str] = set()
    named: set[str] = set()
    try:
        with metered() as tally, on_watch(arguments.format) as show:
            while True:
                if seen is None:
                    with progress(arguments, "listing jobs") as say:
                        judged, missing = watcher.check(now(), say)
                    if len(missing) == len(watcher.pairs):
                        report_missing(missing, len(watcher.pairs))
                        return NOT_DONE
                else:
                    judged, missing = watcher.check(now(), lambda text: None)
                before = seen or _Seen([], (), now())
                new = watcher.record(sinks, judged)
                bill = tally.bill()
                seen = _Seen(
                    judged,
                    missing,
                    now(),
                    before.fired + sum(message.kind == "firing" for message in new),
                    [*before.messages, *new],
                    sinks.deliver(),
                    sinks.set_aside(),
                    sum(bill.calls.values()),
                    bill.estimated_usd,
                )
                _complain(seen, sinks, named, told)
                for message in new:
                    show(message)
                show(partial(_drawn, seen, watcher))
                # What it would say from now on reaches nobody; sinks are told to the end.
                if lost_output() is not None and not sinks.sinks:
                    break
                sleep(interval_s)
    except KeyboardInterrupt:
        if seen is not None:
            _summary(arguments, watcher, seen, sinks)
        raise
    _summary(arguments, watcher, seen, sinks)
    return CROSSED if seen.fired else 0


def _complain(seen: _Seen, sinks: RuleSinks, named: set[str], known_troubles: set[str]) -> None:
    """What went wrong in this look, each once as long as it goes on."""
    missing = {f"{one.where}: {one.error}" for one in seen.missing}
    unknown = {f"{one.name} of {one.where}: {one.verdicts[0].why}" for one in seen.judged if one.report is None}
    for sentence in sorted((missing | unknown) - named):
        to_stderr(sentence)
    named.intersection_update(missing | unknown)
    named |= missing | unknown
    for sentence in sentences(sinks, seen.outcomes, known_troubles):
        to_stderr(sentence)


def _drawn(seen: _Seen, watcher: AccountsWatcher, width: int) -> Text:
    return Text(f"{_heading(seen, watcher)} Ctrl-C ends it.", "dim")


def _heading(seen: _Seen, watcher: AccountsWatcher) -> str:
    asked = len(watcher.pairs)
    said = summary(seen.judged, asked - len(seen.missing), asked)
    return f"{said}; as of {clock(seen.at)}, {count(seen.calls, 'AWS call')}, {about_usd(seen.usd)}."


def _summary(arguments: argparse.Namespace, watcher: AccountsWatcher, seen: _Seen, sinks: RuleSinks) -> None:
    """What was said in all."""
    if arguments.format == "json":
        document = {
            "type": "summary",
            "jobs": len(seen.judged),
            "alerts": [each.document() for each in seen.messages],
            "not_read": [str(one.where) for one in seen.missing],
            "calls": seen.calls,
            "usd": seen.usd,
            **undelivered(seen.outcomes, seen.set_aside),
        }
        if arguments.output is None:
            print(as_line(document), flush=True)
        else:
            deliver(arguments, as_json(document))
        return
    paper = paper_for(arguments)
    paper.print()
    paper.print(Text(f"Watch stopped. {_heading(seen, watcher)}", "bold"))
    paper.print(Text(f"{count(seen.fired, 'alert')}." if seen.fired else "No alert."))
    print_set_aside(seen.set_aside, sinks.ledger, paper)
    deliver(arguments, paper)
