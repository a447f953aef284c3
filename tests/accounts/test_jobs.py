"""``jobs --all-accounts``: one list of all accounts and regions; what is refused or down is named and hides nothing else."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from monitor.accounts import AccountRegion
from monitor.aws.clients import Clients
from monitor.cli.grammar import parser
from monitor.fetch import account as account_room
from monitor.fetch.account import AwsSource
from monitor.settings import read
from tests.accounts.conftest import Cloud, settings_text
from tests.aws.fake import never_wait
from tests.cli.commands import document, ran

ALL = {
    ("research", "us-east-1", "llama-1"),
    ("research", "us-east-1", "llama-2"),
    ("research", "eu-west-1", "bert-1"),
    ("prod", "us-east-1", "llama-1"),
}


def _keys(found: Any) -> set[tuple[str, str, str]]:
    return {(row["account"], row["region"], row["name"]) for row in found["jobs"]}


@pytest.mark.parametrize(
    ("options", "keys"),
    [
        (["--all-accounts"], ALL),
        (["--account", "research"], {key for key in ALL if key[0] == "research"}),
        (["--all-accounts", "--region", "eu-west-1"], {key for key in ALL if key[1] == "eu-west-1"}),
        (["--team", "prod-team"], {key for key in ALL if key[0] == "prod"}),
        (["--account", "research,prod", "--name-contains", "llama-1"], {key for key in ALL if key[2] == "llama-1"}),
    ],
)
def test_the_jobs_of_all_accounts_are_one_list(
    settings: Path, capsys: pytest.CaptureFixture[str], options: list[str], keys: set[tuple[str, str, str]]
) -> None:
    found = document(capsys, "jobs", *options)
    assert _keys(found) == keys
    assert found["not_read"] == []
    assert {row["team"] for row in found["jobs"]} == {f"{key[0]}-team" for key in keys}


def test_a_refused_account_is_named_and_the_rest_is_there(settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings.write_text(settings_text(("research", "locked", "prod")), encoding="utf-8")
    found = document(capsys, "jobs", "--all-accounts", code=3)
    assert _keys(found) == ALL
    (missing,) = found["not_read"]
    assert (missing["account"], missing["region"]) == ("locked", "us-east-1")
    assert "sts:AssumeRole" in missing["why"]
    text, err = ran(capsys, "jobs", "--all-accounts", code=3)
    assert "4 jobs in 3 of 4 accounts and regions." in text
    assert "trainwatch: locked in us-east-1: AWS does not allow sts:AssumeRole" in err
    rows = list(csv.DictReader(ran(capsys, "jobs", "--all-accounts", "--format", "csv", code=3)[0].splitlines()))
    assert [(row["account"], row["name"]) for row in rows if row["not_read"]] == [("locked", "")]
    assert len(rows) == 5


def test_a_region_that_is_down_is_named_and_the_rest_is_there(
    settings: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def one_down(where: AccountRegion, profile: str | None = None, prices: Any = None) -> AwsSource:
        nowhere = "http://127.0.0.1:9" if where.region == "eu-west-1" else None
        return AwsSource(Clients(where.region, profile, nowhere, where.account), prices)

    monkeypatch.setattr(account_room, "open_pair", one_down)
    never_wait(monkeypatch)
    found = document(capsys, "jobs", "--all-accounts", code=3)
    assert _keys(found) == {key for key in ALL if key[1] != "eu-west-1"}
    assert [(one["account"], one["region"]) for one in found["not_read"]] == [("research", "eu-west-1")]
    assert "127.0.0.1:9" in found["not_read"][0]["why"]


def test_the_list_of_all_accounts_is_repeated_and_one_that_refuses_is_said_once(
    settings: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.write_text(settings_text(("research", "locked", "prod")), encoding="utf-8")
    looks = 0

    def sleep(seconds: float) -> None:
        nonlocal looks
        looks += 1
        if looks == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("monitor.cli.job_lists.watch.__defaults__", (sleep,))
    out, err = ran(capsys, "jobs", "--all-accounts", "--watch", "--format", "json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert [_keys(line) for line in lines] == [ALL] * 3
    assert [[one["account"] for one in line["not_read"]] for line in lines] == [["locked"]] * 3
    assert err.count("locked in us-east-1: AWS does not allow sts:AssumeRole") == 1
    looks = 0
    assert ran(capsys, "jobs", "--all-accounts", "--watch")[0].count("4 jobs in 3 of 4 accounts and regions as of") == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--all-accounts", "--account", "reserch"], "no account reserch; the nearest is research."),
        (["--all-accounts", "--archive", "x"], "--archive and --all-accounts were given."),
        (["--all-accounts", "--watch", "--format", "csv"], "as text or JSON lines"),
    ],
)
def test_calls_that_cannot_be_meant(
    settings: Path, capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    assert words in ran(capsys, "jobs", *options, code=2)[1]


def test_without_accounts_there_is_a_remedy(cloud: Cloud, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Write each as [[accounts]]" in ran(capsys, "jobs", "--all-accounts", code=2)[1]


def test_a_job_of_one_account_is_named_with_it(settings: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, _ = ran(capsys, "report", "bert-1", "--account", "research", "--region", "eu-west-1", "--format", "markdown")
    assert "bert-1" in text
    assert (
        "has several regions: us-east-1, eu-west-1. Name one with --region"
        in ran(capsys, "report", "bert-1", "--account", "research", code=2)[1]
    )


def test_without_the_options_nothing_is_assumed(
    cloud: Cloud, settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert document(capsys, "jobs")["jobs"] == []
    assert cloud.assumed == []


def test_the_settings_and_commands_of_the_documentation_are_taken(settings: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "accounts.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    settings.write_text(text, encoding="utf-8")
    assert [account.name for account in read().accounts] == ["research", "speech"]
    (commands,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    for line in commands.splitlines():
        parser().parse_args(shlex.split(line.removeprefix("trainwatch ")))
