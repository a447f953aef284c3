"""Does reading a job newest first end in the report that reading it from its head gives, with no error on the way?

All jobs of the demo, BOTH_WAYS_SEEDS jobs of each planted fault (1), BOTH_WAYS_HEALTHY healthy ones (10) and
BOTH_WAYS_RANDOM random accounts of 2 to 256 nodes and 100 to 500,000 lines (30); a running one at three looks in a row.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from benchmarks.account import running
from benchmarks.planted.catalogue import Ticket, scenario, tickets
from benchmarks.reading.accounts import account
from benchmarks.reading.served import Served, account_of, of_scenario, of_story
from benchmarks.reading.ways import EVERY_PAGE, Outcome, both_ways, pictured
from monitor.demo.stories import STORIES
from monitor.review import ReportPace

Row = tuple[str, ...]
_NOW = datetime(2026, 11, 18, 12, 34, 56, tzinfo=UTC)
_LOOKS = (timedelta(minutes=6), timedelta(minutes=2), timedelta())
# About so many pages a job, and where its streams are more than that, reports take half of the time.
_PAGES = 24
_failed: list[str] = []


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Which job: of the demo, of a ticket, or a random one."""

    kind: str
    number: int
    ticket: Ticket | None = None

    def served(self) -> Served:
        if self.ticket is not None:
            return of_scenario(scenario(self.ticket))
        return of_story(STORIES[self.number], _NOW) if self.kind == "demo" else account(self.number)


def rows() -> list[Row]:
    """A line a job that is large or in trouble, and the sums."""
    _failed.clear()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(_one, chosen := list(_chosen())))
    _failed.extend(trouble for _, outcome, _ in found for trouble in outcome.troubles)
    table: list[Row] = [("jobs", "streams", "lines", "reports on the way", "seconds", "in trouble")]
    for kind in dict.fromkeys(each.kind for each in chosen):
        of_kind = [one for each, one in zip(chosen, found, strict=True) if each.kind == kind]
        table.append((f"{len(of_kind)} {kind}", *_sums(of_kind)))
    table += [
        (f"  {outcome.name}", *_sums([(streams, outcome, seconds)]))
        for streams, outcome, seconds in found
        if outcome.lines >= 100_000 or outcome.troubles
    ]
    return table


def failures() -> list[str]:
    """What broke or differed in the last run."""
    return list(_failed)


def _chosen() -> Iterator[_Chosen]:
    seeds, healthy, drawn = (
        int(os.environ.get(f"BOTH_WAYS_{name}", default))
        for name, default in (("SEEDS", "1"), ("HEALTHY", "10"), ("RANDOM", "30"))
    )
    # The largest first, so that no core waits for one of them in the end.
    yield from (_Chosen("random", number) for number in range(drawn))
    yield from (_Chosen("demo", number) for number in range(len(STORIES)))
    yield from (
        _Chosen("healthy" if ticket.planted is None else "planted", ticket.number, ticket)
        for ticket in tickets(seeds, healthy)
    )


def _one(chosen: _Chosen) -> tuple[int, Outcome, float]:
    served = chosen.served()
    looks = tuple(served.now - before for before in _LOOKS) if served.is_running else ()
    many = len(served.streams) > _PAGES
    pages = max(1, _PAGES // max(1, len(served.streams)))
    longest = max((len(stream.lines) for stream in served.streams), default=1)
    begun_s = time.perf_counter()
    with running(account_of((served,), max(20, -(-longest // pages)))) as aws, aws.environed():
        outcome = both_ways(served, aws, looks, pictured, ReportPace(0.0, 0.5) if many else EVERY_PAGE)
    return len(served.streams), outcome, time.perf_counter() - begun_s


def _sums(found: list[tuple[int, Outcome, float]]) -> Row:
    return (
        str(sum(streams for streams, _, _ in found)),
        f"{sum(outcome.lines for _, outcome, _ in found):,}",
        str(sum(outcome.reports for _, outcome, _ in found)),
        f"{sum(seconds for _, _, seconds in found):.0f}",
        str(sum(bool(outcome.troubles) for _, outcome, _ in found)),
    )
