"""``python -m benchmarks.planted``: plants faults, reviews them and healthy jobs, prints the confusion table."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.planted.catalogue import FAULTS, TWINS, Ticket, scenario, tickets
from benchmarks.planted.docs import write
from benchmarks.planted.dump import dump
from benchmarks.planted.measure import judged
from benchmarks.planted.table import Row, misses, passed, rows


def main(arguments: Sequence[str]) -> int:
    """0 where both goals are met, 1 where not; with --dump always 0."""
    given = _parser().parse_args(arguments)
    chosen = list(tickets(given.seeds, given.healthy))
    if given.only:
        unknown = [
            name for name in given.only if name not in FAULTS | TWINS and name != "healthy" and not _is_name(name)
        ]
        if unknown:
            print(f"there is no {', '.join(unknown)}; there are: healthy, {', '.join(FAULTS | TWINS)}", file=sys.stderr)
            return 2
        chosen = [t for t in chosen if (t.planted or "healthy") in given.only]
        chosen += [_ticket(name) for name in given.only if _is_name(name)]
    if given.dump:
        for ticket in chosen:
            print(dump(scenario(ticket), given.dump))
        return 0
    verdicts = judged(chosen)
    table = rows(verdicts)
    _print(table)
    if given.misses:
        print()
        _print(misses(verdicts))
    if given.write_docs:
        write(table, given.write_docs)
    faults = [verdict for verdict in verdicts if verdict.truth.planted]
    return 0 if passed(faults, [verdict for verdict in verdicts if not verdict.truth.planted]) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planted", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="ID", help="these faults, healthy, or single jobs such as stall-3")
    parser.add_argument("--seeds", type=int, default=int(os.environ.get("PLANTED_SEEDS", "12")), help="jobs of a fault")
    parser.add_argument(
        "--healthy", type=int, default=int(os.environ.get("PLANTED_HEALTHY", "500")), help="healthy jobs"
    )
    parser.add_argument("--misses", action="store_true", help="also each job of which something else was said")
    parser.add_argument(
        "--dump", type=Path, metavar="FOLDER", help="write the jobs as files in place of reviewing them"
    )
    parser.add_argument(
        "--write-docs",
        type=Path,
        nargs="?",
        const=Path("docs/diagnosis.md"),
        metavar="FILE",
        help="put the table into the generated part of the page (docs/diagnosis.md)",
    )
    return parser


def _is_name(name: str) -> bool:
    front, _, number = name.rpartition("-")
    return number.isdecimal() and (front in FAULTS | TWINS or front == "healthy")


def _ticket(name: str) -> Ticket:
    front, _, number = name.rpartition("-")
    return Ticket(None if front == "healthy" else front, int(number))


def _print(table: Sequence[Row]) -> None:
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
