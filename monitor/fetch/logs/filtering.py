"""What do all streams of a job contain together, in one time span? FilterLogEvents, answer by answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from monitor.aws.calls import Pagination
from monitor.aws.clients import Clients
from monitor.errors import BadCall
from monitor.fetch.logs.pages import Event, Seen
from monitor.fetch.logs.streams import GROUP, prefix

Answer = tuple[str, list[Event]]
"""The events of one stream in one answer."""


@dataclass(slots=True)
class Look:
    """A look at all streams from ``from_ms`` on, and how far it came.

    One that was left in the middle of an answer begins again: who looks tells by ``seen`` and by what was handed out
    before what is new.
    """

    from_ms: int
    to_ms: int | None = None
    token: str | None = None
    seen: Seen = field(default_factory=Counter)
    """Of this look, in the answers before."""
    clean: bool = True
    """Between two answers."""

    def answers(self, clients: Clients, job_name: str) -> Iterator[list[Answer]]:
        """The events of each stream, answer by answer. Errors of ``monitor.errors``."""
        if not self.clean:
            self._again()
        onward = Pagination("logs:FilterLogEvents")
        while True:
            try:
                found, following = filtered(clients, job_name, self.from_ms, self.token, self.to_ms)
                following = onward.after(following, len(found))
            except BadCall:
                if self.token is None:
                    raise
                # Tokens live for a day.
                self._again()
                continue
            self.clean = False
            yield found
            self.clean, self.token = True, following
            if following is None:
                return

    def _again(self) -> None:
        self.token, self.seen, self.clean = None, Counter(), True


def filtered(
    clients: Clients, job_name: str, from_ms: int, token: str | None, to_ms: int | None = None
) -> tuple[list[Answer], str | None]:
    """(the events of each stream in one answer, token of the next answer); ``to_ms`` is left out."""
    events, following = in_time(clients, job_name, from_ms, token, to_ms)
    by_stream: dict[str, list[Event]] = {}
    for event in events:
        by_stream.setdefault(event["logStreamName"], []).append(event)
    return list(by_stream.items()), following


def in_time(
    clients: Clients, job_name: str, from_ms: int, token: str | None, to_ms: int | None = None, node: str | None = None
) -> tuple[list[Event], str | None]:
    """As ``filtered``, with the events of all streams, or of one node's own, in their one order."""
    own = prefix(job_name) + (f"{node}-" if node else "")
    more: dict[str, Any] = {"nextToken": token} if token else {}
    if to_ms is not None:
        more["endTime"] = to_ms
    answer = clients.call(
        "logs", "filter_log_events", logGroupName=GROUP, logStreamNamePrefix=own, startTime=from_ms, **more
    )
    # Not every stand-in for AWS looks at the prefix. The end of the span belongs to it, AWS says.
    events = [
        event
        for event in answer["events"]
        if event["logStreamName"].startswith(own) and (to_ms is None or event["timestamp"] < to_ms)
    ]
    following = answer.get("nextToken")
    return events, None if following == token else following
