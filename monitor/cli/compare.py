"""``compare``: jobs side by side: what differs, step times with an interval, faster / slower / cannot tell, and what was
predicted."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

from monitor.archive.comparison import Record, comparison_document, record, user_pairs
from monitor.aws.calls import metered
from monitor.cli.options import (
    account_source,
    add_account_options,
    add_cache_option,
    add_command,
    chosen_cache,
    own_patterns,
    source_of,
)
from monitor.cli.output import add_output_options, as_json, deliver, draw, paper_for, progress, tell_damage
from monitor.diagnose.comparison.compare import compare, pairs_of
from monitor.errors import BadCall
from monitor.export.layout import comparison_markdown, comparison_tree
from monitor.model import Pair, Report
from monitor.review import Progress, Reviewer
from monitor.review.archived import Source
from monitor.settings import read


def add_to(commands: Any) -> None:
    command = add_command(
        commands,
        "compare",
        "jobs side by side, the first is the baseline",
        "Compares jobs with the first one: which takes less time for the same work and how certain that is, what "
        "differs in the configuration, and whether a prediction held. Where the work of a step is unknown or of a "
        "different kind, it says so and what would help.",
        (
            "compare my-run-1 my-run-2",
            "compare my-run-1 my-run-2 my-run-3 --format markdown",
            "compare logs:./before logs:./after --format json",
        ),
    )
    command.add_argument(
        "jobs", nargs="*", metavar="JOB", help="two or more: training job name, logs:PATH or archive:PATH"
    )
    command.add_argument(
        "--step-regex", metavar="REGEX", help="a pattern for the step lines of all these jobs, as for report"
    )
    command.add_argument(
        "--no-keep",
        action="store_true",
        help="do not keep predicted and measured change in $XDG_DATA_HOME/trainwatch/pairs.jsonl",
    )
    add_cache_option(command)
    add_account_options(command)
    add_output_options(command, ("text", "json", "markdown"))
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the comparison."""
    if len(arguments.jobs) < 2:
        named = f"One job was named ({arguments.jobs[0]})." if arguments.jobs else "No job was named."
        raise BadCall(f"{named} compare takes two or more.", "Give a second one: compare A B.")
    now = datetime.now(UTC)
    with progress(arguments) as say, metered():
        reports = _reports(arguments, now, say)
    tell_damage(*reports)
    comparison = compare(reports)
    earlier = _kept(arguments, pairs_of(comparison, now))
    if arguments.format == "json":
        deliver(arguments, as_json(comparison_document(comparison, earlier)))
    elif arguments.format == "markdown":
        deliver(arguments, comparison_markdown(comparison, earlier))
    else:
        paper = paper_for(arguments)
        draw(comparison_tree(comparison, earlier), paper)
        deliver(arguments, paper)
    return 0


def _reports(arguments: argparse.Namespace, now: datetime, say: Progress) -> list[Report]:
    """Each job reviewed; one that is named twice is read once."""
    extra = own_patterns(arguments)
    settings = read()
    kept = chosen_cache(arguments, settings)

    @cache
    def account() -> Source:
        return account_source(arguments)

    @cache
    def reviewed(job: str) -> Report:
        source, name = source_of(job, arguments, account)
        return Reviewer(source, name, settings, extra, cache=kept).review(now, lambda text: say(f"{name}: {text}"))

    return [reviewed(job) for job in arguments.jobs]


def _kept(arguments: argparse.Namespace, pairs: Sequence[Pair]) -> Record | None:
    """Keeps the new pairs; how predictions did on the others. None where there is no place for them."""
    store = user_pairs()
    if store is None:
        return None
    earlier = record(store.all(), pairs)
    if not arguments.no_keep:
        for pair in pairs:
            if not store.keep(pair):
                print(f"trainwatch: the pair is not saved: {store.path} cannot be written.", file=sys.stderr)
    return earlier
