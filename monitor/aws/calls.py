"""Calls to AWS: their count and price, their pace, the pages of their answers; and calls side by side, in threads that never keep
the process: Ctrl-C ends it at once, whatever answer is still out.

Every HTTP request passes here, tries again included. A quota belongs to an account and region, so all callers share one pacer,
which keeps this process below it. Where AWS says "slow down" anyway (others use the account too), the pace falls by a fifth and
climbs back slowly.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from monitor.errors import CannotDo, Unreachable
from monitor.model import ApiBill

#: CloudWatch's price of GetMetricData; the other calls this program makes to read are not charged by the call.
USD_PER_METRIC_REQUESTED = 0.01 / 1000


class Tally:
    """Counts HTTP requests by operation, tries again included. Safe to share between threads."""

    def __init__(self, max_usd: float | None = None) -> None:
        self._lock = threading.Lock()
        self._calls: Counter[str] = Counter()
        self._metrics_requested = 0
        self._more_usd = 0.0
        self._max_usd = max_usd

    def count(self, operation: str) -> None:
        with self._lock:
            self._calls[operation] += 1

    def count_metrics(self, requested: int) -> None:
        """Metrics that are about to be asked for. CannotDo where they would cost more than is allowed."""
        with self._lock:
            usd = self._usd(requested)
            if self._max_usd is not None and usd > self._max_usd:
                raise CannotDo(
                    f"The metrics would bring the cost to about ${usd:.4f}, more than --max-usd {self._max_usd:g}.",
                    "Allow more with --max-usd.",
                )
            self._metrics_requested += requested

    def add_usd(self, usd: float) -> None:
        """What is not charged by the call, such as the bytes that a query scanned."""
        with self._lock:
            self._more_usd += usd

    def bill(self) -> ApiBill:
        """Everything so far, and its price in USD (an estimate)."""
        with self._lock:
            return ApiBill(dict(sorted(self._calls.items())), self._usd())

    def _usd(self, more_metrics: int = 0) -> float:
        return (self._metrics_requested + more_metrics) * USD_PER_METRIC_REQUESTED + self._more_usd


class BudgetShare(Tally):
    """Of one of many who together may spend no more than ``whole`` allows."""

    def __init__(self, whole: Tally) -> None:
        super().__init__()
        self._whole = whole
        self.is_refused = False
        """Whether something was not asked for, as it would have cost too much."""

    def count_metrics(self, requested: int) -> None:
        try:
            self._whole.count_metrics(requested)
        except CannotDo:
            self.is_refused = True
            raise
        super().count_metrics(requested)


_METERED: ContextVar[tuple[Tally, ...]] = ContextVar("metered", default=())


@contextmanager
def metered(max_usd: float | None = None) -> Iterator[Tally]:
    """A tally of what is called within the block, by threads that it starts too."""
    with counted(tally := Tally(max_usd)):
        yield tally


@contextmanager
def counted(tally: Tally) -> Iterator[None]:
    """What is called within the block counts in this tally, too."""
    token = _METERED.set((*_METERED.get(), tally))
    try:
        yield
    finally:
        _METERED.reset(token)


def running() -> tuple[Tally, ...]:
    """The tallies of the blocks that the caller is in."""
    return _METERED.get()


# Calls a second that AWS allows for an account and region (CloudWatch Logs and CloudWatch quotas, 2025); operations that
# are not named have no published quota.
_PER_S = {
    "GetLogEvents": 25.0,
    "FilterLogEvents": 10.0,
    "DescribeLogStreams": 25.0,
    "StartQuery": 10.0,
    "GetQueryResults": 10.0,
    "GetMetricData": 50.0,
    # Of one prefix of a bucket.
    "GetObject": 5500.0,
    "ListObjectsV2": 5500.0,
    "PutMetricAlarm": 3.0,
    "DescribeAlarms": 9.0,
    "DeleteAlarms": 3.0,
}
_SMALL_REGIONS = ("eu-central-1", "ap-northeast-3", "ap-southeast-3", "ca-west-1", "il-central-1")
_BY_REGION = {
    "GetLogEvents": {
        **dict.fromkeys(("us-west-2", "eu-west-1", *_SMALL_REGIONS), 10.0),
        "eu-west-3": 30.0,
    },
    "FilterLogEvents": {
        "us-east-1": 25.0,
        **dict.fromkeys(_SMALL_REGIONS, 5.0),
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


#: Pages in a row that hold nothing: AWS sends some where it filters, or looks through long silences.
MOST_EMPTY = 500


class Pagination:
    """The tokens of one list: those that lead nowhere end with an error, not with the user's patience.

    ``action`` is what is asked, as a policy names it.
    """

    def __init__(self, action: str) -> None:
        self._action = action
        self._seen: set[str] = set()
        self._empty = 0

    def after(self, token: str | None, count: int) -> str | None:
        """The token to ask with next, None at the end; ``count`` is what this page held.

        Unreachable where a token comes back, or nothing comes but tokens.
        """
        if not token:
            return None
        self._empty = 0 if count else self._empty + 1
        if token in self._seen or self._empty > MOST_EMPTY:
            raise lead_nowhere(self._action)
        self._seen.add(token)
        return token


def lead_nowhere(action: str) -> Unreachable:
    """The pages of an answer go on without end."""
    return Unreachable(
        f"AWS does not answer like AWS: the pages of {action} lead nowhere.",
        "Try again in a minute; check AWS_ENDPOINT_URL and a proxy if it stays.",
    )


T = TypeVar("T")
R = TypeVar("R")
# glibc gives each thread a heap of its own, up to eight a core, and keeps what was freed there: pages of a megabyte then
# take a quarter of the memory of a whole review. From the largest block that was ever freed on, up to 32 MB, it keeps what
# is smaller, too. Its numbers of these settings: how many heaps are enough, and bytes that are given back whatever was freed.
_M_ARENA_MAX, _M_MMAP_THRESHOLD = -8, -3
_HEAPS = {_M_ARENA_MAX: 2, _M_MMAP_THRESHOLD: 1 << 20}


def begin(function: Callable[..., R], *arguments: Any) -> Future[R]:
    """Starts ``function`` in a thread of its own. The threads of concurrent.futures are waited for at the exit."""
    _few_heaps()
    future: Future[R] = Future()
    # What is metered where the thread is begun is metered in it.
    context = copy_context()
    threading.Thread(target=context.run, args=(_run, future, function, arguments), daemon=True).start()
    return future


def side_by_side(function: Callable[[T], R], items: Iterable[T], most: int) -> Iterator[R]:
    """What ``function`` gives for each item, in the order of the items, with at most ``most`` calls at a time."""
    running: deque[Future[R]] = deque()
    for item in items:
        if len(running) >= most:
            yield running.popleft().result()
        running.append(begin(function, item))
    while running:
        yield running.popleft().result()


@cache
def _few_heaps() -> None:
    """Another C library has no such setting, or another one of that name: nothing is lost there."""
    try:
        if sys.platform == "linux":
            library = ctypes.CDLL("libc.so.6")
            for setting, value in _HEAPS.items():
                library.mallopt(setting, value)
    except (OSError, AttributeError):
        pass


def _run(future: Future[R], function: Callable[..., R], arguments: tuple[Any, ...]) -> None:
    try:
        future.set_result(function(*arguments))
    except BaseException as error:
        future.set_exception(error)
