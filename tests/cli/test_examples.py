"""The calls that each ``--help`` shows run as they are written: only the names in them are this machine's."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from benchmarks.account import Account as Exported
from benchmarks.account import Job
from benchmarks.account.exported import export
from monitor.cli import alert_across, dashboard, demo, jobs, mcp, top
from monitor.cli.grammar import parser
from monitor.cli.main import main
from monitor.demo.account import DemoAccount
from monitor.fetch.account import AwsSource
from monitor.fetch.source import JobQuery, JobQueryResult
from monitor.installed import PROGRAM
from tests.cli.commands import FAILED, FINISHED, RUNNING, SMP, named

OUT_OF_MEMORY = "gptj-6b-smp"
ACCOUNTS = '\n[[accounts]]\nname = "research"\nregions = ["us-east-1", "eu-west-1"]\n'
RULES = '[[rule]]\nname = "lost"\nwhen = "gpu_utilization < 2 for 10h"\n'


def parsers(grammar: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The grammar of the program and of each command."""
    yield grammar
    for action in grammar._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from parsers(command)


def examples(grammar: argparse.ArgumentParser) -> list[str]:
    """The calls below ``examples:``, without the program's name."""
    shown = grammar.format_help().partition("examples:\n")[2].splitlines()
    return [line.strip().removeprefix(f"{PROGRAM} ") for line in shown if line.strip() and "COMMAND" not in line]


CALLS = list(dict.fromkeys(call for grammar in parsers(parser()) for call in examples(grammar)))


@pytest.mark.parametrize("grammar", list(parsers(parser())), ids=lambda each: each.prog)
def test_every_help_has_examples(grammar: argparse.ArgumentParser) -> None:
    assert examples(grammar)


@pytest.fixture
def place(
    told: tuple[dict[str, Any], Path], connected: DemoAccount, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Path:
    """A folder with the files that the examples name; what would go on for ever ends after its first turn. Jobs that are over
    were read before.
    """
    shutil.copytree(told[1], tmp_path / "cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(home))
    # The demo's prices, and thresholds of its own.
    shutil.copytree(os.environ["XDG_CONFIG_HOME"], tmp_path / "own")
    (tmp_path / "own" / "trainwatch" / "thresholds.toml").unlink(missing_ok=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    with (tmp_path / "own" / "trainwatch" / "config.toml").open("a") as file:
        file.write(ACCOUNTS)
    (tmp_path / "rules.toml").write_text(RULES)
    shutil.copy(SMP, tmp_path / "algo-1.log")
    for folder in ("before", "after"):
        (tmp_path / folder).mkdir()
        shutil.copy(SMP, tmp_path / folder)
    now_ms = round(datetime.now(UTC).timestamp() * 1000)
    job = Job(name=named(connected, FINISHED), started_ms=now_ms - 86_400_000, minutes=20.0, lines_per_minute=20.0)
    export(Exported(jobs=(job,), now_ms=now_ms), tmp_path / "exports")
    (tmp_path / "aws.toml").write_text("[profile training]\nregion = eu-west-1\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "aws.toml"))
    monkeypatch.setenv("SLACK_WEBHOOK", "https://hooks.slack.invalid/services/x")
    monkeypatch.setattr(dashboard, "serve", lambda *given, **named: None)
    monkeypatch.setattr(demo, "serve", lambda *given, **named: None)
    monkeypatch.setattr(demo, "check", lambda *given: None)
    # A second account would take the first one's place.
    embedded = SimpleNamespace(environment={}, feeder=SimpleNamespace(start=lambda: None))
    monkeypatch.setattr("monitor.demo.account.start", lambda now: nullcontext(embedded))
    monkeypatch.setattr(dashboard, "check", lambda *given, **named: None)
    # An agent that has nothing to ask; where the extra is not installed the call is still read.
    agents = SimpleNamespace(server=lambda desk: SimpleNamespace(run=lambda **how: None))
    monkeypatch.setitem(sys.modules, "monitor.agents.server", agents)
    monkeypatch.setattr(mcp, "check", lambda *given, **named: None)
    # It draws on a terminal alone: tests/cli/test_top.py gives it one.
    monkeypatch.setattr(top, "run", lambda arguments: 0 if top.query_of(arguments, datetime.now(UTC)) else 3)
    boto3.client("s3").create_bucket(Bucket="my-bucket")
    once = jobs.watch

    def stopped(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(jobs, "watch", lambda arguments, look: once(arguments, look, stopped))
    monkeypatch.setattr(alert_across.run_watch_across, "__defaults__", (stopped, lambda: datetime.now(UTC)))
    return tmp_path


def _here(call: str, account: DemoAccount, place: Path) -> list[str]:
    """The words of a call, with this account's names: of a job, of two runs that can be compared, of an archive."""
    names = {
        "my-training-job": named(account, OUT_OF_MEMORY),
        "my-run-1": named(account, FAILED),
        "my-run-2": named(account, FINISHED),
        "my-run-3": named(account, RUNNING),
    }
    for shown, real in names.items():
        call = call.replace(shown, real)
    return shlex.split(re.sub(r" > ~\S+$", "", call))


# Calls for all jobs of the account: of three here, since each is read anew.
_OF_ALL = ("nightly", "archive --all")
_THREE = (FAILED, FINISHED, RUNNING)


@pytest.fixture
def three_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The account lists one job that failed, one that is over and one that runs."""
    find = AwsSource.find

    def found(source: AwsSource, query: JobQuery) -> JobQueryResult:
        every = find(source, query)
        return replace(every, jobs=tuple(job for job in every.jobs if job.name.startswith(_THREE)))

    monkeypatch.setattr(AwsSource, "find", found)


@pytest.fixture(scope="module")
def archived(account: DemoAccount, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of the job that the examples name."""
    root = tmp_path_factory.mktemp("archived") / "archive"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in account.environment.items():
            if name.startswith(("AWS_", "XDG_")):
                patch.setenv(name, value)
        call = ["archive", named(account, OUT_OF_MEMORY), "--to", str(root), "--quiet", "--output", os.devnull]
        assert main(call) == 0
    return root


@pytest.mark.parametrize("call", CALLS)
def test_the_examples_of_the_help_run(
    call: str, place: Path, archived: Path, connected: DemoAccount, capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:  # fmt: skip
    if call.startswith(_OF_ALL):
        request.getfixturevalue("three_jobs")
    argv = _here(call, connected, place)
    if "archive" in call and argv[0] != "archive":
        for root in ("trainwatch-archive", "home/trainwatch-archive"):
            shutil.copytree(archived, place / root)
    if argv[:2] == ["thresholds", "remove"]:
        assert main(["thresholds", "add", argv[2], "gpu_utilization < 40 for 10m"]) == 0
    # A threshold that is crossed is what an alert is for; Ctrl-C ends the watch over all accounts.
    codes = {130} if argv[:2] == ["alert", "--all-accounts"] else {0, 1} if argv[0] == "alert" else {0}
    assert main(argv) in codes, capsys.readouterr().err
