"""What does GetMetricData answer to many queries? Calls of the right size, all pages, merged by query."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from monitor.aws.calls import Pagination
from monitor.errors import NoCredentials, TrainwatchError
from monitor.fetch.background import side_by_side
from monitor.fetch.source import gap_of
from monitor.model import Gap

if TYPE_CHECKING:
    from monitor.aws.clients import Clients

# GetMetricData's limits: metrics of one call, points of one page.
QUERIES_PER_CALL = 500
POINTS_PER_PAGE = 100_800
_SIDE_BY_SIDE = 4
# A page that holds a damaged series is asked for so often before the series is left out.
_TRIES = 3
# Beside CloudWatch's own words for how a series was answered.
_DAMAGED = "Damaged"


@dataclass(frozen=True, slots=True)
class MetricQuery:
    """One metric of one host; ``key`` is its Id in the call."""

    key: str
    node: str
    metric: str
    """This program's name of it."""
    stat: dict[str, Any]
    """CloudWatch's MetricStat."""


@dataclass(slots=True)
class MetricAnswer:
    """What came back so far, and what went wrong."""

    times_ms: dict[str, list[np.ndarray]] = field(default_factory=dict)
    values: dict[str, list[np.ndarray]] = field(default_factory=dict)
    statuses: dict[str, str] = field(default_factory=dict)
    messages: dict[str, None] = field(default_factory=dict)
    errors: list[TrainwatchError] = field(default_factory=list)

    def add(self, page: dict[str, Any]) -> None:
        """Appends one page's points to what earlier pages gave of the same query."""
        for result in _results(page):
            key = result["Id"]
            if _is_damaged(result):
                self.statuses[key] = _DAMAGED
                continue
            times = np.fromiter((moment.timestamp() * 1000 for moment in result.get("Timestamps", ())), float)
            self.times_ms.setdefault(key, []).append(times)
            self.values.setdefault(key, []).append(np.asarray(result.get("Values", ()), float))
            # A page that has a successor says PartialData: the last word counts.
            if self.statuses.get(key) != _DAMAGED:
                self.statuses[key] = result.get("StatusCode", "Complete")
        for message in page.get("Messages", ()):
            self.messages[f"{message.get('Code', '')}: {message.get('Value', '')}"] = None

    def rows(self, queries: Sequence[MetricQuery]) -> pd.DataFrame:
        """``timestamp node metric value`` in ascending time."""
        times = [np.concatenate(self.times_ms.get(query.key) or [np.empty(0)]) for query in queries]
        values = [np.concatenate(self.values.get(query.key) or [np.empty(0)]) for query in queries]
        lengths = [len(each) for each in times]
        all_times = np.concatenate([np.empty(0), *times]).round().astype("datetime64[ms]")
        frame = pd.DataFrame(
            {
                "timestamp": pd.Series(all_times).dt.tz_localize("UTC"),
                "node": np.repeat(np.array([query.node for query in queries], dtype=object), lengths),
                "metric": np.repeat(np.array([query.metric for query in queries], dtype=object), lengths),
                "value": np.concatenate([np.empty(0), *values]),
            }
        )
        return frame.sort_values("timestamp", kind="stable", ignore_index=True)

    def gaps(self) -> Iterator[Gap]:
        """Refusals and series that CloudWatch gave in part, each said once."""
        for error in {str(error): error for error in self.errors}.values():
            yield gap_of("metrics", error)
        counts = Counter(self.statuses.values())
        if counts["Forbidden"]:
            yield Gap(
                "metrics",
                f"AWS does not allow cloudwatch:GetMetricData on {counts['Forbidden']} metric series.",
                "Have cloudwatch:GetMetricData allowed in the IAM policy of that user or role.",
                transient=True,
                action="cloudwatch:GetMetricData",
            )
        broken = counts["InternalError"] + counts["PartialData"]
        if broken:
            of_all = f"{broken} of {len(self.statuses)}"
            why = f"CloudWatch returned {of_all} metric series only in part."
            yield Gap("metrics", why, "Try again in a few minutes.", transient=True)
        if counts[_DAMAGED]:
            of_all = f"{counts[_DAMAGED]} of {len(self.statuses)}"
            why = f"CloudWatch does not answer like AWS: of {of_all} metric series, times and values do not fit."
            yield Gap("metrics", why, "Try again in a few minutes.", transient=True)
        for message in self.messages:
            yield Gap("metrics", f"CloudWatch says {message}.", transient=True)

    @property
    def is_troubled(self) -> bool:
        """Whether points may be missing that CloudWatch has."""
        return bool(self.errors) or any(status != "Complete" for status in self.statuses.values())


def ask(
    clients: Clients, queries: Sequence[MetricQuery], start: datetime, end: datetime, period_s: int
) -> MetricAnswer:
    """All points in [start, end). What fails in part is in the answer; NoCredentials alone is raised."""
    # Every page is billed for all its metrics again, so a call asks for no more than one page can hold.
    points = max(1, math.ceil((end - start).total_seconds() / period_s))
    size = max(1, min(QUERIES_PER_CALL, POINTS_PER_PAGE // points))
    calls = [queries[at : at + size] for at in range(0, len(queries), size)]
    answer = MetricAnswer()
    for part in side_by_side(lambda batch: _one_call(clients, batch, start, end), calls, _SIDE_BY_SIDE):
        for page in part:
            if isinstance(page, TrainwatchError):
                answer.errors.append(page)
            else:
                answer.add(page)
    return answer


def _whole(clients: Clients, wanted: dict[str, Any]) -> dict[str, Any]:
    """The page; again where a series of it is damaged, and after some tries as it is."""
    page: dict[str, Any] = {}
    for _ in range(_TRIES):
        page = clients.call("cloudwatch", "get_metric_data", **wanted)
        if not any(map(_is_damaged, _results(page))):
            break
    return page


def _results(page: dict[str, Any]) -> Sequence[dict[str, Any]]:
    rows: Sequence[dict[str, Any]] = page.get("MetricDataResults", ())
    return rows


def _is_damaged(result: dict[str, Any]) -> bool:
    """CloudWatch takes no NaN from anybody, so it gives none; and each value has its time."""
    values = result.get("Values", ())
    return len(values) != len(result.get("Timestamps", ())) or not all(map(math.isfinite, values))


def _one_call(
    clients: Clients, batch: Sequence[MetricQuery], start: datetime, end: datetime
) -> list[dict[str, Any] | TrainwatchError]:
    """The pages of one call, and at their end the error that stopped it, if one did."""
    pages: list[dict[str, Any] | TrainwatchError] = []
    wanted = {
        "MetricDataQueries": [{"Id": query.key, "MetricStat": query.stat} for query in batch],
        "StartTime": start,
        "EndTime": end,
        "ScanBy": "TimestampAscending",
    }
    token: str | None = None
    onward = Pagination("cloudwatch:GetMetricData")
    try:
        while True:
            page = _whole(clients, {**wanted, **({"NextToken": token} if token else {})})
            pages.append(page)
            token = onward.after(page.get("NextToken"), sum(len(row.get("Values", ())) for row in _results(page)))
            if token is None:
                return pages
    except NoCredentials:
        raise
    except TrainwatchError as error:
        return [*pages, error]
