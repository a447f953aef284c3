"""What pages ask DuckDB is what the report says."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as with_settings

from monitor.accounts import Account
from monitor.archive.fleet_parts import FactStore
from monitor.choices import BY
from monitor.fleet.facts import JobFacts
from monitor.fleet.summing import fleet_report
from monitor.fleet.window import DateWindow
from monitor.review.fleet_facts import FleetDatabase, owners_of
from monitor.settings import Settings
from tests.fleet.built import facts
from tests.fleet.test_sums import jobs

WEEK = DateWindow(date(2026, 11, 16), date(2026, 11, 23))
NOW = datetime(2026, 11, 24, 6, tzinfo=UTC)
AMOUNTS = ["gpu_hours", "usd", "unpriced_instance_hours", "uncounted_instance_hours"]
SETTINGS = Settings(
    accounts=(
        Account("lab", ("us-east-1",), role="arn:aws:iam::111122223333:role/Read", team="research", project="o'maps"),
    )
)


@given(jobs())
@with_settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_tables_of_a_page_are_those_of_the_report(
    tmp_path_factory: pytest.TempPathFactory, made: list[JobFacts]
) -> None:
    store = FactStore(tmp_path_factory.mktemp("facts"))
    store.keep(made)
    with pytest.MonkeyPatch.context() as patch:
        # Tables in memory say the same, and are made sooner.
        patch.setattr("monitor.review.fleet_facts._made", lambda file, script: None)
        database = FleetDatabase.of(store, SETTINGS)
    for by in BY:
        report = fleet_report("archive", made, WEEK, NOW, by, owners_of(SETTINGS).by(by))
        tables = database.tables(WEEK, by)
        assert tables.jobs == report.coverage.jobs
        owners = {
            (each.owner, use): (one.gpu_hours, one.usd, one.unpriced_instance_hours, one.uncounted_instance_hours)
            for each in report.by_owner
            for use, one in each.by_use
            if one.instance_hours
        }
        rows = tables.by_owner[["owner", "use", *AMOUNTS]].itertuples(index=False)
        assert {(owner, use): tuple(amounts) for owner, use, *amounts in rows} == {
            key: pytest.approx(value) for key, value in owners.items()
        }
        causes = {(each.bucket, each.use): pytest.approx(each.sum.usd) for each in report.by_cause}
        rows = tables.parts.groupby(["bucket", "use"])["usd"].sum()
        assert dict(rows) == causes
        failures = {
            each.cause: (each.jobs, pytest.approx(each.failed.usd), pytest.approx(each.unknown.instance_hours))
            for each in report.failures
        }
        rows = tables.failures[["cause", "jobs", "usd", "unknown_instance_hours"]].itertuples(index=False)
        assert {cause: tuple(figures) for cause, *figures in rows} == failures
        assert tables.by_week["usd"].sum() == pytest.approx(report.total.usd)


def test_jobs_of_an_owner_and_a_use_the_dearest_first(tmp_path: Path) -> None:
    store = FactStore(tmp_path)
    store.keep(
        [
            facts("short", [("stall", 60.0, True)], tags='{"team": "o\'neil"}'),
            facts("long", [("stall", 600.0, True), ("productive", 60.0, True)], tags='{"team": "o\'neil"}'),
            facts("busy", [("productive", 60.0, True)], tags='{"team": "o\'neil"}'),
            facts("other", [("stall", 60.0, True)]),
        ]
    )
    database = FleetDatabase.of(store, Settings())
    found = database.jobs(WEEK, "team", "o'neil", ("idle",))
    assert list(found["job"]) == ["long", "short"]
    assert set(database.jobs(WEEK, "team", None, ("idle",))["owner"]) == {"o'neil", "untagged"}


def test_a_job_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    store = FactStore(tmp_path)
    for _ in range(2):
        store.keep([facts("once", [("productive", 3600.0, True)])])
    assert FleetDatabase.of(store, Settings()).tables(WEEK, "team").by_owner["usd"].sum() == pytest.approx(36.0)


def test_the_tables_are_there_again_after_a_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FactStore(tmp_path)
    assert FleetDatabase.opened(store, SETTINGS) is None
    store.keep([facts("first", [("productive", 3600.0, True)])])
    assert FleetDatabase.opened(store, SETTINGS) is None
    FleetDatabase.of(store, SETTINGS)
    monkeypatch.setattr("monitor.review.fleet_facts._made", None)
    kept = FleetDatabase.opened(store, SETTINGS)
    assert kept is not None
    assert kept.tables(WEEK, "team").jobs == 1
    # What was added since is not in them.
    store.keep([facts("second", [("productive", 3600.0, True)])])
    kept = FleetDatabase.opened(store, SETTINGS)
    assert kept is not None
    assert kept.tables(WEEK, "team").jobs == 1
    # Other owners, other tables.
    assert FleetDatabase.opened(store, Settings(team_tag="squad")) is None


def test_tables_of_other_facts_make_room(tmp_path: Path) -> None:
    store = FactStore(tmp_path)
    for number in (1, 2, 3):
        store.keep([facts(f"job-{number}", [("productive", 3600.0, True)])])
        assert FleetDatabase.of(store, Settings()).tables(WEEK, "team").jobs == number
        assert len(list(tmp_path.glob("*.duckdb"))) == 1
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("damage", [b"", b"not a database", b"\0" * 50_000])
def test_damaged_tables_are_made_again(tmp_path: Path, damage: bytes) -> None:
    store = FactStore(tmp_path)
    store.keep([facts("first", [("productive", 3600.0, True)])])
    FleetDatabase.of(store, Settings())
    next(tmp_path.glob("*.duckdb")).write_bytes(damage)
    assert FleetDatabase.of(store, Settings()).tables(WEEK, "team").jobs == 1


def test_tables_that_cannot_be_kept_are_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FactStore(tmp_path)
    store.keep([facts("first", [("productive", 3600.0, True)])])
    monkeypatch.setattr("monitor.review.fleet_facts.UNFINISHED", "no/such/folder/")
    assert FleetDatabase.of(store, Settings()).tables(WEEK, "team").jobs == 1
    assert not list(tmp_path.glob("*.duckdb"))
