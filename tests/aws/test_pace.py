"""Calls stay under the quota, a refusal slows them down, and the pace comes back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.aws.calls import Pacer, pacer_of, quota_per_s


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now_s += seconds


@pytest.mark.parametrize(
    ("operation", "region", "expected"),
    [
        ("GetLogEvents", "us-east-1", 25.0),
        ("GetLogEvents", "eu-west-1", 10.0),
        ("GetLogEvents", "eu-west-3", 30.0),
        ("FilterLogEvents", "us-east-1", 25.0),
        ("FilterLogEvents", "eu-central-1", 5.0),
        ("FilterLogEvents", "eu-north-1", 10.0),
        ("DescribeTrainingJob", "us-east-1", None),
    ],
)
def test_quotas(operation: str, region: str, expected: float | None) -> None:
    assert quota_per_s(operation, region) == expected


@given(pauses=st.lists(st.floats(0, 0.3), min_size=30, max_size=200))
def test_no_second_sees_more_calls_than_the_quota(pauses: list[float]) -> None:
    clock = Clock()
    pacer = Pacer("us-west-2", clock, clock.sleep)
    went: list[float] = []
    for pause_s in pauses:
        clock.now_s += pause_s
        pacer.wait("GetLogEvents")
        went.append(clock.now_s)
    # Up to four go out at once after a pause; beyond these it is 10 a second.
    for first in range(len(went)):
        within = sum(went[first] <= moment < went[first] + 5.0 for moment in went)
        assert within <= 10 * 5.0 + 4


def test_a_refusal_slows_down_once_and_the_pace_climbs_back() -> None:
    clock = Clock()
    pacer = Pacer("us-east-1", clock, clock.sleep)
    full = pacer.pace_per_s("GetLogEvents")
    assert full == pytest.approx(24.5)
    for _ in range(8):
        pacer.throttled("GetLogEvents")
    assert pacer.pace_per_s("GetLogEvents") == pytest.approx(0.8 * 24.5)
    clock.now_s += 30
    slow = pacer.pace_per_s("GetLogEvents")
    assert slow is not None
    assert 0.8 * 24.5 < slow < full
    clock.now_s += 60
    assert pacer.pace_per_s("GetLogEvents") == full


def test_an_account_that_others_use_is_throttled_rarely() -> None:
    """Only 15 of 25 calls a second are left: after it has learned so, one call in a hundred at most is refused."""
    clock = Clock()
    pacer = Pacer("us-east-1", clock, clock.sleep)
    tokens, filled_s, refused, calls = 15.0, clock.now_s, 0, 0
    for n in range(20_000):
        pacer.wait("GetLogEvents")
        clock.now_s += 0.001
        tokens = min(15.0, tokens + 15.0 * (clock.now_s - filled_s))
        filled_s = clock.now_s
        late = n >= 1000
        calls += late
        if tokens < 1:
            pacer.throttled("GetLogEvents")
            refused += late
        else:
            tokens -= 1
    assert refused / calls < 0.01


def test_operations_without_a_quota_do_not_wait() -> None:
    clock = Clock()
    pacer = Pacer("us-east-1", clock, clock.sleep)
    for _ in range(1000):
        pacer.wait("DescribeTrainingJob")
    assert clock.now_s == 1000.0
    assert pacer.pace_per_s("DescribeTrainingJob") is None


def test_one_pacer_a_region_and_endpoint() -> None:
    assert pacer_of("us-east-1", "") is pacer_of("us-east-1", "")
    assert pacer_of("us-east-1", "") is not pacer_of("eu-west-1", "")
    assert pacer_of("us-east-1", "") is not pacer_of("us-east-1", "http://127.0.0.1:1")
    assert pacer_of("us-east-1", "", "1") is not pacer_of("us-east-1", "", "2")
