"""All accounts on the Jobs page: filters in the address, links to a job where it is, what could not be read."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from monitor.accounts import AccountRegion
from monitor.errors import NotAllowed
from monitor.fetch.source import JobQuery, JobQueryResult
from monitor.model import JobSummary
from monitor.review.across import AcrossSnapshot, Sweep
from monitor.settings import ALL_ACCOUNTS, ONE_PROFILE
from monitor.show import accounts_board, data
from tests import situations
from tests.aws.fake import offline
from tests.pages.conftest import jobs_page
from tests.pages.fake import FakeAccount, texts

__all__ = ["offline"]
pytestmark = pytest.mark.usefixtures("offline")
Open = Callable[..., AppTest]


class _Source:
    def __init__(self, where: AccountRegion) -> None:
        self.where = where

    def find(self, query: JobQuery) -> JobQueryResult:
        if self.where.account.name == "locked":
            raise NotAllowed("AWS does not allow sts:AssumeRole to these credentials.", "Have it allowed.")
        now = datetime.now(UTC)
        return JobQueryResult(
            (
                JobSummary(
                    f"{self.where.account.name}-run", "InProgress", now - timedelta(hours=1), None, "ml.p4d.24xlarge", 4
                ),
                JobSummary("same-name", "Failed", now - timedelta(hours=3), now - timedelta(hours=2)),
            )
        )

    def endpoint(self) -> str:
        return "https://test"


class _Watch:
    """All has been read at the first look."""

    def __init__(self, pairs: tuple[AccountRegion, ...]) -> None:
        self.sweep = Sweep(_Source)  # type: ignore[arg-type]
        self._pairs = pairs

    def snapshot(self) -> AcrossSnapshot:
        now = datetime.now(UTC)
        return AcrossSnapshot(self.sweep.list_jobs(self._pairs, JobQuery(), now), False, now)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Open:
    """Opens the page Jobs of a user with three accounts."""
    path = Path(os.environ["XDG_CONFIG_HOME"], "trainwatch", "config.toml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(
            f"[[accounts]]\nname = '{name}'\nrole = 'arn:aws:iam::{number}:role/T'\nregions = {regions}\nteam = '{team}'\n"
            for name, number, regions, team in (
                ("research", "222222222222", ["us-east-1", "eu-west-1"], "vision"),
                ("prod", "333333333333", ["us-east-1"], "speech"),
                ("locked", "444444444444", ["us-east-1"], "speech"),
            )
        ),
        encoding="utf-8",
    )
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setattr(data, "connect", lambda account: FakeAccount((situations.healthy(),)))
    monkeypatch.setattr(data, "observe", lambda source: source)
    monkeypatch.setattr(data, "across", _Watch)

    def open_(**parameters: str) -> AppTest:
        return jobs_page(20, **parameters)

    return open_


def _rows(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The rows that a run of the page gives to its table."""
    seen: list[Any] = []
    monkeypatch.setattr(accounts_board, "show_grid", lambda key, columns, rows, **told: seen.append(rows))
    page.run()
    assert not page.exception
    return list(seen[-1]) if seen else []


@pytest.mark.parametrize(
    ("address", "keys"),
    [
        ({"accounts": "all"}, ["research/us-east-1", "research/eu-west-1", "prod/us-east-1"]),
        ({"accounts": "research"}, ["research/us-east-1", "research/eu-west-1"]),
        ({"accounts": "all", "regions": "eu-west-1"}, ["research/eu-west-1"]),
        ({"accounts": "all", "team": "speech"}, ["prod/us-east-1"]),
        ({"accounts": "research,prod", "regions": "us-east-1"}, ["research/us-east-1", "prod/us-east-1"]),
        ({"accounts": "all", "team": "nobody"}, ["research/us-east-1", "research/eu-west-1", "prod/us-east-1"]),
    ],
)
def test_the_address_chooses(
    opened: Open, monkeypatch: pytest.MonkeyPatch, address: dict[str, str], keys: list[str]
) -> None:
    rows = _rows(opened(**address), monkeypatch)
    assert {row.key.rpartition("/")[0] for row in rows} == set(keys)
    assert len(rows) == 2 * len(keys)


def test_a_job_is_searched_for_and_its_link_says_where_it_is(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = _rows(opened(accounts="all", search="prod-run"), monkeypatch)
    for part in ("job=prod-run", "member=prod", "region=us-east-1", "account=333333333333"):
        assert part in row.href


def test_what_could_not_be_read_is_named(opened: Open) -> None:
    page = opened(accounts="all")
    assert "1 account and region could not be read" in texts(page)
    assert "**locked in us-east-1**: AWS does not allow sts:AssumeRole" in texts(page)
    assert "could not be read" not in texts(opened(accounts="prod"))


def test_the_way_in_is_on_the_page_of_one_account(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(st, "page_link", lambda page, label, **told: shown.append(label))
    opened()
    assert "All 3 accounts" in shown


@pytest.mark.parametrize("is_allowed", [False, True])
def test_visitors_see_the_accounts_only_where_whoever_runs_it_says_so(
    opened: Open, monkeypatch: pytest.MonkeyPatch, is_allowed: bool
) -> None:
    monkeypatch.setenv(ONE_PROFILE, "1")
    if is_allowed:
        monkeypatch.setenv(ALL_ACCOUNTS, "1")
    assert ("could not be read" in texts(opened(accounts="all"))) is is_allowed
    left_out = "The link names the account **prod**; this dashboard serves one profile alone" in texts(
        opened(member="prod")
    )
    assert left_out is not is_allowed
