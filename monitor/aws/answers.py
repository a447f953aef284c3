"""Answers of AWS: whole, of the types and with the members that their operation has, and read fast.

botocore checks what is sent, not what comes. It takes half a body, or none, for an answer that says nothing (it reads with
``enforce_content_length=False``), raises whatever its parsers stumble over, and tries as often where nobody listens as where a
service is busy; text in place of a list, or no list at all, reaches the caller as it is. The hooks here have it try again, or
give up in time.

Answers that hold thousands of events, points or jobs are read many times as fast as by its parser, to the same values: it walks
every event and every point by its model, where only times are converted. Whatever is not plain JSON is left to it.
GetLogEvents, whose answers are the largest, is read into records that need no further look.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import chain
from operator import itemgetter
from typing import Annotated, Any

import msgspec
from botocore.exceptions import ConnectionClosedError, HTTPClientError, IncompleteReadError
from botocore.exceptions import ConnectionError as ConnectionTrouble
from botocore.parsers import ResponseParserError

#: Tries of one call that AWS throttles, fails, or answers in part.
MAX_ATTEMPTS = 6
#: Tries of one call that get no answer: a mistyped region or endpoint must not keep the user waiting.
MAX_CONNECTS = 3

_WEB_PAGE = (b"<!doctype html", b"<html")
_REFUSED = 300
_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 2.0
_UNANSWERED = "trainwatch-unanswered"
_FLAW = "trainwatch-flaw"
# Where members of an answer stand that need no body.
_NO_BODY = ("header", "headers", "statusCode")


class Parsers:
    """botocore's factory of parsers; what one of these cannot read becomes an answer with a flaw, which is tried again."""

    def __init__(self, factory: Any) -> None:
        self._factory = factory

    def set_parser_defaults(self, **defaults: Any) -> None:
        self._factory.set_parser_defaults(**defaults)

    def create_parser(self, protocol: str) -> _Parser:
        return _Parser(self._factory.create_parser(protocol))


class _Parser:
    def __init__(self, parser: Any) -> None:
        self._parser = parser

    def parse(self, response: dict[str, Any], shape: Any) -> dict[str, Any]:
        try:
            parsed = self._parser.parse(response, shape)
        except Exception:  # each parser stumbles in a way of its own: AttributeError, TypeError, RecursionError, …
            parsed = None
        if isinstance(parsed, dict):
            return parsed
        told = {"HTTPStatusCode": response["status_code"], "HTTPHeaders": {}}
        return {"ResponseMetadata": told, _FLAW: "it cannot be read"}


def listen(events: Any, attempts: int = MAX_ATTEMPTS) -> None:
    """Registers with a client's event system; ``attempts`` are the most tries of one call."""
    events.register_first("before-parse", _make_text_whole)
    events.register("before-parse", _leave_half_unread)
    events.register("needs-retry", lambda **told: _again(attempts, **told))
    events.register("needs-retry", _stop_knocking)
    events.register("after-call", _refuse)
    for operation, converted in OPERATIONS.items():
        events.register(f"before-parse.{operation}", lambda converted=converted, **told: _read(converted, **told))


def missing_bytes(headers: Any, body: bytes) -> int:
    """How many bytes of a body did not come, by its announced length; 0 where none was announced."""
    announced = str(headers.get("content-length", ""))
    if not announced.isdecimal() or headers.get("content-encoding", "identity") != "identity":
        return 0
    return max(0, int(announced) - len(body))


def _leave_half_unread(operation_model: Any, response_dict: dict[str, Any], **_: Any) -> None:
    """The parsers of XML and CBOR raise on half a body, past every retry; to all of them this is a failed service."""
    if _has_no_body(operation_model) or not missing_bytes(response_dict["headers"], response_dict["body"]):
        return
    response_dict["body"] = b""
    response_dict["status_code"] = 503


