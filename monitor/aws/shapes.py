"""Is an answer what its operation answers? Types by botocore's models, and what each answer always holds.

botocore checks what is sent, not what comes: text in place of a list, or no list at all, reaches the caller as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import chain
from typing import Any

# What AWS sends in every answer, empty lists included, by operation; "events.message" is in each of the events.
_ALWAYS: Mapping[str, tuple[str, ...]] = {
    "DescribeLogStreams": ("logStreams", "logStreams.logStreamName"),
    "DescribeTrainingJob": ("TrainingJobName", "TrainingJobStatus", "CreationTime"),
    "FilterLogEvents": ("events", "events.logStreamName", "events.timestamp", "events.message"),
    "GetCallerIdentity": ("Account",),
    "GetLogEvents": ("events", "nextForwardToken", "nextBackwardToken", "events.timestamp", "events.message"),
    "GetMetricData": ("MetricDataResults", "MetricDataResults.Id"),
    "GetProducts": ("PriceList",),
    "GetQueryResults": ("status", "results"),
    "ListObjectsV2": ("IsTruncated", "Contents.Key"),
    "ListTrainingJobs": ("TrainingJobSummaries", "TrainingJobSummaries.TrainingJobName"),
    "Publish": ("MessageId",),
    "Search": ("Results", "Results.TrainingJob.TrainingJobName"),
    "StartQuery": ("queryId",),
}
_TYPES: Mapping[str, frozenset[type]] = {
    "structure": frozenset({dict}),
    "map": frozenset({dict}),
    "list": frozenset({list}),
    "string": frozenset({str}),
    "integer": frozenset({int}),
    "long": frozenset({int}),
    "float": frozenset({int, float}),
    "double": frozenset({int, float}),
    "boolean": frozenset({bool}),
    "timestamp": frozenset({datetime}),
}
_WORDS = {
    dict: "an object",
    list: "a list",
    str: "text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    datetime: "a time",
}
# Neither AWS nor training is older, and what counts as a time after it is none.
_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
_LATEST_MS = int(_LATEST.timestamp() * 1000)
_MOST = 2**63


def flaw(answer: Mapping[str, Any], operation: Any) -> str | None:
    """The first thing that this operation never answers: "events is text, not a list"; None where there is none.

    ``operation`` is botocore's model of it. What AWS may add to its answers later is not looked at.
    """
    if operation.output_shape is None:
        return None
    for path in _ALWAYS.get(operation.name, ()):
        if not _is_there([answer], path.split(".")):
            return f"{path} is missing"
    return _members([answer], operation.output_shape, "")


def _is_there(rows: Iterable[Any], path: list[str]) -> bool:
    """Whether all rows have what stands at the path; what has another type has it, and is found by its type."""
    for depth, name in enumerate(path):
        rows = [row for row in rows if isinstance(row, dict)]
        values = [row.get(name) for row in rows]
        if any(value is None for value in values):
            # A list or an object on the way may be left out; its own line says whether it always comes.
            return depth + 1 < len(path)
        rows = list(chain.from_iterable(value if isinstance(value, list) else [value] for value in values))
    return True


def _members(rows: list[Any], shape: Any, where: str) -> str | None:
    """Member by member over all rows: a page of ten thousand events costs some passes over lists, not a call a value."""
    for name, member in shape.members.items():
        column = [value for row in rows if (value := row.get(name)) is not None]
        if column and (found := _values(column, member, f"{where}{name}")):
            return found
    return None


def _values(column: list[Any], shape: Any, where: str) -> str | None:
    kind = shape.type_name
    allowed = _TYPES.get(kind)
    if allowed is None:
        return None
    if wrong := set(map(type, column)) - allowed:
        had, wanted = (_WORDS.get(each, "something else") for each in (wrong.pop(), min(allowed, key=str)))
        return f"{where} is {had}, not {wanted}" if had != wanted else f"{where} is no whole number"
    match kind:
        case "structure":
            return _members(column, shape, f"{where}.")
        case "list":
            inner = [value for value in chain.from_iterable(column) if value is not None]
            return _values(inner, shape.member, where) if inner else None
        case "map":
            inner = [value for each in column for value in each.values() if value is not None]
            return _values(inner, shape.value, where) if inner else None
        case "timestamp":
            return None if min(column) >= _EARLIEST and max(column) < _LATEST else f"{where} is in no year of AWS"
        case "integer" | "long":
            # Logs tell their times in ms.
            most = _LATEST_MS if shape.name == "Timestamp" else _MOST
            lowest = 0 if shape.name == "Timestamp" else -_MOST
            return None if lowest <= min(column) and max(column) < most else f"{where} is out of range"
    return None
