"""The embedded account for whole commands: one for all files, in one worker; what was read of it once is kept."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest

from monitor.cli.main import main
from monitor.demo.account import DemoAccount, start
from tests.cli.commands import BUCKET, FAILED, FINISHED, RUNNING, named


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of the account run in one worker: there is one account a process."""
    for item in items:
        if "account" in getattr(item, "fixturenames", ()) and item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.xdist_group("account"))


@pytest.fixture(scope="package")
def account() -> Iterator[DemoAccount]:
    """The sample jobs, and an empty bucket."""
    with start(datetime.now(UTC)) as running:
        client = boto3.client(
            "s3",
            endpoint_url=running.endpoint_url,
            region_name="us-east-1",
            aws_access_key_id="demo",
            aws_secret_access_key="demo",
        )
        client.create_bucket(Bucket=BUCKET)
        yield running


@pytest.fixture(autouse=True)
def _own_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No AWS settings at all, and nothing of this machine's user."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for kind in ("CONFIG", "CACHE", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))


@pytest.fixture
def connected(account: DemoAccount, monkeypatch: pytest.MonkeyPatch) -> DemoAccount:
    """The account that the commands of a test ask; its running jobs have come to this moment."""
    for name, value in account.environment.items():
        if name.startswith(("AWS_", "XDG_CONFIG")):
            monkeypatch.setenv(name, value)
    account.feeder.tick(datetime.now(UTC))
    return account


@pytest.fixture(scope="package")
def told(account: DemoAccount, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """What ``report`` said of each sample job when it was read for the first time, by its name; and the cache after it."""
    out: dict[str, Any] = {}
    folder = tmp_path_factory.mktemp("told")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in account.environment.items():
            if name.startswith(("AWS_", "XDG_CONFIG")):
                patch.setenv(name, value)
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        account.feeder.tick(datetime.now(UTC))
        for job in account.jobs:
            target = folder / "report.json"
            assert main(["report", job.name, "--quiet", "--format", "json", "--output", str(target)]) == 0
            out[job.name] = json.loads(target.read_text(encoding="utf-8"))
    return out, folder / "cache"


@pytest.fixture
def read_before(
    told: tuple[dict[str, Any], Path], connected: DemoAccount, monkeypatch: pytest.MonkeyPatch
) -> DemoAccount:
    """The account for a user who has looked at each of its jobs: those that are over come from the cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(told[1]))
    return connected


@pytest.fixture(scope="package")
def kept(account: DemoAccount, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An archive of three jobs in a folder."""
    root = str(tmp_path_factory.mktemp("kept") / "archive")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in account.environment.items():
            if name.startswith(("AWS_", "XDG_")):
                patch.setenv(name, value)
        names = [named(account, base) for base in (FINISHED, RUNNING, FAILED)]
        assert main(["archive", *names, "--to", root, "--quiet", "--output", f"{root}.txt"]) == 0
    return root
