"""Runs one question over a job's whole time in CloudWatch Logs Insights: in slices, within a budget, stopped when left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from typing import Any, NamedTuple

from monitor.aws.clients import Clients
from monitor.errors import CannotDo, NoCredentials, TrainwatchError
from monitor.fetch.logs.streams import GROUP
from monitor.parse.aggregated import Row
from monitor.parse.insights import MOST_ROWS

#: USD per GB scanned; an estimate where a Region's own price is not known here.
USD_PER_GB = 0.005
_USD_PER_GB = {"ap-northeast-2": 0.0076, "ap-south-1": 0.0076}
_GB = 1e9

_BINS_MINUTES = (1, 2, 5, 10, 15, 30, 60)
# A writer may come that was not seen before; a slice leaves room for some.
_ROWS_OF_A_SLICE = MOST_ROWS * 4 // 5
_MOST_ROWS_IN_ALL = 100_000
_AT_ONCE = 5
_FIRST_PAUSE_S = 0.3
_LONGEST_PAUSE_S = 5.0
# AWS itself ends a query after an hour.
_LONGEST_QUERY_S = 1200.0
_RUNNING = {"Scheduled", "Running", "Unknown"}


def usd_per_gb(region: str) -> float:
    """What Logs Insights asks for a GB that it scans (an estimate)."""
    return _USD_PER_GB.get(region, USD_PER_GB)


def price_usd(scanned_bytes: float, region: str) -> float:
    """What a scan of so many bytes costs, in USD (an estimate)."""
    return scanned_bytes / _GB * usd_per_gb(region)


class Slice(NamedTuple):
    """A part of the time, in epoch seconds; both ends are within."""

    from_s: int
    to_s: int


class Cut(NamedTuple):
    """How the time is cut: the answer to each slice has room in one answer."""

    bin_minutes: int
    slices: tuple[Slice, ...]


def cut(from_s: int, to_s: int, writers: int) -> Cut:
    """The finest bins of a minute and more that ``writers`` leave room for, and the slices they need."""
    for minutes in _BINS_MINUTES:
        if writers * ceil((to_s - from_s) / (60 * minutes)) <= _MOST_ROWS_IN_ALL:
            break
    bin_s = 60 * minutes
    first = from_s - from_s % bin_s
    each_s = bin_s * max(1, _ROWS_OF_A_SLICE // max(1, writers))
    starts = range(first, max(first, to_s) + 1, each_s)
    return Cut(minutes, tuple(Slice(max(from_s, start), min(to_s, start + each_s)) for start in starts))


@dataclass(slots=True)
class Answered:
    """What came back."""

    rows: list[Row] = field(default_factory=list)
    scanned_bytes: float = 0.0
    """As the service counts what it bills."""
    queries: int = 0
    trouble: TrainwatchError | None = None
    """Why part of it, or all, is missing."""


@dataclass(slots=True)
class _Running:
    started_s: float
    scanned_bytes: float = 0.0


def ask(
    clients: Clients,
    text: str,
    slices: tuple[Slice, ...],
    max_usd: float | None = None,
    progress: Callable[[str], None] = lambda said: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Answered:
    """The rows of all slices. NoCredentials is raised; all other trouble is in the answer, with what came before it.

    Queries that still run when this ends, in whatever way, are stopped. They are also stopped when what they scanned costs
    more than ``max_usd``.
    """
    answered = Answered()
    waiting = list(slices)
    pause_s = _FIRST_PAUSE_S
    with _stopping(clients) as running:
        try:
            while waiting or running:
                while waiting and len(running) < _AT_ONCE:
                    part = waiting.pop(0)
                    running[_start(clients, text, part)] = _Running(time.monotonic())
                    answered.queries += 1
                sleep(pause_s)
                pause_s = min(_LONGEST_PAUSE_S, 1.5 * pause_s)
                for name in list(running):
                    _look(clients, name, running, answered)
                _keep_within(max_usd, answered, running, clients.region)
                progress(f"Logs Insights: {answered.queries - len(running)} of {len(slices)} queries")
        except NoCredentials:
            raise
        except TrainwatchError as error:
            answered.trouble = error
        answered.scanned_bytes += sum(query.scanned_bytes for query in running.values())
    clients.add_cost(price_usd(answered.scanned_bytes, clients.region))
    return answered


@contextmanager
def _stopping(clients: Clients) -> Iterator[dict[str, _Running]]:
    """The queries that run, by their id; those left at the end are stopped."""
    running: dict[str, _Running] = {}
    try:
        yield running
    finally:
        for name in running:
            try:
                clients.call("logs", "stop_query", queryId=name)
            except TrainwatchError:
                continue  # it ends by itself, after an hour at most


def _start(clients: Clients, text: str, part: Slice) -> str:
    started = clients.call(
        "logs",
        "start_query",
        logGroupName=GROUP,
        startTime=part.from_s,
        endTime=part.to_s,
        queryString=text,
        limit=MOST_ROWS,
    )
    return str(started["queryId"])


def _look(clients: Clients, name: str, running: dict[str, _Running], answered: Answered) -> None:
    """Takes the rows of a query that is complete. CannotDo where it failed or takes too long."""
    told = clients.call("logs", "get_query_results", queryId=name)
    query, status = running[name], str(told.get("status", "Unknown"))
    query.scanned_bytes = float((told.get("statistics") or {}).get("bytesScanned") or 0.0)
    if status in _RUNNING:
        if time.monotonic() - query.started_s > _LONGEST_QUERY_S:
            raise CannotDo(f"A Logs Insights query ran longer than {_LONGEST_QUERY_S / 60:.0f} min.", _AGAIN)
        return
    del running[name]
    answered.scanned_bytes += query.scanned_bytes
    if status != "Complete":
        raise CannotDo(f"A Logs Insights query ended as {status}.", _AGAIN)
    rows = [_row(cells) for cells in told.get("results", ())]
    while token := told.get("nextToken"):
        told = clients.call("logs", "get_query_results", queryId=name, nextToken=token)
        rows += [_row(cells) for cells in told.get("results", ())]
    answered.rows += rows
    if len(rows) >= MOST_ROWS:
        raise CannotDo("A Logs Insights answer is full: more processes write steps than could be returned.", _AGAIN)


_AGAIN = "Try again, or read the log lines themselves: leave out --aggregate."


def _row(cells: list[dict[str, Any]]) -> Row:
    return {str(cell.get("field", "")): str(cell.get("value", "")) for cell in cells}


def _keep_within(max_usd: float | None, answered: Answered, running: dict[str, _Running], region: str) -> None:
    if max_usd is None:
        return
    spent = price_usd(answered.scanned_bytes + sum(query.scanned_bytes for query in running.values()), region)
    if spent > max_usd:
        raise CannotDo(
            f"The queries were stopped: what they scanned costs about ${spent:.2f}, more than --max-usd {max_usd:g}.",
            "Allow more, or leave out --aggregate.",
        )
