"""``compare``: jobs side by side: what differs, step times with an interval, faster / slower / cannot tell, and what was
predicted."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache

from rich.console import Console
from rich.text import Text

from monitor.archive.comparison import Record, comparison_document, record, record_line, user_pairs
from monitor.aws.calls import metered
from monitor.cli.options import account_source, chosen_cache, own_patterns, source_of
from monitor.cli.output import Column, as_json, deliver, paper_for, progress, table, tell_damage, titled
from monitor.diagnose.comparison.compare import Comparison, compare, pairs_of
from monitor.diagnose.comparison.rows import difference_rows, figure_rows, heading, prediction_lines, verdict_lines
from monitor.diagnose.headline import about
from monitor.errors import BadCall
from monitor.export.comparison import markdown
from monitor.model import Pair, Report
from monitor.review import Progress, Reviewer
from monitor.review.archived import Source
from monitor.settings import read


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
        deliver(arguments, markdown(comparison, earlier))
    else:
        paper = paper_for(arguments)
        print_comparison(comparison, earlier, paper)
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


_STYLE = {"faster": "bold green", "slower": "bold red", "cannot tell": "bold yellow", "not comparable": "bold yellow"}
_DIFFERENCES_SHOWN = 30


def print_comparison(comparison: Comparison, earlier: Record | None, paper: Console) -> None:
    for verdict, result in zip(verdict_lines(comparison), comparison.against, strict=True):
        paper.print(Text(verdict, _STYLE[result.answer]))
    paper.print()
    for place, report in enumerate(comparison.reports):
        paper.print(Text(heading(comparison, place), "bold"))
        paper.print(Text("   " + about(report)))
    titled("What differs", paper)
    rows = difference_rows(comparison)
    names = comparison.letters
    if rows:
        _table(("PARAMETER", *names), rows[:_DIFFERENCES_SHOWN], False, paper)
        if len(rows) > _DIFFERENCES_SHOWN:
            paper.print(f"{len(rows) - _DIFFERENCES_SHOWN} more; --format json has all.", style="dim")
    else:
        paper.print("Nothing in the known configuration.")
    titled("Side by side", paper)
    _table(("", *names), figure_rows(comparison), True, paper)
    for note in comparison.notes:
        paper.print(Text(note, "dim"))
    if predicted := prediction_lines(comparison):
        titled("Predicted and measured", paper)
        for sentence in predicted:
            paper.print(Text(sentence))
    if line := record_line(earlier):
        paper.print()
        paper.print(Text(line))


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]], right: bool, paper: Console) -> None:
    columns = [Column(title, right=right and place > 0, wraps=place > 0) for place, title in enumerate(titles)]
    paper.print(table(columns, rows, paper.width, head="dim"))
