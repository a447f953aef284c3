"""The stub with several accounts: a role's credentials lead to its account, with jobs and quotas of its own."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from benchmarks import many_accounts
from benchmarks.account import Account, Job, running
from monitor.accounts import Account as Named
from monitor.aws.clients import Clients
from monitor.fetch.jobs import find_jobs
from monitor.fetch.source import JobQuery

_NOW_MS = round(time.time() * 1000)


def _member(number: str, name: str, quota: float = 100.0) -> Account:
    jobs = tuple(
        Job(name=f"{name}-{at}", started_ms=_NOW_MS - 3_600_000 * (at + 1), minutes=30.0, lines_per_minute=0.001)
        for at in range(3)
    )
    return Account(number=number, jobs=jobs, now_ms=_NOW_MS, latency_ms=0, quotas=(("Search", quota),))


def test_a_role_leads_to_its_own_account() -> None:
    hub = Account(number="9" * 12, now_ms=_NOW_MS, latency_ms=0)
    with running(hub, False, (_member("1" * 12, "one"), _member("2" * 12, "two"))) as aws, aws.environed():
        for number, name in (("1" * 12, "one"), ("2" * 12, "two")):
            account = Named(name, ("us-east-1",), role=f"arn:aws:iam::{number}:role/T")
            jobs = find_jobs(Clients("us-east-1", account=account), JobQuery()).jobs
            assert [job.name for job in jobs] == [f"{name}-{at}" for at in range(3)]
            since = datetime.fromtimestamp(_NOW_MS / 1000 - 2 * 3600, UTC)
            later = find_jobs(Clients("us-east-1", account=account), JobQuery(modified_after=since)).jobs
            assert [job.name for job in later] == [f"{name}-0", f"{name}-1"]
        assert aws.counts().calls == {"AssumeRole": 2, "Search": 4}


def test_the_benchmark_finds_what_is_wrong_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCOUNTS", "2")
    monkeypatch.setenv("ACCOUNT_JOBS", "4")
    head, first, *refreshes = many_accounts.rows()
    assert many_accounts.failures() == []
    row = dict(zip(head, first, strict=True))
    assert (row["jobs"], row["throttled"], row["named"]) == ("20", "0", "account-000000000002 in us-east-1")
    assert {dict(zip(head, each, strict=True))["calls"] for each in refreshes} == {"5 Search"}
