"""``jobs``: the verdict of the last review without a call for it, lists that repeat, and help that can be copied."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from monitor.alert.conditions import parse
from monitor.archive.cache import Verdicts
from monitor.cli import jobs
from monitor.cli.grammar import parser
from monitor.cli.job_lists import watch
from monitor.cli.main import main
from monitor.demo.account import DemoAccount
from monitor.errors import CannotDo
from tests.builders import report
from tests.cli.commands import FAILED, FINISHED, RUNNING, document, named, ran

AT = datetime(2026, 9, 25, 13, 0, tzinfo=UTC)


def test_the_list_has_the_verdicts_that_are_kept_and_asks_nothing_for_them(
    read_before: DemoAccount, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {row["name"]: row for row in document(capsys, "jobs")["jobs"]}
    assert rows[named(read_before, RUNNING)]["verdict"].startswith("No step for")
    assert rows[named(read_before, RUNNING)]["level"] == "critical"
    assert rows[named(read_before, FAILED)]["verdict"]
    assert rows[named(read_before, FINISHED)]["reviewed_at"].endswith("Z")
    assert all(row["verdict"] for row in rows.values())
    plain = {row["name"]: row for row in document(capsys, "jobs", "--no-cache")["jobs"]}
    assert all(row["verdict"] is row["level"] is row["reviewed_at"] is None for row in plain.values())
    monkeypatch.setenv("COLUMNS", "80")
    text, _ = ran(capsys, "jobs")
    assert "InProgress" not in text
    for name in rows:
        assert name in text, "a name is never split"
    assert "verdict,level,reviewed_at" in ran(capsys, "jobs", "--format", "csv")[0].splitlines()[0]


def test_a_verdict_that_the_user_muted_says_so(
    read_before: DemoAccount, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "trainwatch").mkdir()
    (tmp_path / "trainwatch" / "muted.toml").write_text(
        f'[[mute]]\nfinding = "stall"\njob = "{named(read_before, RUNNING)}"\nreason = "known"\n'
        "since = 2026-01-01T00:00:00Z\n",
        encoding="utf-8",
    )
    text = " ".join(ran(capsys, "jobs", "--status", "running")[0].split())
    assert "(muted)" in text


def test_verdicts_are_of_this_version_and_of_one_run(tmp_path: Path) -> None:
    made = report("run")
    kept = Verdicts(tmp_path / "verdicts", "1")
    kept.keep("https://aws", made)
    found = kept.of("https://aws", "run", made.job.created)
    assert found is not None
    assert (found.status, found.reviewed_at) == (made.job.status, made.reviewed_at)
    assert found.headline
    for endpoint, name, created in (
        ("https://other", "run", made.job.created),
        ("https://aws", "other", made.job.created),
        ("https://aws", "run", AT + timedelta(days=9)),
        (None, "run", made.job.created),
        ("https://aws", "run", None),
    ):
        assert kept.of(endpoint, name, created) is None
    assert Verdicts(tmp_path / "verdicts", "2").of("https://aws", "run", made.job.created) is None
    (path,) = (tmp_path / "verdicts").iterdir()
    path.write_bytes(b"\xff{")
    assert kept.of("https://aws", "run", made.job.created) is None
    assert Verdicts(Path("/proc/none"), "1").keep("https://aws", made) is None


class _Looks:
    """What a watch sees: each time the next, and Ctrl-C after the last."""

    def __init__(self, *seen: Any) -> None:
        self._seen = list(seen)

    def __call__(self) -> Any:
        if not self._seen:
            raise KeyboardInterrupt
        seen = self._seen.pop(0)
        if isinstance(seen, Exception):
            raise seen
        return seen


def test_a_list_is_repeated_until_ctrl_c_and_trouble_is_said(
    connected: DemoAccount, capsys: pytest.CaptureFixture[str]
) -> None:
    looked: list[Any] = []

    def sleep(seconds: float) -> None:
        looked.append(seconds)

    arguments = parser().parse_args(["jobs", "--watch", "--interval", "1s", "--limit", "2", "--quiet"])
    seen = jobs.listed(jobs._refreshed(arguments, jobs.account_source(arguments), None))
    assert watch(arguments, _Looks(seen, CannotDo("AWS does not answer.", "Wait."), seen), sleep) == 0
    assert looked == [5.0, 5.0, 5.0], "not more often than every 5 s"
    out, err = capsys.readouterr()
    assert out.count("2 jobs as of ") == 2
    assert err == "trainwatch: AWS does not answer. Wait.\n"
    arguments = parser().parse_args(["jobs", "--watch", "--format", "json"])
    assert watch(arguments, _Looks(seen, seen), sleep) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [len(line["jobs"]) for line in lines] == [2, 2]
    with pytest.raises(CannotDo):
        watch(arguments, _Looks(CannotDo("No.", "")), sleep)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--watch", "--interval", "0"], "--interval 0 is not a duration"),
        (["--watch", "--format", "csv"], "as text or JSON lines"),
        (["--watch", "--output", "x"], "as text or JSON lines"),
        (["--watch", "--archive", "x"], "an archive does not change"),
    ],
)
def test_a_watch_that_makes_no_sense_is_refused(
    argv: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["jobs", *argv]) == 2
    assert words in capsys.readouterr().err


def _commands() -> dict[str, argparse.ArgumentParser]:
    top = parser()
    (commands,) = (action for action in top._actions if isinstance(action, argparse._SubParsersAction))
    return {"": top, **commands.choices}


@pytest.mark.parametrize("name", _commands())
def test_help_has_no_marks_and_its_examples_are_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = _commands()[name].format_help()
    assert not re.search(r"``|\*\*|:\w+:`", said)
    head, _, calls = said.partition("examples:\n")
    assert max(map(len, head.splitlines())) <= 80
    lines = [line.strip() for line in calls.splitlines() if line.strip()]
    assert len(lines) >= 2
    for line in lines:
        program, argv = line[:18], shlex.split(re.sub(r" > ~\S+$", "", line[18:].replace("COMMAND", "jobs")))
        assert program == "python -m monitor "
        if argv[-1] == "--help":
            continue
        arguments = parser().parse_args(argv)
        assert callable(import_module(f"monitor.cli.{arguments.command}").run)
        for text in getattr(arguments, "when", []):
            assert parse(text)
        if argv[:2] == ["thresholds", "add"]:
            assert parse(argv[3])


def test_examples_that_need_no_account_run(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("plan", "thresholds"):
        calls = _commands()[name].format_help().partition("examples:\n")[2]
        for line in calls.splitlines():
            argv = shlex.split(line.strip()[18:])
            if argv and "my-training-job" not in argv and argv[:2] != ["thresholds", "remove"]:
                assert main(argv) == 0, argv
    assert main(["thresholds", "remove", "idle"]) == 0