def _again(most: int, attempts: int, operation: Any, response: Any, **_: Any) -> float | None:
    """Seconds until the next try of a call of which half an answer came, or none; None: nothing to say about this one."""
    if response is None or _has_no_body(operation) or _is_web_page(response[0].content):
        return None
    http, parsed = response
    if not missing_bytes(http.headers, http.content):
        if _FLAW not in parsed:
            parsed[_FLAW] = _flaw(http, parsed, operation)
        if parsed[_FLAW] is None:
            return None
    if attempts >= most:
        return None
    longest_s: float = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** (attempts - 1))
    return random.uniform(0.5, 1.0) * longest_s


def _flaw(http: Any, parsed: dict[str, Any], operation: Any) -> str | None:
    if http.status_code >= _REFUSED:
        return None
    shape = operation.output_shape
    told_in_body = shape is not None and any(
        member.serialization.get("location") not in _NO_BODY for member in shape.members.values()
    )
    if told_in_body and not http.content.strip():
        return "it is empty"
    return flaw(parsed, operation)


def _has_no_body(operation: Any) -> bool:
    """A body that is read later, or, of HEAD, one that is announced and never sent."""
    return bool(operation.has_streaming_output or operation.http.get("method") == "HEAD")


def _is_web_page(body: bytes) -> bool:
    """Of a network that wants a login first: the same comes again at once."""
    return body[:64].lstrip().lower().startswith(_WEB_PAGE)


def _stop_knocking(request_dict: dict[str, Any], caught_exception: Exception | None, **_: Any) -> None:
    """Ends the tries of a call that nobody answers: what this raises goes to the caller instead of the next try.

    A connection that was closed is one that somebody had opened: such a call has as many tries as any other.
    """
    if isinstance(caught_exception, ConnectionClosedError):
        return
    if isinstance(caught_exception, (ConnectionTrouble, HTTPClientError)):
        context = request_dict["context"]
        context[_UNANSWERED] = context.get(_UNANSWERED, 0) + 1
        if context[_UNANSWERED] >= MAX_CONNECTS:
            raise caught_exception


def _refuse(http_response: Any, parsed: dict[str, Any], model: Any, **_: Any) -> None:
    """A login page of some network, half an answer, or something else: botocore would take each for an empty one."""
    if _has_no_body(model):
        return
    body = http_response.content
    if missing := missing_bytes(http_response.headers, body):
        raise IncompleteReadError(actual_bytes=len(body), expected_bytes=len(body) + missing)
    if _is_web_page(body):
        raise ResponseParserError("a web page")
    if found := parsed.pop(_FLAW, None):
        raise ResponseParserError(f"{model.name}: {found}")


# Each escape of a body in turn: both halves of a character, one alone, or any other.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_REPLACED = rb"\ufffd"


def _make_text_whole(response_dict: dict[str, Any], **_: Any) -> None:
    body = response_dict.get("body")
    if isinstance(body, bytes) and (b"\\ud" in body or b"\\uD" in body):
        response_dict["body"] = _ESCAPE.sub(lambda found: _REPLACED if found[1] else found[0], body)


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


class LogEvent(msgspec.Struct, rename="camel", gc=False):
    """One event of CloudWatch Logs: its time in ms; the name of its stream is told by FilterLogEvents alone."""

    timestamp: Annotated[int, msgspec.Meta(ge=0, lt=_LATEST_MS)]
    message: str
    log_stream_name: str = ""


class _EventsAnswer(msgspec.Struct, rename="camel"):
    """An answer of GetLogEvents."""

    events: list[LogEvent]
    next_forward_token: str
    next_backward_token: str


_EVENTS_ANSWER = msgspec.json.Decoder(_EventsAnswer)


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


