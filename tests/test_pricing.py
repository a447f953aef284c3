"""A report has its price from the settings, else from the source, and never waits for it with the first picture."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from monitor.archive.cache import Cache
from monitor.archive.document import report_document
from monitor.diagnose.headline import facts
from monitor.diagnose.words.report import cost_words
from monitor.export.layout import markdown
from monitor.model import Gap, InstanceGroup, Price
from monitor.review import Reviewer
from monitor.settings import Settings
from monitor.show.job.header import figures
from tests.test_review import NOW, OneJob

KIND = "ml.test.8xlarge"
LISTED = Price(12.0, "AWS price list, us-east-1, 2026-03-04")
REFUSED = Gap(
    "price", "AWS does not allow pricing:GetProducts.", "Put the price into the settings file.", transient=True
)


def _source(asks: Price | Gap | None, **job: Any) -> OneJob:
    source = OneJob()
    source.asks = asks
    source.known = replace(source.known, **job)
    return source


def test_the_settings_come_first_and_nobody_is_asked() -> None:
    source = _source(LISTED)
    report = Reviewer(source, "one", Settings({KIND: 36.0}, price_source="our contract")).review(NOW)
    assert (report.cost.price_usd_per_instance_hour, report.cost.price_source) == (36.0, "our contract")
    assert source.priced == []


def test_what_the_settings_do_not_say_is_asked() -> None:
    source = _source(LISTED)
    report = Reviewer(source, "one").review(NOW)
    assert report.cost.price_source == LISTED.source
    assert report.cost.usd == pytest.approx(2 * 12.0 * 50 / 60)
    assert source.priced == [KIND]
    assert not [gap for gap in report.run.gaps if gap.what == "price"]


def test_groups_of_several_types_have_a_mean_only_where_all_are_known() -> None:
    groups = (InstanceGroup("a", KIND, 1), InstanceGroup("b", "ml.other", 3))
    known = Reviewer(_source(LISTED, instance_groups=groups), "one", Settings({"ml.other": 4.0})).review(NOW)
    assert known.cost.price_usd_per_instance_hour == pytest.approx((12.0 + 3 * 4.0) / 4)
    half = Reviewer(_source(REFUSED, instance_groups=groups), "one", Settings({"ml.other": 4.0})).review(NOW)
    assert half.cost.price_usd_per_instance_hour is None
    assert half.cost.usd is None


def test_an_unknown_price_is_a_gap_that_is_said_once() -> None:
    report = Reviewer(_source(REFUSED), "one").review(NOW)
    assert report.cost.usd is None
    assert report_document(report)["coverage"]["warnings"] == [f"{REFUSED.why} {REFUSED.remedy}"]
    assert cost_words(report) == [f"Cost unknown: {REFUSED.why} {REFUSED.remedy}"]
    assert markdown(report).count(REFUSED.why) == 1


def test_steps_alone_need_no_price() -> None:
    source = _source(LISTED)
    Reviewer(source, "one", metrics=False).review(NOW)
    assert source.priced == []


def test_a_late_price_comes_in_a_second_report(monkeypatch: pytest.MonkeyPatch) -> None:
    source = _source(LISTED)
    source.price_late = threading.Event()
    reports = Reviewer(source, "one").reviews(lambda: NOW)
    first = next(reports)
    assert first.steps is not None
    assert first.cost.usd is None
    assert first.run.gaps == ()
    source.price_late.set()
    (last,) = reports
    assert last.cost.price_source == LISTED.source


def test_a_price_that_is_there_makes_no_second_report() -> None:
    reviewer = Reviewer(_source(None), "one", Settings({KIND: 1.0}))
    assert [report.cost.price_usd_per_instance_hour for report in reviewer.reviews(lambda: NOW)] == [1.0]


def test_a_spot_job_that_runs_is_said_to_cost_at_most_that() -> None:
    source = _source(LISTED, spot=True, status="InProgress", ended=None)
    report = Reviewer(source, "one").review(NOW)
    assert "at most $24.00 so far" in facts(report)
    (tile,) = (tile for tile in figures(report) if tile.label == "Cost")
    assert tile.value == "≤ $24.00"
    assert "a spot job pays at most that" in tile.help


class Kept(OneJob):
    """A job that may be kept in the cache."""

    def endpoint(self) -> str | None:
        return "https://sagemaker.test"


@pytest.fixture
def kept(tmp_path: Path) -> tuple[Kept, Cache]:
    source = Kept()
    source.known = replace(source.known, arn="arn:aws:sagemaker:us-east-1:1:training-job/one")
    return source, Cache(tmp_path, 1 << 30, "one")


def test_a_run_from_the_cache_has_todays_price_and_pool(kept: tuple[Kept, Cache]) -> None:
    source, cache = kept
    now = datetime(2026, 3, 5, tzinfo=UTC)
    source.asks = REFUSED
    first = Reviewer(source, "one", cache=cache).review(now)
    assert first.kept_at is None
    assert REFUSED in first.run.gaps
    # A refused price keeps nothing out of the cache, and a pool that goes on is no other job.
    source.asks = LISTED
    source.known = replace(source.known, warm_pool_billable_seconds=600)
    again = Reviewer(source, "one", cache=cache).review(now)
    assert again.kept_at is not None
    assert again.run.gaps == ()
    assert again.cost.price_source == LISTED.source
    assert again.cost.retained_usd == pytest.approx(2 * 12.0 / 6)
    (warning,) = report_document(again)["coverage"]["warnings"]
    assert "warm pool for 10 min" in warning
    assert "$4.00 in addition to the cost of the job" in warning


def test_types_to_compare_it_with_are_asked_too_and_their_absence_is_no_gap() -> None:
    groups = (InstanceGroup("a", "ml.p4de.24xlarge", 2),)
    source = _source(LISTED, instance_groups=groups)
    report = Reviewer(source, "one", Settings({"ml.p4d.24xlarge": 25.0})).review(NOW)
    assert report.price is not None
    assert report.price.others == {"ml.p5.48xlarge": 12.0, "ml.p4d.24xlarge": 12.0}
    assert sorted(source.priced) == ["ml.p4d.24xlarge", "ml.p4de.24xlarge", "ml.p5.48xlarge"]
    source = _source(LISTED, instance_groups=groups)
    by_contract = {"ml.p4de.24xlarge": 31.0, "ml.p5.48xlarge": 40.0}
    own = Reviewer(source, "one", Settings(by_contract)).review(NOW)
    assert own.price is not None
    assert own.price.others == {"ml.p5.48xlarge": 40.0}
    assert source.priced == []
