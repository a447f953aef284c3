"""How fast may each operation be called? Keeps this process under AWS's quotas, and learns from being throttled.

Every HTTP request passes here, tries again included. A quota belongs to an account and region, so all callers share one
pacer. Where AWS says "slow down" anyway (others use the account too), the pace falls by a fifth and climbs back slowly.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

# Calls a second that AWS allows for an account and region (CloudWatch Logs and CloudWatch quotas, 2025); operations that
# are not named have no published quota.
_PER_S = {"GetLogEvents": 25.0, "FilterLogEvents": 10.0, "DescribeLogStreams": 25.0, "StartQuery": 10.0}
_PER_S |= {"GetQueryResults": 10.0, "GetMetricData": 50.0}
# Of one prefix of a bucket.
_PER_S |= {"GetObject": 5500.0, "ListObjectsV2": 5500.0}
_PER_S |= {"PutMetricAlarm": 3.0, "DescribeAlarms": 9.0, "DeleteAlarms": 3.0}
_BY_REGION = {
    "GetLogEvents": {
        **dict.fromkeys(("us-west-2", "eu-west-1", "eu-central-1", "ap-northeast-3", "ap-southeast-3"), 10.0),
        **dict.fromkeys(("ca-west-1", "il-central-1"), 10.0),
        "eu-west-3": 30.0,
    },
    "FilterLogEvents": {
        "us-east-1": 25.0,
        **dict.fromkeys(("eu-central-1", "ap-northeast-3", "ap-southeast-3", "ca-west-1", "il-central-1"), 5.0),
    },
}
# The quota is not met to the last call: clocks and networks shift calls by some milliseconds.
_SHARE = 0.98
# What may go out at once after a pause: so many seconds' calls.
_AT_ONCE_S = 0.4
_SLOWER = 0.8
# A pace that fell climbs back by this share of the quota in a second: twenty per cent in a minute.
_CLIMB_PER_S = 0.2 / 60
# Answers to calls that were under way say the same as the first one.
_ONE_STORY_S = 1.0
_SLOWEST_SHARE = 0.02


def quota_per_s(operation: str, region: str) -> float | None:
    """Calls a second that AWS allows by default; None where no quota is known."""
    return _BY_REGION.get(operation, {}).get(region, _PER_S.get(operation))


@dataclass(slots=True)
class _Lane:
    """One operation's pace."""

    per_s: float
    """The quota."""
    pace_per_s: float
    next_s: float = 0.0
    """When the next call is due if they are spread evenly."""
    changed_s: float = 0.0
    throttled_s: float = field(default=float("-inf"))


class Pacer:
    """Spreads calls in time. Safe to share between threads; ``clock`` and ``sleep`` are the tests' to replace."""

    def __init__(
        self, region: str, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._region = region
        self._clock = clock
        self._sleep = sleep
        self._lock = threading.Lock()
        self._lanes: dict[str, _Lane] = {}

    def wait(self, operation: str) -> None:
        """Returns when a call may go out."""
        with self._lock:
            lane = self._lane(operation)
            if lane is None:
                return
            now_s = self._clock()
            self._climb(lane, now_s)
            gap_s = 1.0 / lane.pace_per_s
            due_s = max(lane.next_s, now_s - max(0.0, _AT_ONCE_S - gap_s))
            lane.next_s = due_s + gap_s
        if due_s > now_s:
            self._sleep(due_s - now_s)

    def throttled(self, operation: str) -> None:
        """AWS refused a call because there were too many."""
        with self._lock:
            lane = self._lane(operation)
            if lane is None:
                return
            now_s = self._clock()
            if now_s - lane.throttled_s < _ONE_STORY_S:
                return
            self._climb(lane, now_s)
            lane.throttled_s = now_s
            lane.pace_per_s = max(_SLOWEST_SHARE * lane.per_s, _SLOWER * lane.pace_per_s)
            # What is used up must come back before the next call.
            lane.next_s = max(lane.next_s, now_s + 1.0 / lane.pace_per_s)

    def pace_per_s(self, operation: str) -> float | None:
        """Calls a second at the moment; None where calls are not paced."""
        with self._lock:
            lane = self._lane(operation)
            if lane is not None:
                self._climb(lane, self._clock())
            return lane.pace_per_s if lane else None

    def _lane(self, operation: str) -> _Lane | None:
        if operation not in self._lanes:
            per_s = quota_per_s(operation, self._region)
            if per_s is None:
                return None
            self._lanes[operation] = _Lane(per_s, _SHARE * per_s, changed_s=self._clock())
        return self._lanes[operation]

    @staticmethod
    def _climb(lane: _Lane, now_s: float) -> None:
        lane.pace_per_s = min(
            _SHARE * lane.per_s, lane.pace_per_s + _CLIMB_PER_S * lane.per_s * (now_s - lane.changed_s)
        )
        lane.changed_s = now_s


_pacers: dict[tuple[str, str, str], Pacer] = {}
_pacers_lock = threading.Lock()


def pacer_of(region: str, endpoint_url: str, account: str = "") -> Pacer:
    """The one pacer of this process for an account and region (and an endpoint, where AWS is stood in for).

    ``account`` is its number, or whatever else tells credentials of different accounts apart.
    """
    with _pacers_lock:
        return _pacers.setdefault((region, endpoint_url, account), Pacer(region))


def shared_pacer(region: str, endpoint_url: str, number: str, mine: Pacer) -> Pacer:
    """The pacer of the account of that number: ``mine``, unless somebody else came to it before."""
    with _pacers_lock:
        return _pacers.setdefault((region, endpoint_url, number), mine)
