"""DescribeLogStreams: the names of the streams, and what is known of when they were written."""

from __future__ import annotations

import base64
import json
from typing import Any

from benchmarks.account.answer import invalid
from benchmarks.account.streams import GROUP, Stream
from benchmarks.account.world import World

_MOST = 50


def describe_log_streams(world: World, asked: dict[str, Any]) -> dict[str, Any]:
    """Up to 50 streams a page, by name or by the time of their last event.

    lastEventTimestamp is the account's ``last_event_lag_ms`` old, and missing before; storedBytes is always 0.
    """
    world.check_group(asked.get("logGroupName"), asked.get("logGroupIdentifier"))
    prefix, order = asked.get("logStreamNamePrefix", ""), asked.get("orderBy", "LogStreamName")
    if order not in ("LogStreamName", "LastEventTime"):
        raise invalid(f"1 validation error detected: Value '{order}' at 'orderBy' failed to satisfy constraint")
    if prefix and order == "LastEventTime":
        raise invalid("Cannot order by LastEventTime with a logStreamNamePrefix.")
    limit = asked.get("limit", _MOST)
    if not 1 <= limit <= _MOST:
        raise invalid(f"1 validation error detected: Value '{limit}' at 'limit' failed to satisfy constraint")
    rows = [_row(world, stream) for name, stream in world.streams.items() if name.startswith(prefix)]
    shown = [row for row in rows if row is not None]
    descending = bool(asked.get("descending"))
    keys = {row["logStreamName"]: _key(row, order) for row in shown}
    shown.sort(key=lambda row: keys[row["logStreamName"]], reverse=descending)
    if token := asked.get("nextToken"):
        last = _place(token, world)
        shown = [row for row in shown if (keys[row["logStreamName"]] < last) == descending]
        shown = [row for row in shown if keys[row["logStreamName"]] != last]
    answer: dict[str, Any] = {"logStreams": shown[:limit]}
    if len(shown) > limit:
        answer["nextToken"] = _token(keys[shown[limit - 1]["logStreamName"]], world)
    return answer


def _row(world: World, stream: Stream) -> dict[str, Any] | None:
    if not world.exists(stream):
        return None
    now_ms = world.clock.now_ms()
    seen = stream.seen(now_ms)
    known = stream.seen(now_ms - world.account.last_event_lag_ms)
    region, number = world.account.region, world.account.number
    row = {
        "logStreamName": stream.name,
        "creationTime": stream.begins_ms,
        "firstEventTimestamp": int(stream.times[seen[0]]),
        "lastIngestionTime": int(stream.ingested[seen].max()),
        "uploadSequenceToken": f"{stream.begins_ms:056d}",
        "arn": f"arn:aws:logs:{region}:{number}:log-group:{GROUP}:log-stream:{stream.name}",
        "storedBytes": 0,
    }
    if len(known):
        row["lastEventTimestamp"] = int(stream.times[known[-1]])
    return row


def _key(row: dict[str, Any], order: str) -> tuple[int, str]:
    return (row.get("lastEventTimestamp", 0) if order == "LastEventTime" else 0, row["logStreamName"])


def _token(last: tuple[int, str], world: World) -> str:
    return base64.b64encode(json.dumps([int(world.clock.now_ms()), *last]).encode()).decode()


def _place(token: str, world: World) -> tuple[int, str]:
    try:
        issued_ms, time_ms, name = json.loads(base64.b64decode(token, validate=True))
    except ValueError as error:
        raise invalid("The specified nextToken is invalid.") from error
    if world.clock.now_ms() - issued_ms > world.account.token_ms:
        raise invalid("The specified nextToken has expired.")
    return time_ms, name
