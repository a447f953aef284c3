"""``alert``: does a job cross its thresholds? Exit code 0 no, 1 yes, 3 where that could not be found out."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

from monitor.alert.conditions import Rule
from monitor.alert.document import alert_document
from monitor.alert.evaluate import evaluate
from monitor.alert.given import rules_of
from monitor.alert.rules_file import read_rules
from monitor.alert.saved import saved
from monitor.alert.verdict import Verdict
from monitor.cli.alert_backtest import run_backtest
from monitor.cli.alert_text import print_verdicts
from monitor.cli.output import add_output_options, as_json, console, deliver, progress
from monitor.cli.sources import add_job_options, chosen_cache, job_source
from monitor.errors import BadCall, TrainwatchError
from monitor.parse.user import step_pattern
from monitor.review import Reviewer
from monitor.settings import read

CROSSED, NOT_KNOWN = 1, 3


def add_to(commands: Any) -> None:
    """Adds the command's grammar."""
    command = commands.add_parser("alert", help="evaluate thresholds on one job", description=__doc__)
    add_job_options(command)
    asked = command.add_argument_group("thresholds")
    asked.add_argument(
        "--when",
        action="append",
        default=[],
        metavar="EXPR",
        help='such as "gpu_utilization < 40 for 10m", "step_time > 1.3x for 20 steps on any", "finding stall"; '
        "may be given several times",
    )
    asked.add_argument("--rules", metavar="FILE", help="a rules file (TOML); see docs/alerts.md")
    command.add_argument("more", nargs="*", metavar="JOB", help="further jobs, with --backtest")
    asked.add_argument(
        "--backtest",
        action="store_true",
        help="what the rules would have said over jobs that are over: when, how long before the end, what came after",
    )
    add_output_options(command, ("text", "json"))
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Evaluates, prints, and tells by the exit code."""
    rules = asked_rules(arguments)
    if arguments.backtest:
        return run_backtest(arguments, rules)
    if arguments.more:
        raise BadCall(f"{1 + len(arguments.more)} jobs were named.", "Name one; several go with --backtest.")
    try:
        name, now, verdicts = judged(arguments, rules)
    except BadCall:
        raise
    except TrainwatchError as error:
        if arguments.format == "json":
            nothing = [Verdict(rule, "no data", why=str(error)) for rule in rules]
            deliver(arguments, as_json(alert_document(arguments.job or "", nothing, datetime.now(UTC))))
        raise
    if arguments.format == "json":
        deliver(arguments, as_json(alert_document(name, verdicts, now)))
    else:
        out = StringIO()
        print_verdicts(name, verdicts, now, console(arguments, out))
        deliver(arguments, out.getvalue())
    return exit_code(verdicts)


def asked_rules(arguments: argparse.Namespace) -> tuple[Rule, ...]:
    """The rules of the call: those of the file and of each --when, else the saved ones."""
    rules = read_rules(Path(arguments.rules)) if arguments.rules else ()
    rules += rules_of(arguments.when, [rule.name for rule in rules])
    rules = rules or saved()
    if not rules:
        raise BadCall(
            "No threshold was given, and none is saved.",
            'Give one with --when, such as --when "gpu_utilization < 40 for 10m", a file with --rules, or save one with '
            "thresholds add.",
        )
    return rules


def judged(arguments: argparse.Namespace, rules: tuple[Rule, ...]) -> tuple[str, datetime, tuple[Verdict, ...]]:
    """(the job's name, as of when, the verdicts)."""
    extra = (step_pattern(arguments.step_regex),) if arguments.step_regex else ()
    source, name = job_source(arguments)
    settings = read()
    with progress(arguments) as say:
        reviewer = Reviewer(source, name, settings, extra, cache=chosen_cache(arguments, settings))
        now = datetime.now(UTC)
        report = reviewer.review(now, say)
        return report.job.name, now, evaluate(report, rules, now)


def exit_code(verdicts: tuple[Verdict, ...]) -> int:
    """1 where a rule fires, else 3 where one could not be evaluated (told on standard error), else 0."""
    if any(verdict.state == "firing" for verdict in verdicts):
        return CROSSED
    unknown = [verdict for verdict in verdicts if verdict.state == "no data"]
    if not unknown:
        return 0
    more = f" ({len(unknown) - 1} more rules have no data either)" if len(unknown) > 1 else ""
    print(f"trainwatch: {unknown[0].rule.name} could not be evaluated{more}: {unknown[0].why}", file=sys.stderr)
    return NOT_KNOWN
