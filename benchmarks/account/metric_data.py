"""GetMetricData: the points of up to 500 queries, 100,800 points a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from benchmarks.account.answer import Refusal
from benchmarks.account.metric_points import NAMESPACE, STATISTICS, Points, points
from benchmarks.account.world import World

MOST_QUERIES = 500
MOST_POINTS = 100_800
_DAY_S = 86_400
# Up to this age of the start, a period that is a multiple of this has points, and the start is rounded down to it.
_GRAIN_S = ((15 * _DAY_S, 60), (63 * _DAY_S, 300), (455 * _DAY_S, 3600))


@dataclass(frozen=True, slots=True)
class Result:
    """What one page holds of one query."""

    id: str
    label: str
    status: str
    points: Points | None
    part: slice
    """Which of the points, in ascending time."""


@dataclass(frozen=True, slots=True)
class Page:
    """One answer of GetMetricData."""

    results: list[Result]
    newest_first: bool
    next_token: str | None


def get_metric_data(world: World, asked: dict[str, Any]) -> Page:
    """A page of the queries' points, query after query; one that goes on says PartialData. Newest first by default.

    How AWS divides points between pages is not documented. Metric math and SQL are refused.
    """
    queries = asked.get("MetricDataQueries", [])
    if not 1 <= len(queries) <= MOST_QUERIES:
        raise _invalid(f"The collection MetricDataQueries must not have a size greater than {MOST_QUERIES}.")
    if len({query["Id"] for query in queries}) < len(queries):
        raise _invalid("The values for parameter id in MetricDataQueries are not unique.")
    start_s, end_s = epoch_s(asked["StartTime"]), epoch_s(asked["EndTime"])
    if start_s >= end_s:
        raise _invalid("The parameter StartTime must be less than the parameter EndTime.")
    most = int(asked.get("MaxDatapoints", MOST_POINTS))
    if not 1 <= most <= MOST_POINTS:
        raise _invalid(f"The parameter MaxDatapoints must be between 1 and {MOST_POINTS}.")
    newest_first = asked.get("ScanBy", "TimestampDescending") == "TimestampDescending"
    skip = _place(asked.get("NextToken"))
    found = list(_all(world, queries, start_s, end_s))
    total = sum(_count(result) for result in found)
    end = skip + most
    return Page(list(_of_page(found, skip, end, newest_first)), newest_first, f"points/{end}" if end < total else None)


def _all(world: World, queries: list[dict[str, Any]], start_s: float, end_s: float) -> Iterator[Result]:
    now_ms = world.clock.now_ms()
    grain_s = next((grain for age, grain in _GRAIN_S if now_ms / 1000 - start_s < age), None)
    for query in queries:
        if "MetricStat" not in query:
            raise _invalid("The stub knows no expressions.")
        if str(query.get("ReturnData", "true")).lower() == "false":
            continue
        stat = query["MetricStat"]
        metric, period_s, statistic = stat["Metric"], int(stat["Period"]), stat["Stat"]
        if period_s not in (1, 5, 10, 20, 30) and (period_s % 60 or period_s < 60):
            raise _invalid(f"Period {period_s} is not 1, 5, 10, 20, 30 or a multiple of 60.")
        if statistic not in STATISTICS:
            raise _invalid(f"The stub does not know the statistic {statistic}.")
        host = "".join(row["Value"] for row in metric.get("Dimensions", ()) if row["Name"] == "Host")
        series = _series(world, metric, host, max(60, period_s), statistic)
        part = slice(0, 0)
        if series is not None and grain_s is not None and max(60, period_s) % grain_s == 0:
            part = series.between(start_s // grain_s * grain_s, end_s, now_ms, max(60, period_s))
        label = query.get("Label") or f"{host} {metric['MetricName']}"
        yield Result(query["Id"], label, "Complete", series, part)


def _series(world: World, metric: dict[str, Any], host: str, period_s: int, statistic: str) -> Points | None:
    name, _, node = host.partition("/algo-")
    job = world.jobs.get(name)
    if (
        metric["Namespace"] != NAMESPACE
        or len(metric.get("Dimensions", ())) != 1
        or job is None
        or not node.isdecimal()
    ):
        return None
    return points(job, int(node), metric["MetricName"], period_s, statistic, world.account.seed)


def _of_page(found: list[Result], skip: int, end: int, newest_first: bool) -> Iterator[Result]:
    """The results, or parts of them, that stand in the page [skip, end) when all points stand in one row."""
    at = 0
    for result in found:
        count = _count(result)
        first, last = max(skip - at, 0), min(end - at, count)
        at += count
        if count and first < last:
            part = slice(result.part.start + first, result.part.start + last)
            if newest_first:
                part = slice(result.part.stop - last, result.part.stop - first)
            status = "Complete" if last == count else "PartialData"
            yield Result(result.id, result.label, status, result.points, part)
        elif not count and skip <= at < end:
            yield result


def _count(result: Result) -> int:
    length: int = result.part.stop - result.part.start
    return length


def _place(token: str | None) -> int:
    if not token:
        return 0
    head, _, index = token.partition("/")
    if head != "points" or not index.isdecimal():
        raise Refusal("InvalidNextToken", "The next token specified is invalid.")
    return int(index)


def epoch_s(moment: float | str) -> float:
    """Epoch seconds of a moment as any protocol sends it."""
    if isinstance(moment, str):
        parsed = datetime.fromisoformat(moment)
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    return float(moment)


def _invalid(message: str) -> Refusal:
    return Refusal("ValidationError", message)
