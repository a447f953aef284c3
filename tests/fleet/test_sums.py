"""The sums of a fleet's report: every billed second once, in one use, one cause, one owner, one day and one week."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.analyze.training_time import BUCKETS
from monitor.fleet.facts import DEFINITIONS, USES, FleetAccount, JobFacts, Only, Owners, use_of
from monitor.fleet.report import Sum
from monitor.fleet.sections import csv_rows, fleet_document, headline, sections
from monitor.fleet.summing import fleet_report
from monitor.fleet.window import DateWindow, by_day, since, week, week_of
from tests.fleet.built import MONDAY, facts

HOUR = 3600.0
WEEK = DateWindow(date(2026, 11, 16), date(2026, 11, 23))
NOW = datetime(2026, 11, 24, 6, tzinfo=UTC)

PIECES = st.lists(
    st.tuples(st.sampled_from(BUCKETS), st.integers(1, 400_000).map(float), st.booleans()), min_size=0, max_size=8
)


@st.composite
def jobs(draw: st.DrawFn) -> list[JobFacts]:
    made = []
    for number in range(draw(st.integers(1, 6))):
        pieces = draw(PIECES)
        start = MONDAY + timedelta(seconds=draw(st.integers(-900_000, 600_000)))
        length = sum(seconds for _, seconds, _ in pieces)
        saved = draw(st.none() | st.floats(0, 1).map(lambda share: start + timedelta(seconds=share * length)))  # noqa: B023
        made.append(
            facts(
                f"job-{number}",
                pieces,
                start,
                saved_at=saved,
                status=draw(st.sampled_from(["Completed", "Failed", "Stopped", "InProgress"])),
                instance_count=draw(st.integers(1, 5)),
                tags=draw(st.sampled_from([None, '{"team": "vision"}', '{"team": ""}'])),
                team=draw(st.sampled_from([None, "speech"])),
                account=draw(st.sampled_from(["111122223333", "444455556666", None])),
                account_name=draw(st.sampled_from([None, "lab-2"])),
                **draw(st.sampled_from([{}, {"cost_usd": None}, {"gpu_count": None}])),
            )
        )
    return made


def added(sums: list[Sum]) -> tuple[float, float, float]:
    return (
        sum(one.gpu_hours for one in sums),
        sum(one.instance_hours for one in sums),
        sum(one.usd for one in sums),
    )


def same(one: Sum) -> object:
    return pytest.approx((one.gpu_hours, one.instance_hours, one.usd), rel=1e-9, abs=1e-6)


@given(jobs())
def test_uses_causes_and_owners_sum_to_the_bill_of_the_window(made: list[JobFacts]) -> None:
    report = fleet_report("archive", made, WEEK, NOW, owner=Owners().by("team"))
    assert added([each.sum for each in report.by_use]) == same(report.total)
    assert added([each.sum for each in report.by_cause]) == same(report.total)
    assert added([each.sum for each in report.by_owner]) == same(report.total)
    for owner in report.by_owner:
        assert added([one for _, one in owner.by_use]) == same(owner.sum)
    shares = [each.share for each in report.by_use if each.share is not None]
    assert not shares or sum(shares) == pytest.approx(1.0)
    means = [each.mean_job_share for each in report.by_use if each.mean_job_share is not None]
    assert not means or sum(means) == pytest.approx(1.0)
    if report.goodput:
        assert 0 <= report.goodput[0] <= report.goodput[1] <= 1 + 1e-9
    # Whatever it is, it can be told in every form.
    assert headline(report)
    assert sections(report)
    assert list(csv_rows(report))
    assert fleet_document(report)["schema"] == 1


@given(jobs())
def test_weeks_and_days_add_up_to_all_that_was_billed(made: list[JobFacts]) -> None:
    whole = DateWindow(date(2026, 1, 1), date(2027, 12, 31))
    total = fleet_report("archive", made, whole, NOW).total
    billed = sum(each.usd or 0.0 for each in made if each.billed_s)
    assert total.usd == pytest.approx(billed, rel=1e-9, abs=1e-6)
    first = date(2026, 10, 26)
    weeks = [
        DateWindow(first + timedelta(days=7 * number), first + timedelta(days=7 * number + 7)) for number in range(20)
    ]
    assert added([fleet_report("archive", made, one, NOW).total for one in weeks]) == same(total)
    in_report = fleet_report("archive", made, WEEK, NOW).weeks
    until = fleet_report("archive", made, DateWindow(date(2026, 1, 1), WEEK.end), NOW).total
    assert added([one for _, sums in in_report for _, one in sums]) == same(until)


@given(st.floats(0, 3e7).map(lambda seconds: MONDAY + timedelta(seconds=seconds)), st.floats(0, 1e7))
def test_the_days_of_a_span_add_up_to_it(start: datetime, seconds: float) -> None:
    end = start + timedelta(seconds=seconds)
    days = list(by_day(start, end))
    assert sum(each for _, each in days) == pytest.approx((end - start).total_seconds(), abs=1e-3)
    assert [day for day, _ in days] == sorted({day for day, _ in days})
    assert all(0 < each <= 86400 for _, each in days)


def test_every_bucket_has_a_use_and_every_use_a_definition() -> None:
    assert {use_of(bucket) for bucket in BUCKETS} <= set(USES) == set(DEFINITIONS)


def test_a_job_over_a_week_border_is_cut_there() -> None:
    sunday = datetime(2026, 11, 22, 22, tzinfo=UTC)
    job = facts("long", [("productive", 6 * HOUR, True)], sunday)
    assert fleet_report("archive", [job], WEEK, NOW).total == Sum(16.0, 2.0, 72.0)
    after = DateWindow(WEEK.end, WEEK.end + timedelta(days=7))
    assert fleet_report("archive", [job], after, NOW).total == Sum(32.0, 4.0, 144.0)


def test_a_failed_job_lost_what_came_after_its_last_checkpoint() -> None:
    pieces = [("initialization", HOUR, True), ("productive", 3 * HOUR, True)]
    saved = MONDAY + timedelta(hours=2)
    job = facts("crashed", pieces, saved_at=saved, status="Failed", findings=[{"id": "script-error"}])
    report = fleet_report("archive", [job], WEEK, NOW)
    assert {each.use: each.sum.instance_hours for each in report.by_use if each.sum.instance_hours} == {
        "trained": 1.0, "failed": 2.0, "waiting": 1.0,
    }  # fmt: skip
    (failure,) = report.failures
    assert (failure.cause, failure.blame, failure.failed.usd) == ("script-error", "user", 72.0)


def test_nobody_knows_what_a_failed_job_without_a_checkpoint_kept() -> None:
    job = facts("silent", [("productive", 3 * HOUR, True)], status="Failed")
    report = fleet_report("archive", [job], WEEK, NOW)
    assert report.goodput == (0.0, 1.0)
    assert report.waste == Sum()
    assert report.coverage.judged_share == 0.0
    assert report.failures[0].cause == "unknown"
    (failures,) = (section for section in sections(report) if section.title == "Failures")
    assert failures.rows == (("cause not found", "either", "1", "not known", "not known"),)
    assert fleet_document(report)["failures"][0]["failed"] is None
    seen = facts("seen", [("productive", 3 * HOUR, True)], saved_at=MONDAY + timedelta(hours=2), status="Failed")
    both = fleet_report("archive", [job, seen], WEEK, NOW)
    assert next(each for each in sections(both) if each.title == "Failures").rows[0][3:] == ("≥ 8.00", "≥ $36.00")


def test_a_failed_job_that_never_stepped_was_for_nothing() -> None:
    job = facts("early", [("downloading", HOUR, True), ("initialization", HOUR, True)], status="Failed", step_reports=0)
    report = fleet_report("archive", [job], WEEK, NOW)
    assert {each.use for each in report.by_use if each.jobs} == {"failed"}


def test_hours_and_jobs_weigh_differently() -> None:
    large = facts("large", [("productive", 90 * HOUR, True), ("stall", 10 * HOUR, True)])
    small = facts("small", [("productive", HOUR, True), ("stall", HOUR, True)])
    idle = next(each for each in fleet_report("a", [large, small], WEEK, NOW).by_use if each.use == "idle")
    assert idle.share == pytest.approx(11 / 102)
    assert idle.mean_job_share == pytest.approx(0.3)


def test_what_has_no_price_or_no_gpu_count_is_counted_and_not_guessed() -> None:
    unpriced = facts("unpriced", [("productive", HOUR, True)], cost_usd=None, gpu_count=None)
    report = fleet_report("archive", [unpriced], WEEK, NOW)
    assert report.total == Sum(0.0, 1.0, 0.0, 1.0, 1.0)
    assert (report.coverage.without_price, report.coverage.without_gpus) == (1, 1)
    assert "instance-hours" in headline(report)[0]
    assert "$" not in " ".join(headline(report))
    document = fleet_document(report)
    assert (document["total"]["usd"], document["total"]["gpu_hours"]) == (None, None)
    priced = facts("priced", [("productive", HOUR, True)])
    told = fleet_report("archive", [unpriced, priced], WEEK, NOW)
    assert headline(told)[0].startswith("at least 8.00 GPU-hours, at least $36.00 in 2 jobs")
    assert sections(told)[0].rows[-1][1:4] == ("≥ 8.00", "100 %", "≥ $36.00")


def test_teams_come_from_the_tag_else_from_the_account_else_from_nowhere() -> None:
    owners = Owners("squad", members={"111122223333": FleetAccount("lab", "research", "maps")})
    tagged = facts("tagged", [], tags='{"squad": "vision", "owner": "ann@example.com"}')
    noted = facts("noted", [], team="speech", project="asr", account_name="lab-2")
    assert [owners.team(each) for each in (tagged, noted, facts("plain", []))] == ["vision", "speech", "research"]
    assert [owners.project(each) for each in (tagged, noted)] == ["maps", "asr"]
    assert [owners.account(each) for each in (tagged, noted)] == ["lab us-east-1", "lab-2 us-east-1"]
    assert Owners().team(facts("plain", [])) == Owners().project(tagged) == "untagged"


def test_a_report_of_some_accounts_regions_or_teams_leaves_out_the_others() -> None:
    owners = Owners(members={"111122223333": FleetAccount("lab")})
    made = [facts("a", [("productive", HOUR, True)], team="speech"), facts("b", [("productive", HOUR, True)])]
    for only, names, words in (
        (Only(teams=frozenset({"speech"})), 1, "team speech"),
        (Only(accounts=frozenset({"lab"}), owners=owners), 2, "account lab"),
        (Only(frozenset({"111122223333"}), frozenset({"us-east-1"})), 2, "account 111122223333, region us-east-1"),
        (Only(regions=frozenset({"eu-west-1"})), 0, "region eu-west-1"),
    ):  # fmt: skip
        report = fleet_report("archive", made, WEEK, NOW, only=only)
        assert report.coverage.jobs == names
        assert words in headline(report)[0]


def test_an_empty_window_says_so() -> None:
    report = fleet_report("archive", [], WEEK, NOW)
    assert headline(report) == ("No archived job ran in 2026-W47.",)
    assert sections(report)


def test_weeks_as_they_are_written() -> None:
    tuesday = date(2026, 11, 24)
    assert week("last", tuesday) == WEEK
    assert week("this", tuesday) == DateWindow(date(2026, 11, 23), date(2026, 11, 30))
    assert week("2026-W47", tuesday) == week("2026W47", tuesday) == WEEK
    assert week("2026-W54", tuesday) is week("soon", tuesday) is None
    assert week_of(date(2027, 1, 3)) == "2026-W53"
    assert since(timedelta(days=7), NOW) == DateWindow(date(2026, 11, 18), date(2026, 11, 25))
