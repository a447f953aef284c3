"""What is known of jobs whose logs were exported? JSON that somebody kept: an answer of DescribeTrainingJob, of Search, or the
events of EventBridge, one a file, in a list, or one a line.

The logs themselves tell neither status nor bill, neither instances nor reasons.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

# Of EventBridge, with what DescribeTrainingJob would answer under "detail".
_STATE_CHANGE = "SageMaker Training Job State Change"
_TIMES = frozenset(
    {"CreationTime", "TrainingStartTime", "TrainingEndTime", "LastModifiedTime", "StartTime", "EndTime", "Timestamp"}
)
# Unix seconds beyond this are milliseconds: the year 5138.
_SECONDS = 100_000_000_000


@dataclass(frozen=True, slots=True)
class Description:
    """What one answer says of one job, as it was then."""

    name: str
    answer: Mapping[str, Any]
    """JSON's own types, as it was kept."""
    tags: Mapping[str, str] | None
    """None where it does not tell."""

    @property
    def arn(self) -> str:
        return str(self.answer.get("TrainingJobArn") or "")

    @property
    def created(self) -> datetime | None:
        return moment(self.answer.get("CreationTime"))

    @property
    def as_of(self) -> datetime | None:
        """When the job last changed, as the answer tells."""
        ends = (moment(self.answer.get(name)) for name in ("LastModifiedTime", "TrainingEndTime", "CreationTime"))
        return max((end for end in ends if end is not None), default=None)


def descriptions(data: bytes) -> tuple[Description, ...]:
    """All that a file holds; ValueError where it is no JSON at all."""
    return tuple(found for value in _values(data.decode("utf-8-sig", "replace")) for found in _in(value))


def newest(found: Iterable[Description]) -> dict[str, tuple[Description, ...]]:
    """By the job's name: of each job (an account, a region, a creation time) the last that was said."""
    last: dict[tuple[str, str, datetime | None], Description] = {}
    for each in found:
        key = each.name, each.arn, each.created
        if key not in last or (each.as_of or _BEGINNING) >= (last[key].as_of or _BEGINNING):
            last[key] = each
    by_name: dict[str, tuple[Description, ...]] = {}
    for (name, _, _), each in last.items():
        by_name[name] = (*by_name.get(name, ()), each)
    return by_name


def answer_of(told: Mapping[str, Any]) -> dict[str, Any]:
    """As boto3 would give it: times are aware."""
    return {name: _timed(name, value) for name, value in told.items()}


def moment(value: Any) -> datetime | None:
    """A time as JSON has it: ISO 8601, or Unix seconds or milliseconds. None where it is none."""
    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
            return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value > _SECONDS else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


_BEGINNING = datetime.min.replace(tzinfo=UTC)


def _timed(name: str, value: Any) -> Any:
    if name in _TIMES and not isinstance(value, (dict, list)):
        return moment(value)
    if isinstance(value, dict):
        return {inner: _timed(inner, item) for inner, item in value.items()}
    if isinstance(value, list):
        return [_timed("", item) for item in value]
    return value


def _values(text: str) -> Iterator[Any]:
    try:
        yield json.loads(text)
        return
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except ValueError:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            raise
    for line in lines:
        yield json.loads(line)


def _in(value: Any) -> Iterator[Description]:
    if isinstance(value, list):
        for item in value:
            yield from _in(item)
        return
    if not isinstance(value, dict):
        return
    if isinstance(value.get("Results"), list):
        yield from _in(value["Results"])
    elif isinstance(value.get("TrainingJob"), dict):
        yield from _in(value["TrainingJob"])
    elif value.get("detail-type") == _STATE_CHANGE and isinstance(value.get("detail"), dict):
        yield from _in(value["detail"])
    elif isinstance(value.get("TrainingJobName"), str) and value["TrainingJobName"]:
        yield Description(value["TrainingJobName"], value, _tags(value.get("Tags")))


def _tags(told: Any) -> dict[str, str] | None:
    if isinstance(told, dict):
        return {str(name): str(text) for name, text in told.items()}
    if isinstance(told, list) and all(isinstance(tag, dict) for tag in told):
        return {str(tag.get("Key", "")): str(tag.get("Value", "")) for tag in told}
    return None
