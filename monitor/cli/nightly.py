"""``nightly``: what cron runs once a night. New jobs are archived, rules judge them, the week's report goes out on Mondays."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from monitor.alert.delivery import checked
from monitor.alert.ledger import durable, ledger_file
from monitor.alert.rules import read_rules, saved
from monitor.archive.store import store_of
from monitor.cli.options import account_source, checked_limit, is_many, pairs_of, sweep_of
from monitor.cli.output import Paper, as_json, deliver, paper_for, progress
from monitor.errors import CannotDo
from monitor.fetch.source import job_query
from monitor.review.nightly import Night, NightlyFolder, NightlyPlan, night
from monitor.settings import archive_root, no_home, read, user_folder
from monitor.terminal import to_stderr
from monitor.words import about_usd, count, duration


def run(arguments: argparse.Namespace) -> int:
    """Does a night's work, and says what became of it."""
    plan = plan_of(arguments)
    with progress(arguments, "looking for new jobs") as say:
        done = night(plan, lambda: datetime.now(UTC), say)
    for trouble in done.troubles:
        to_stderr(trouble)
    if done.killed_before:
        print(
            f"trainwatch: the night that began {done.killed_before} was not finished; this one took it up.",
            file=sys.stderr,
        )
    deliver(
        arguments,
        as_json({"schema": 1, **done.document()}) if arguments.format == "json" else _text(arguments, plan, done),
    )
    return CannotDo.exit_code if done.troubles else 0


def plan_of(arguments: argparse.Namespace) -> NightlyPlan:
    """What is to be done. BadCall where the call or a file of it cannot be used: told before any work."""
    settings = read()
    many, sweep = is_many(arguments), sweep_of(arguments)
    # Of several accounts none is that of the archive: the call's own credentials write it.
    store = store_of(arguments.archive or archive_root(settings), None if many else arguments.region, arguments.profile)
    state = user_folder("STATE")
    if state is None:
        raise no_home("the state of nightly", "STATE")
    sinks = checked(arguments.notify, "What a night does is printed anyway.")
    rules = read_rules(Path(arguments.rules)) if arguments.rules else saved()
    now = datetime.now(UTC)
    first = job_query(None, None, arguments.first, now, 1).created_after
    return NightlyPlan(
        open=lambda where: account_source(arguments) if where is None else sweep.source(where),
        store=store,
        settings=settings,
        folder=NightlyFolder(state, store.label),
        ledger=durable(Path(arguments.ledger) if arguments.ledger else ledger_file()),
        # Nobody reads a terminal at night: a rule without a sink of its own is told to those of the call.
        rules=rules if sinks or any(rule.notify for rule in rules) else (),
        notify=sinks,
        by=arguments.by,
        first=now - first if first else timedelta(days=14),
        max_usd=checked_limit(arguments),
        places=pairs_of(arguments, settings) if many else (None,),
    )


def _accounts_text(plan: NightlyPlan, done: Night) -> str:
    return f" from {done.places} of {len(plan.places)} accounts and regions" if len(plan.places) > 1 else ""


def _text(arguments: argparse.Namespace, plan: NightlyPlan, done: Night) -> Paper:
    paper = paper_for(arguments)
    paper.print(
        f"{count(done.archived, 'job')} archived, {done.unchanged:,} unchanged{_accounts_text(plan, done)}: {plan.store.label}",
        soft_wrap=True,
    )
    if plan.rules:
        paper.print(
            f"{count(done.judged, 'job')} judged by {count(len(plan.rules), 'rule')}: {count(done.alerts, 'alert')}."
        )
    if done.reports:
        paper.print(f"Reported: {', '.join(done.reports)}{'' if plan.notify else ' (to nobody: no --notify)'}.")
    if done.sent:
        paper.print(f"{count(done.sent, 'message')} sent.")
    paper.print(
        f"{duration(done.seconds)}, {count(done.calls, 'AWS call')}, {about_usd(done.usd)}. Log: {plan.folder.log}",
        style="dim",
        soft_wrap=True,
    )
    return paper
