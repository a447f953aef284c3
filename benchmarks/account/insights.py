"""Logs Insights: a query is started, runs for a moment, and finds what the account's own function says."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from benchmarks.account.answer import Refusal, invalid
from benchmarks.account.world import World

_PAGE_ROWS = 10_000
_MOST_ROWS = 100_000
_MOST_CHARACTERS = 10_000


class InsightsQuery(NamedTuple):
    """What StartQuery was asked."""

    text: str
    start_s: int
    """Epoch seconds, included, as is ``end_s``."""
    end_s: int
    limit: int


Insights = Callable[[InsightsQuery], list[dict[str, str]] | str]
"""Rows of field and value, or the status in which the query ends, such as "Failed", or stays: "Running".

A function of a module, since it is sent to the process of the stub.
"""


@dataclass(slots=True)
class _Started:
    rows: list[list[dict[str, str]]]
    ends: str = "Complete"
    polls: int = 0


class Queries:
    """The queries of one account. Each says Scheduled, then Running, then Complete, or what the account's function says."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._started: dict[str, _Started] = {}

    def start_query(self, asked: dict[str, Any]) -> dict[str, Any]:
        groups = [asked.get("logGroupName"), *asked.get("logGroupNames", ()), *asked.get("logGroupIdentifiers", ())]
        named = [group for group in groups if group]
        if not named:
            raise invalid("One of logGroupName, logGroupNames and logGroupIdentifiers is needed.")
        for group in named:
            self._world.check_group(None, group)
        limit = asked.get("limit", _PAGE_ROWS)
        if not 1 <= limit <= _MOST_ROWS or len(asked["queryString"]) > _MOST_CHARACTERS:
            raise invalid("The limit or the length of the query is out of range.")
        if asked["startTime"] > asked["endTime"]:
            raise invalid("The query's end time is before its start time.")
        query = InsightsQuery(asked["queryString"], asked["startTime"], asked["endTime"], limit)
        found = self._world.account.insights(query) if self._world.account.insights else []
        ends = found if isinstance(found, str) else "Complete"
        rows = [
            [{"field": field, "value": value} for field, value in {**row, "@ptr": f"ptr-{number}"}.items()]
            for number, row in enumerate([] if isinstance(found, str) else found[:limit])
        ]
        name = str(uuid.UUID(int=len(self._started) + 1))
        self._started[name] = _Started(rows, ends)
        return {"queryId": name}

    def get_query_results(self, asked: dict[str, Any]) -> dict[str, Any]:
        query = self._started.get(asked["queryId"])
        if query is None:
            raise Refusal("ResourceNotFoundException", "The specified query does not exist.")
        first = self._place(asked)
        query.polls += 1
        if query.polls < 3:
            return {"status": ("Scheduled", "Running")[query.polls - 1], "results": [], "statistics": _statistics(0)}
        rows = query.rows[first : first + _PAGE_ROWS]
        answer = {"status": query.ends, "results": rows, "statistics": _statistics(len(query.rows))}
        if first + _PAGE_ROWS < len(query.rows):
            answer["nextToken"] = f"{asked['queryId']}/{first + _PAGE_ROWS}"
        return answer

    def stop_query(self, asked: dict[str, Any]) -> dict[str, Any]:
        """One that has ended cannot be stopped."""
        query = self._started.get(asked["queryId"])
        if query is None:
            raise Refusal("ResourceNotFoundException", "The specified query does not exist.")
        if query.polls >= 3 and query.ends != "Running":
            raise invalid("The query has ended.")
        query.ends, query.polls = "Cancelled", 3
        return {"success": True}

    def _place(self, asked: dict[str, Any]) -> int:
        token = asked.get("nextToken")
        if not token:
            return 0
        name, _, index = token.rpartition("/")
        if name != asked["queryId"] or not index.isdecimal():
            raise invalid("The specified nextToken is invalid.")
        return int(index)


def _statistics(rows: int) -> dict[str, float]:
    return {"recordsMatched": float(rows), "recordsScanned": float(rows), "bytesScanned": 150.0 * rows}
