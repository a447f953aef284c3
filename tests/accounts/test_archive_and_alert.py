"""``archive --all`` and ``alert`` over all accounts: where each job is, and what could not be read."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest
from moto.sagemaker.models import sagemaker_backends

from monitor.cli import alert_across
from monitor.fetch.account import AwsSource
from tests.accounts.conftest import NUMBERS, settings_text
from tests.accounts.test_jobs import ALL
from tests.cli.commands import document, ran


def test_the_jobs_of_all_accounts_are_archived_and_told_apart(
    settings: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    settings.write_text(settings_text(("research", "locked", "prod")), encoding="utf-8")
    call = ["archive", "--all", "--all-accounts", "--to", str(tmp_path / "kept"), "--quiet"]
    found = document(capsys, *call, code=3)
    assert {(row["account"], row["region"], row["name"]) for row in found["jobs"]} == ALL
    assert {row["state"] for row in found["jobs"]} == {"archived"}
    assert [one["account"] for one in found["not_read"]] == ["locked"]
    owners = duckdb.sql(
        f"select account_name, region, team, count(*) from read_parquet('{tmp_path}/kept/jobs/*/*/*/*.parquet', "
        "hive_partitioning = true) group by all order by all"
    ).fetchall()
    assert owners == [
        ("prod", "us-east-1", "prod-team", 1),
        ("research", "eu-west-1", "research-team", 1),
        ("research", "us-east-1", "research-team", 2),
    ]
    listed = document(capsys, "jobs", "--archive", str(tmp_path / "kept"))["jobs"]
    assert sorted(row["name"] for row in listed) == ["bert-1", "llama-1", "llama-1", "llama-2"]
    text, err = ran(capsys, *call, code=3)
    assert "ACCOUNT" in text
    assert "locked in us-east-1: AWS does not allow sts:AssumeRole" in err


def test_several_accounts_are_archived_only_as_a_whole(settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--all-accounts only works with --all" in ran(capsys, "archive", "llama-1", "--all-accounts", code=2)[1]


def test_all_running_jobs_are_judged_and_a_refused_account_is_named(
    settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, region in (("research", "eu-west-1"), ("prod", "us-east-1")):
        for job in sagemaker_backends[NUMBERS[name]][region].training_jobs.values():
            job.training_job_status = "InProgress"
            job.training_end_time = None
    when = ["--when", "finding critical", "--quiet", "--no-cache"]
    found = document(capsys, "alert", "--all-accounts", *when, code=3)
    # moto's jobs have no lines, so nothing can be said of their findings: that is no data, and no all-clear.
    judged = {(row["account"], row["region"], row["job"]) for row in found["jobs"]}
    assert judged >= {("research", "eu-west-1", "bert-1"), ("prod", "us-east-1", "llama-1")}
    assert {rule["state"] for row in found["jobs"] for rule in row["rules"]} <= {"no data", "ok"}
    settings.write_text(settings_text(("locked", "prod")), encoding="utf-8")
    found = document(capsys, "alert", "--all-accounts", *when, code=3)
    assert {row["account"] for row in found["jobs"]} == {"prod"}
    assert [one["account"] for one in found["not_read"]] == ["locked"]
    text, err = ran(capsys, "alert", "--all-accounts", *when, code=3)
    assert "in 1 of 2 accounts and regions:" in " ".join(text.split())
    assert "locked in us-east-1" in err


def test_a_watch_over_all_accounts_says_what_begins_and_what_ends_and_names_the_account(
    settings: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.write_text(settings_text(("research", "locked", "prod")), encoding="utf-8")
    (job,) = (each for each in sagemaker_backends[NUMBERS["prod"]]["us-east-1"].training_jobs.values())
    job.training_job_status, job.training_end_time = "InProgress", None
    begun = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    job.training_start_time, job.secondary_status_transitions = begun, [{"Status": "Training", "StartTime": begun}]
    looks = 0

    def sleep(seconds: float) -> None:
        nonlocal looks
        looks += 1
        if looks == 1:
            ended = datetime.now(UTC) - timedelta(minutes=10)
            job.training_job_status, job.training_end_time = "Completed", ended.isoformat()
        if looks == 4:
            raise KeyboardInterrupt

    find = AwsSource.find
    # moto finds nothing by the time of the last change.
    monkeypatch.setattr(AwsSource, "find", lambda self, query: find(self, replace(query, modified_after=None)))
    monkeypatch.setattr(alert_across.run_watch_across, "__defaults__", (sleep, lambda: datetime.now(UTC)))
    call = ["alert", "--all-accounts", "--when", "cost_usd > 20", "--quiet", "--no-cache", "--watch"]
    out, err = ran(capsys, *call, "--format", "json", code=130)
    *told, last = (json.loads(line) for line in out.splitlines())
    assert [(each["type"], each["job"], each["account"]) for each in told] == [
        ("firing", "llama-1", NUMBERS["prod"]),
        ("ended", "llama-1", NUMBERS["prod"]),
    ]
    assert told[0]["title"].endswith("job llama-1 of prod in us-east-1")
    assert (last["type"], last["jobs"], last["not_read"]) == ("summary", len(ALL) - 1, ["locked in us-east-1"])
    assert err.count("locked in us-east-1: AWS does not allow sts:AssumeRole") == 1
    settings.write_text(settings_text(("locked",)), encoding="utf-8")
    assert "1 of 1 accounts and regions could not be read" in ran(capsys, *call, code=3)[1]


@pytest.mark.parametrize("more", [["llama-1"], ["--backtest"], ["--publish"], ["--resend"]])
def test_what_is_of_one_job_does_not_go_with_all_accounts(
    settings: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    err = ran(capsys, "alert", "--all-accounts", "--when", "finding critical", *more, code=2)[1]
    assert "--all-accounts" in err
