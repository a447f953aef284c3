"""``alert --watch``: looks at a job again and again until it has ended, says what is new, and ends with a summary."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from rich.console import Group
from rich.text import Text

from monitor.alert.conditions import AlertRule
from monitor.alert.delivery import DeliveryResult, RuleSinks
from monitor.alert.evaluate import RuleVerdict, evaluate
from monitor.alert.ledger import Ledger, SetAside, durable
from monitor.alert.message import Message, alert_document
from monitor.alert.news import AlertContext
from monitor.analyze.utilization import LEFT_OUT_AT_END
from monitor.cli.alert_text import (
    Show,
    on_watch,
    print_set_aside,
    print_verdicts,
    sentences,
    undelivered,
    verdict_table,
)
from monitor.cli.options import seconds_of
from monitor.cli.output import as_json, as_line, deliver, paper_for, progress
from monitor.diagnose.headline import status_word
from monitor.errors import BadCall, TrainwatchError
from monitor.fetch.source import JobSource
from monitor.model import Report
from monitor.terminal import lost_output, to_stderr
from monitor.words import clock, count, duration

SHORTEST_S = 1.0


@dataclass
class _Seen:
    """What a watch has seen so far."""

    report: Report
    verdicts: tuple[RuleVerdict, ...]
    at: datetime
    messages: list[Message] = field(default_factory=list)
    outcomes: tuple[DeliveryResult, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    troubles: set[str] = field(default_factory=set)
    """Troubles of the sinks that go on."""


def run_watch(
    arguments: argparse.Namespace,
    rules: Sequence[AlertRule],
    sinks: RuleSinks,
    check: JobCheck,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> tuple[tuple[RuleVerdict, ...], bool]:
    """Watches, and prints the summary. (the last verdicts, whether anything was said)."""
    pace = (max(SHORTEST_S, seconds_of("--interval", arguments.interval)), sleep, now)
    cool_down_s = seconds_of("--cool-down", arguments.cool_down)
    seen: _Seen | None = None
    not_published: set[str] = set()
    unheard = False
    try:
        with on_watch(arguments.format) as show:
            for report, at, trouble in _checks(arguments, check.review_at, pace):
                if report is None:
                    if seen is not None:
                        show(partial(_drawn, seen, trouble))
                    continue
                before = (seen.messages, seen.outcomes, seen.set_aside, seen.troubles) if seen else ()
                seen = _Seen(report, evaluate(report, rules, at), at, *before)
                _report_news(sinks, AlertContext(report, at, check.public_url, cool_down_s), seen, show)
                if trouble := check.publish(report, at):
                    _trouble(trouble, not_published)
                # What it would say from now on reaches nobody; sinks are told to the end.
                if unheard := lost_output() is not None and not sinks.sinks:
                    break
    except KeyboardInterrupt:
        if seen is not None:
            _summary(arguments, seen, sinks.ledger, stopped=True)
        raise
    assert seen is not None, "the first look brings a report or an error"
    _summary(arguments, seen, sinks.ledger, stopped=unheard)
    return seen.verdicts, any(message.kind == "firing" for message in seen.messages)


def _checks(
    arguments: argparse.Namespace,
    review_at: ReviewAt,
    pace: tuple[float, Callable[[float], None], Callable[[], datetime]],
) -> Iterator[tuple[Report | None, datetime, str]]:
    """(report, as of when, or what was in the way) until the job has ended; an error where nothing was ever seen."""
    interval_s, sleep, now = pace
    report: Report | None = None
    troubles: set[str] = set()
    while True:
        at = now()
        try:
            if report is None:
                with progress(arguments) as say:
                    report = review_at(at, say)
            else:
                report = review_at(at, lambda text: None)
        except TrainwatchError as error:
            if report is None or isinstance(error, BadCall):
                raise
            _trouble(str(error), troubles)
            yield None, at, str(error)
        else:
            troubles.clear()
            # An archived job is as it was then.
            yield report, report.reviewed_at if report.archive else at, ""
            if is_over(report, at):
                return
        sleep(interval_s)


def _report_news(sinks: RuleSinks, context: AlertContext, seen: _Seen, show: Show) -> None:
    """Says what is new in a look, here and to the sinks."""
    new = sinks.record(context, seen.verdicts)
    seen.messages.extend(new)
    for message in new:
        show(message)
    seen.outcomes, seen.set_aside = sinks.deliver(), sinks.set_aside()
    for sentence in sentences(sinks, seen.outcomes, seen.troubles):
        to_stderr(sentence)
    show(partial(_drawn, seen, ""))


def is_over(report: Report, now: datetime) -> bool:
    """Nothing more is to come: the job had ended long enough ago for its last figures."""
    job = report.job
    if report.archive:
        return True
    return not job.is_running and (job.ended is None or now - job.ended >= LEFT_OUT_AT_END)


def _trouble(sentence: str, known_troubles: set[str]) -> None:
    if sentence not in known_troubles:
        known_troubles.add(sentence)
        to_stderr(sentence)


def _drawn(seen: _Seen, trouble: str, width: int) -> Group:
    return Group(_heading(seen, trouble), verdict_table(seen.verdicts, width))


def _heading(seen: _Seen, trouble: str) -> Text:
    job = seen.report.job
    step = seen.report.steps
    done = "" if step is None or step.done is None else f" · step {step.done:,}"
    of = f" of {step.total:,}" if step is not None and step.done is not None and step.total else ""
    line = Text.assemble((job.name, "bold"), f" · {status_word(job.status)}{done}{of} · as of {clock(seen.at)}")
    if trouble:
        line.append(f"\n{trouble}", "yellow")
    return line


def _summary(arguments: argparse.Namespace, seen: _Seen, ledger: Path | None, stopped: bool = False) -> None:
    """What was said in all, and how the rules stand at the end."""
    job = seen.report.job
    left = undelivered(seen.outcomes, seen.set_aside)
    waiting = left["not_sent"]
    if arguments.format == "json":
        document = alert_document(job.name, seen.verdicts, seen.at)
        document |= {"status": job.status, "alerts": [each.document() for each in seen.messages], **left}
        if arguments.output is None:
            print(as_line({"type": "summary", **document}), flush=True)
        else:
            deliver(arguments, as_json(document))
        return
    paper = paper_for(arguments)
    paper.print()
    paper.print(Text(_how_it_ended(seen, stopped), "bold"))
    fired = [message for message in seen.messages if message.kind == "firing"]
    paper.print(Text(f"{count(len(fired), 'alert')}." if fired else "No alert."))
    for message in fired:
        over = next((each for each in seen.messages if each.kind != "firing" and _same(each, message)), None)
        end = "" if over is None else f", {over.kind} {clock(datetime.fromisoformat(over.at))}"
        paper.print(Text(f"  {clock(datetime.fromisoformat(message.at))}  {message.title}{end}"))
    if waiting:
        paper.print(
            Text(
                f"{count(waiting, 'message')} not sent yet; the next alert call with the same sinks tries again.",
                "yellow",
            )
        )
    print_set_aside(seen.set_aside, ledger, paper)
    paper.print()
    print_verdicts(job.name, seen.verdicts, seen.at, paper)
    deliver(arguments, paper)


def _how_it_ended(seen: _Seen, stopped: bool) -> str:
    job = seen.report.job
    ran = "" if job.started is None else duration(((job.ended or seen.at) - job.started).total_seconds())
    if stopped and job.is_running:
        return f"Watch stopped; the job is still running{f' ({ran} so far)' if ran else ''}."
    return f"The job has ended: {status_word(job.status)}{f' after {ran}' if ran else ''}."


def _same(over: Message, firing: Message) -> bool:
    alike = (over.rule, over.node, over.finding) == (firing.rule, firing.node, firing.finding)
    return alike and over.at >= firing.at


ReviewAt = Callable[[datetime, Callable[[str], None]], Report]


@dataclass(frozen=True, slots=True)
class JobCheck:
    """What a look at a job consists of."""

    review_at: ReviewAt
    public_url: str = ""
    """Of the dashboard."""
    publish: Callable[[Report, datetime], str] = lambda report, now: ""
    """Done with each report; gives what was in the way, or nothing."""


def publisher(source: JobSource, path: Path | None) -> Callable[[Report, datetime], str]:
    """Puts what is new of a report's step times into CloudWatch. BadCall for jobs of no account."""
    # Imported late: log files need no AWS.
    from monitor.alert.alarms.plan import publish

    if (clients := source.clients) is None:
        raise BadCall("--publish puts metrics into a job's account, and this job has none.", "Leave it out.")
    ledger = Ledger(durable(path))
    for sentence in ledger.damage():
        to_stderr(sentence)

    def published(report: Report, now: datetime) -> str:
        try:
            publish(clients, ledger, report, now)
        except TrainwatchError as error:
            return f"Step times were not published: {error}"
        return ""

    return published
