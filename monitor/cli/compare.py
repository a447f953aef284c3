"""``compare``: jobs side by side: what differs, step times with an interval, faster / slower / cannot tell, and what was
predicted."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache

from monitor.archive.comparison import PredictionRecord, comparison_document, record, user_pairs
from monitor.aws.calls import metered
from monitor.cli.options import account_source, chosen_cache, own_patterns, source_of
from monitor.cli.output import as_json, deliver, draw, paper_for, progress, report_damage
from monitor.diagnose.comparison.compare import compare, pairs_of
from monitor.errors import BadCall
from monitor.export.layout import comparison_markdown, comparison_tree
from monitor.model import Pair, Report
from monitor.review import Progress, Reviewer
from monitor.review.archived import Source
from monitor.settings import read
from monitor.terminal import to_stderr


def run(arguments: argparse.Namespace) -> int:
    """Prints the comparison."""
    if len(arguments.jobs) < 2:
        named = f"One job was named ({arguments.jobs[0]})." if arguments.jobs else "No job was named."
        raise BadCall(f"{named} compare takes two or more.", "Give a second one: compare A B.")
    now = datetime.now(UTC)
    with progress(arguments) as say, metered():
        reports = _reports(arguments, now, say)
    report_damage(*reports)
    comparison = compare(reports)
    earlier = _with_pairs_kept(arguments, pairs_of(comparison, now))
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


def _with_pairs_kept(arguments: argparse.Namespace, pairs: Sequence[Pair]) -> PredictionRecord | None:
    """Keeps the new pairs; how predictions did on the others. None where there is no place for them."""
    store = user_pairs()
    if store is None:
        return None
    earlier = record(store.all(), pairs)
    if not arguments.no_keep:
        for pair in pairs:
            if not store.keep(pair):
                to_stderr(f"the pair is not saved: {store.path} cannot be written.")
    return earlier
