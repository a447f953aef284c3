"""What could be saved: one model, by which no second is counted twice and no sum passes the bill."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.planted.catalogue import FAULTS, Ticket, scenario
from benchmarks.planted.source import PlantedSource
from monitor.diagnose.stakes import (
    GOES_ON,
    STEPS,
    WORK,
    Bill,
    recoverable,
    stakes_usd,
    total_usd,
    usd_per_hour_of_steps,
)
from monitor.diagnose.words.report import saved_words
from monitor.model import Cost, Finding, Price, Report, Saving
from monitor.review import Reviewer
from tests import situations
from tests.drawn import drawn

NAMES = ("image", "initialization", "productive", "slow-excess", "checkpoint", "stall", "lost-work", "unknown")
SLACK = 1e-9


@st.composite
def savings(draw: st.DrawFn) -> Saving:
    share = st.floats(0.0, 1.0)
    return Saving(
        tuple(draw(st.sets(st.sampled_from(NAMES), min_size=1))),
        draw(share),
        draw(st.none() | st.floats(0.0, 20_000.0)),
        draw(st.sampled_from(["void", "idle", "waiting", "computing"])),
        draw(st.none() | share),
    )


@st.composite
def bills(draw: st.DrawFn) -> Bill:
    seconds = {name: draw(st.floats(0.0, 10_000.0)) for name in NAMES}
    parts = {name: draw(st.floats(0.01, 1.0)) for name in GOES_ON}
    hour = {name: part / sum(parts.values()) for name, part in parts.items()}
    return Bill(seconds, hour, draw(st.floats(0.0, 1e5)), draw(st.floats(0.0, 1e3)), is_running=True)


def _sums(bill: Bill, each: Sequence[Saving]) -> tuple[float, float]:
    found = bill.saved_usd(each), bill.saved_usd_per_hour(each)
    assert found[0] is not None
    assert found[1] is not None
    return found[0], found[1]


@given(bills(), st.lists(savings(), max_size=6), savings())
def test_never_more_than_the_bill_nor_less_for_another_finding_nor_other_in_another_order(
    bill: Bill, each: list[Saving], another: Saving
) -> None:
    together = _sums(bill, each)
    assert bill.usd is not None
    assert bill.usd_per_hour is not None
    for sum_usd, most in zip(together, (bill.usd, bill.usd_per_hour), strict=True):
        assert 0 <= sum_usd <= most * (1 + SLACK)
    for before, after in zip(together, _sums(bill, [*each, another]), strict=True):
        assert after >= before * (1 - SLACK) - SLACK
    assert _sums(bill, each[::-1]) == pytest.approx(together)
    alone = [_sums(bill, [one]) for one in each]
    for place in (0, 1):
        assert together[place] <= sum(one[place] for one in alone) * (1 + SLACK) + SLACK


@given(bills(), st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5))
def test_remedies_of_the_same_waste_are_the_largest_of_them(bill: Bill, shares: list[float]) -> None:
    each = [Saving(STEPS, share) for share in shares]
    assert _sums(bill, each) == pytest.approx(_sums(bill, [Saving(STEPS, max(shares))]))


def test_what_is_wrong_in_two_ways_is_saved_one_after_the_other() -> None:
    """Half of the GPUs without work, and the others wait for a fifth of the time: 0.5 x 0.8 is left."""
    bill = Bill({"productive": 3600.0}, {"productive": 1.0}, 10.0, 10.0, is_running=True)
    both = [Saving(WORK, 0.5, kind="idle"), Saving(STEPS, 0.2)]
    assert _sums(bill, both) == (pytest.approx(6.0), pytest.approx(6.0))


def test_the_same_seconds_of_a_bucket_count_once() -> None:
    bill = Bill({"initialization": 1000.0, "productive": 1000.0}, {}, 20.0)
    assert bill.saved_usd([Saving(("initialization",)), Saving(("initialization",), most_s=600.0)]) == 10.0


@pytest.mark.parametrize("planted", drawn(FAULTS, 16))
def test_words_sums_and_bill_agree_on_every_planted_job(planted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PlantedSource, "price", lambda self, kind, job: Price(10.0, "test"))
    job = scenario(Ticket(planted, 0))
    _agrees(Reviewer(PlantedSource(job), job.plan.name).review(job.now))


def _agrees(found: Report) -> None:
    cost = found.cost
    assert cost.usd is not None
    sums = (cost.recoverable_usd, cost.recoverable_usd_per_hour)
    assert cost.recoverable_usd is None or 0 <= cost.recoverable_usd <= cost.usd * (1 + SLACK)
    assert (cost.recoverable_usd_per_hour is not None) == (found.job.is_running and cost.recoverable_usd is not None)
    for finding in found.findings:
        if finding.prediction is not None and finding.prediction.step_time_change_percent[1] < 0:
            assert [saving.share for saving in finding.savings] == [
                pytest.approx(-finding.prediction.step_time_change_percent[1] / 100)
            ], finding.id
        if not finding.savings:
            continue
        assert finding.share is not None
        assert cost.recoverable_usd is not None
        assert finding.share * cost.usd <= cost.recoverable_usd * (1 + SLACK) + SLACK
        # What a finding says in dollars is its own part of the sum, so never more than the tile beside it.
        said = f"{finding.summary} {finding.recommendation.text if finding.recommendation else ''}"
        for amount, an_hour in re.findall(r"\$([\d,]+(?:\.\d+)?)( an hour)?", said):
            most = sums[1] if an_hour else sums[0]
            assert most is not None
            assert float(amount.replace(",", "")) <= most + 0.51, (finding.id, said)
    alone = [finding for finding in found.findings if finding.savings]
    if len(alone) == 1:
        assert alone[0].share == pytest.approx((cost.recoverable_usd or 0.0) / cost.usd if cost.usd else 0.0)


def _finding(*savings: Saving, severity: str = "warning") -> Finding:
    return Finding("slow-node", severity, "high", "t", "s", savings=savings)  # type: ignore[arg-type]


BILL = Bill({"productive": 3600.0}, {"productive": 1.0}, 40.0, 40.0, is_running=True)
HALF = _finding(Saving(STEPS, 0.5))


@pytest.mark.parametrize(
    ("findings", "asks", "is_judged", "expected"),
    [
        ((), False, True, 0.0),
        ((), False, False, None),
        ((_finding(),), True, True, None),
        ((HALF,), True, False, 20.0),
        ((HALF, _finding()), True, True, 20.0),
    ],
    ids=["nothing found", "nothing seen", "nobody knows how much", "one says", "one of two says"],
)
def test_not_known_is_not_nothing(
    findings: tuple[Finding, ...], asks: bool, is_judged: bool, expected: float | None
) -> None:
    found = recoverable(Cost(40.0), BILL, findings, asks, is_judged)
    assert (found.recoverable_usd, found.recoverable_usd_per_hour) == (expected, expected)


def test_without_a_price_there_is_no_sum() -> None:
    assert recoverable(Cost(), replace(BILL, usd=None, usd_per_hour=None), (HALF,), True, True) == Cost()
    assert saved_words(replace(BILL, usd_per_hour=None), HALF.savings) == ""


def test_what_was_lost_so_far_is_not_lost_again_in_the_next_hour() -> None:
    bill = replace(BILL, seconds={"initialization": 3600.0, "productive": 3600.0})
    late = [Saving(("image", "initialization"))]
    assert bill.saved_usd(late) == pytest.approx(20.0)
    assert bill.saved_usd_per_hour(late) == 0.0


def test_sums_of_a_spot_job_are_at_most() -> None:
    assert saved_words(replace(BILL, at_most=True), HALF.savings) == "at most $20.00 an hour"


def test_jobs_are_ranked_an_hour_while_they_run_and_in_all_afterwards() -> None:
    cost = Cost(100.0, recoverable_usd=30.0, recoverable_usd_per_hour=7.0)
    assert stakes_usd(replace(situations.running(), cost=cost)) == 7.0
    assert stakes_usd(replace(situations.low_utilization(), cost=cost)) == 30.0


def test_what_is_not_known_is_not_in_the_sum_and_no_sum_of_nothing_is_zero() -> None:
    assert total_usd([1.0, None, 2.0]) == 3.0
    assert total_usd([None]) is None


def test_what_steps_cost_in_an_hour_is_what_a_change_of_their_time_is_worth() -> None:
    running = situations.running()
    costs = usd_per_hour_of_steps(running)
    assert costs == pytest.approx(4 * 32.77)
    half_saved = replace(running.phases[-1], name="checkpoint", start=running.phases[-1].start)
    middle = running.phases[-1].start + (running.phases[-1].end - running.phases[-1].start) / 2
    phases = (*running.phases[:-1], replace(running.phases[-1], end=middle), replace(half_saved, start=middle))
    assert usd_per_hour_of_steps(replace(running, phases=phases)) == pytest.approx(2 * 32.77)
    assert usd_per_hour_of_steps(replace(running, cost=Cost())) is None
