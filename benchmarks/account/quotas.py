"""How many calls a second does a region allow? A bucket of tokens an operation, for all clients together."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.account.plan import Account

# Quotas of CloudWatch Logs and CloudWatch, by region where they differ. They are not adjustable.
_GET_LOG_EVENTS = {
    "us-west-2": 10.0,
    "eu-west-1": 10.0,
    "eu-central-1": 10.0,
    "ap-northeast-3": 10.0,
    "ap-southeast-3": 10.0,
    "ca-west-1": 10.0,
    "il-central-1": 10.0,
    "eu-west-3": 30.0,
}
_FILTER_LOG_EVENTS = {
    "us-east-1": 25.0,
    "eu-central-1": 5.0,
    "ap-northeast-3": 5.0,
    "ap-southeast-3": 5.0,
    "ca-west-1": 5.0,
    "il-central-1": 5.0,
}
# AWS publishes none for SageMaker, STS and EC2's descriptions: the figures of the first two are ours.
_EVERYWHERE = {
    "DescribeLogStreams": 25.0,
    "DescribeLogGroups": 10.0,
    "StartQuery": 10.0,
    "GetQueryResults": 10.0,
    "GetMetricData": 500.0,
    "ListMetrics": 25.0,
    "DescribeTrainingJob": 10.0,
    "ListTrainingJobs": 10.0,
    "Search": 10.0,
}


def per_second(account: Account) -> dict[str, float]:
    """Calls a second by operation; an operation that is missing has no quota."""
    if account.quotas is not None:
        return dict(account.quotas)
    return _EVERYWHERE | {
        "GetLogEvents": _GET_LOG_EVENTS.get(account.region, 25.0),
        "FilterLogEvents": _FILTER_LOG_EVENTS.get(account.region, 10.0),
    }


@dataclass(slots=True)
class Bucket:
    """Holds one second's calls, and fills evenly. How much AWS lets through in a burst is not documented."""

    per_second: float
    _tokens: float = field(init=False)
    _at: float | None = None

    def __post_init__(self) -> None:
        self._tokens = max(1.0, self.per_second)

    def take(self, now_s: float) -> bool:
        """Whether one more call is allowed at ``now_s``, by any clock that does not go back."""
        if self._at is not None:
            self._tokens = min(max(1.0, self.per_second), self._tokens + (now_s - self._at) * self.per_second)
        self._at = now_s
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True
