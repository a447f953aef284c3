"""CloudWatch Logs as AWS serves it, in memory: streams sorted by time, small pages, empty ones between, late events."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any

from monitor.errors import BadCall
from monitor.fetch.logs.events import GROUP
from tests.aws.fake import Scripted

Key = tuple[int, int]
"""(time, order of arrival): where an event stands in its stream."""


class CloudWatchLogs:
    """Tokens name a place between events, so that what arrives late before that place is passed over, as on AWS."""

    def __init__(self, page: int = 3, empty: Iterable[int] = ()) -> None:
        self.page = page
        self.empty = set(empty)
        """Numbers of the calls that are answered with no event and a new token."""
        self.streams: dict[str, dict[Key, str]] = {}
        self.written: dict[str, list[str]] = {}
        self.expired: set[str] = set()
        self.broken: dict[str, Exception] = {}
        self.takes_s = 0.0
        self.most_at_once = 0
        self.calls = 0
        self.before_answer: Any = lambda: None
        self._now = 0
        self._arrivals = 0
        self._lock = threading.Lock()
        self.clients = Scripted(
            describe_log_streams=self.describe, get_log_events=self.events, filter_log_events=self.filter
        )

    def write(self, stream: str, *messages: str, at_ms: int | None = None) -> None:
        """Messages a second apart from the stream's last on, or all at one time."""
        events = self.streams.setdefault(stream, {})
        for message in messages:
            last_ms = max((key[0] for key in events), default=START_MS - 1000)
            events[(last_ms + 1000 if at_ms is None else at_ms, self._arrivals)] = message
            self._arrivals += 1
            self.written.setdefault(stream, []).append(message)

    def describe(self, **asked: Any) -> dict[str, Any]:
        assert asked["logGroupName"] == GROUP
        assert asked["limit"] <= 50
        names = sorted(name for name in self.streams if name.startswith(asked["logStreamNamePrefix"]))
        at = int(asked.get("nextToken", 0))
        more = {"nextToken": str(at + 50)} if at + 50 < len(names) else {}
        return {"logStreams": [{"logStreamName": name} for name in names[at : at + 50]], **more}

    def events(self, **asked: Any) -> dict[str, Any]:
        with self._lock:
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        time.sleep(self.takes_s)
        self.before_answer()
        try:
            return self._events(**asked)
        finally:
            with self._lock:
                self._now -= 1

    def _events(
        self,
        logStreamName: str,  # noqa: N803
        startFromHead: bool,  # noqa: N803
        nextToken: str | None = None,  # noqa: N803
        endTime: int | None = None,  # noqa: N803
        **_: Any,
    ) -> dict[str, Any]:
        if error := self.broken.get(logStreamName):
            raise error
        if nextToken in self.expired:
            self.expired.discard(nextToken)
            raise BadCall("AWS refused logs:GetLogEvents: The specified nextToken is invalid.")
        keys = [key for key in sorted(self.streams[logStreamName]) if endTime is None or key[0] < endTime]
        forward = startFromHead if nextToken is None else nextToken[0] == "f"
        if nextToken is not None:
            place = _place(nextToken)
            keys = [key for key in keys if (key > place if forward else key < place)]
        chosen = [] if self._is_empty() else keys[: self.page] if forward else keys[-self.page :]
        first = chosen[0] if chosen else _place(nextToken) if nextToken else (-1, -1) if forward else (1 << 60, 0)
        last = chosen[-1] if chosen else first
        tokens = {"nextForwardToken": _token("f", last), "nextBackwardToken": _token("b", first)}
        if not chosen and keys:
            # An empty page in the middle has a token of its own for the same place.
            tokens = {name: f"{token}+{self.calls}" for name, token in tokens.items()}
        elif not chosen and nextToken is not None:
            tokens["nextForwardToken" if forward else "nextBackwardToken"] = nextToken
        events = [{"timestamp": key[0], "message": self.streams[logStreamName][key]} for key in chosen]
        return {"events": events, **tokens}

    def filter(
        self,
        logStreamNamePrefix: str,  # noqa: N803
        startTime: int,  # noqa: N803
        nextToken: str | None = None,  # noqa: N803
        endTime: int | None = None,  # noqa: N803
        **_: Any,
    ) -> dict[str, Any]:
        self.before_answer()
        found = sorted(
            (key, stream, message)
            for stream, events in self.streams.items()
            for key, message in events.items()
            if stream.startswith(logStreamNamePrefix) and startTime <= key[0]
            # AWS says of the end only that what is later is left out.
            if endTime is None or key[0] <= endTime
        )
        if nextToken is not None:
            found = [one for one in found if one[0] > _place(nextToken)]
        chosen = [] if self._is_empty() else found[: self.page]
        events = [
            {"logStreamName": stream, "timestamp": key[0], "message": message, "eventId": str(key)}
            for key, stream, message in chosen
        ]
        if len(chosen) == len(found):
            return {"events": events, "searchedLogStreams": []}
        last = chosen[-1][0] if chosen else _place(nextToken) if nextToken else (-1, -1)
        return {"events": events, "nextToken": f"{_token('n', last)}+{self.calls}"}

    def _is_empty(self) -> bool:
        with self._lock:
            self.calls += 1
            return self.calls in self.empty


START_MS = 1_700_000_000_000


def _token(kind: str, key: Key) -> str:
    return f"{kind}/{key[0]}/{key[1]}"


def _place(token: str) -> Key:
    _, time_ms, arrival = token.partition("+")[0].split("/")
    return int(time_ms), int(arrival)