def _is_there(rows: list[Any], path: list[str]) -> bool:
    """Whether all rows have what stands at the path; what has another type has it, and is found by its type."""
    for depth, name in enumerate(path):
        rows = [row for row in rows if isinstance(row, dict)] if set(map(type, rows)) != {dict} else rows
        values = _column(rows, name)
        if len(values) < len(rows):
            # A list or an object on the way may be left out; its own line says whether it always comes.
            return depth + 1 < len(path)
        if depth + 1 < len(path):
            rows = list(chain.from_iterable(value if isinstance(value, list) else [value] for value in values))
    return True


def _members(rows: list[Any], shape: Any, where: str) -> str | None:
    """Member by member over all rows: a page of ten thousand events costs some passes over lists, not a call a value."""
    for name, member in shape.members.items():
        column = _column(rows, name)
        if column and (found := _values(column, member, f"{where}{name}")):
            return found
    return None


def _column(rows: list[Any], name: str) -> list[Any]:
    """What the rows have under that name; those that lack it are passed over."""
    try:
        column = list(map(itemgetter(name), rows))
    except KeyError:
        column = [row.get(name) for row in rows]
    return [value for value in column if value is not None] if None in column else column


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


#: Where a training job has times, by the model of the service (a test compares them).
TIMES_OF_JOBS = ("CreationTime", "TrainingStartTime", "TrainingEndTime", "LastModifiedTime")
TIMES_WITHIN_JOBS = {
    "SecondaryStatusTransitions": ("StartTime", "EndTime"),
    "FinalMetricDataList": ("Timestamp",),
    "DebugRuleEvaluationStatuses": ("LastModifiedTime",),
}


def _read(
    converted: Callable[[bytes], dict[str, Any]],
    response_dict: dict[str, Any],
    customized_response_dict: dict[str, Any],
    **_: Any,
) -> None:
    if response_dict.get("status_code") != 200:
        return
    try:
        customized_response_dict.update(converted(response_dict["body"]))
        response_dict["body"] = b"{}"
    except (RecursionError, TypeError, KeyError, AttributeError, OverflowError, OSError, ValueError):
        # Not the answer that is known here: botocore's parser may know better.
        return


def _with_records(body: bytes) -> dict[str, Any]:
    """An answer of GetLogEvents with ``LogEvent``s, all of it as it must be. ValidationError for any other."""
    found = _EVENTS_ANSWER.decode(body)
    return {
        "events": found.events,
        "nextForwardToken": found.next_forward_token,
        "nextBackwardToken": found.next_backward_token,
        _FLAW: None,
    }


def _as_it_is(body: bytes) -> dict[str, Any]:
    return msgspec.json.decode(body, type=dict)


def _with_times(body: bytes) -> dict[str, Any]:
    """An answer of GetMetricData with aware times in UTC in place of epoch seconds. TypeError for other times."""
    answer = _as_it_is(body)
    for result in answer["MetricDataResults"]:
        if "Timestamps" in result:
            result["Timestamps"] = [datetime.fromtimestamp(seconds, UTC) for seconds in result["Timestamps"]]
    return answer


def _with_times_of_jobs(body: bytes) -> dict[str, Any]:
    """An answer of Search with aware times in UTC. KeyError for other resources than training jobs, TypeError for other times."""
    answer = _as_it_is(body)
    for result in answer["Results"]:
        job = result["TrainingJob"]
        _make_times(job, TIMES_OF_JOBS)
        for name, times in TIMES_WITHIN_JOBS.items():
            for entry in job.get(name) or ():
                _make_times(entry, times)
    return answer


def _make_times(entry: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if (seconds := entry.get(name)) is not None:
            entry[name] = datetime.fromtimestamp(seconds, UTC)


#: The operations that are read here, by botocore's name of the service, with what makes their values those of its parser.
OPERATIONS: Mapping[str, Callable[[bytes], dict[str, Any]]] = {
    "cloudwatch-logs.GetLogEvents": _with_records,
    "cloudwatch-logs.FilterLogEvents": _as_it_is,
    "cloudwatch.GetMetricData": _with_times,
    "sagemaker.Search": _with_times_of_jobs,
}
