"""Exit codes tell the truth: 1 is a crossed threshold and nothing else is; what goes wrong is 2 or 3 and one sentence."""

from __future__ import annotations

import argparse
import importlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import pytest

from benchmarks.hostile.account import NAME
from monitor import faults
from monitor.alert.delivery import RuleSinks
from monitor.alert.rules import rules_of
from monitor.cli import jobs
from monitor.cli.alert_watch import JobCheck, run_watch
from monitor.cli.main import main
from monitor.model import Report
from monitor.review.reviewer import Reviewer
from monitor.terminal import outlets
from tests.alert.test_watch import FOR_5, LEVELS, _Clock, _looks
from tests.attack.calls import COMMANDS, CROSSED, HALF, NOT_CROSSED, PRINTING, a_call_of, one_sentence, ran
from tests.attack.conftest import reviewed

ROOT = Path(__file__).parents[2]


class Panic(BaseException):
    """As parts that are written in Rust raise it."""


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "error",
    [ValueError("x"), RecursionError("x"), MemoryError(), Panic("x"), UnicodeEncodeError("ascii", HALF, 0, 1, HALF)],
    ids=lambda error: type(error).__name__,
)
def test_an_error_of_the_program_is_3_a_sentence_and_a_log(
    command: str, error: BaseException, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "_folders", lambda: iter([machine / "state"]))

    def broken(arguments: Any) -> int:
        raise error

    broken.__module__ = f"monitor.cli.{command}"
    monkeypatch.setattr(importlib.import_module(f"monitor.cli.{command}"), "run", broken)
    found = ran(a_call_of(command, machine))
    assert (found.code, found.out, found.err.count("\n")) == (3, "", 1)
    assert found.err.startswith(f"trainwatch: The command {command} failed ")
    assert "error in Trainwatch itself" in found.err
    assert "Traceback (most recent call last)" in (machine / "state" / "trainwatch.log").read_text(encoding="utf-8")


@contextmanager
def _lost(kind: str) -> Iterator[TextIO | None]:
    """A stream that takes nothing: closed before the start, on a full disk, or with a reader who has gone."""
    if kind == "closed":
        yield None
        return
    if kind == "gone":
        reading, handle = os.pipe()
        os.close(reading)
    else:
        handle = os.open("/dev/full", os.O_WRONLY)
    stream = os.fdopen(handle, "w", encoding="utf-8")
    yield stream
    stream.close()  # Python's own last flush: it has nothing to complain of


def _ran_into(argv: list[str], stdout: Any, stderr: Any) -> int:
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = stdout, stderr
    try:
        return main(argv)
    finally:
        sys.stdout, sys.stderr = before


@pytest.mark.parametrize("kind", ["closed", "full", "gone"])
@pytest.mark.parametrize("command", PRINTING)
def test_an_output_that_is_lost_is_3_and_one_that_nobody_wants_is_done(command: str, kind: str, machine: Path) -> None:
    for argv in (a_call_of(command, machine), [command, "--help"]):
        errors = io.StringIO()
        with _lost(kind) as stream:
            code = _ran_into(argv, stream, errors)
        if kind == "gone":
            assert (code, errors.getvalue()) == (0, "")
        else:
            assert code == 3
            assert errors.getvalue().count("\n") == 1, errors.getvalue()
            assert errors.getvalue().startswith("trainwatch: Standard output ")
            assert "--output" in errors.getvalue()


@pytest.mark.parametrize("kind", ["closed", "full", "gone"])
@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("more", [[], ["--watch"], ["--backtest"]], ids=["once", "watch", "backtest"])
def test_a_crossed_threshold_is_1_whatever_becomes_of_the_output(
    kind: str, form: str, more: list[str], machine: Path
) -> None:
    for when, code in ((CROSSED, 1), (NOT_CROSSED, 0 if kind == "gone" else 3)):
        with _lost(kind) as stream:
            assert _ran_into(["alert", NAME, "--when", when, "--format", form, *more], stream, io.StringIO()) == code
        # Where nothing is said there, nothing is lost.
        with _lost(kind) as stream:
            assert _ran_into(["alert", NAME, "--when", when], io.StringIO(), stream) == (code == 1)


@pytest.mark.parametrize("kind", ["closed", "full", "gone"])
@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["report", NAME], 0),
        (["report"], 2),
        (["report", "--colour"], 2),
        (["jobs", "--status", "asleep"], 2),
        (["report", "archive:missing"], 3),
    ],
)
def test_without_standard_error_a_command_ends_as_it_would(
    argv: list[str], code: int, kind: str, machine: Path
) -> None:
    with _lost(kind) as stream:
        assert _ran_into(argv, io.StringIO(), stream) == code
    with _lost(kind) as stream, _lost(kind) as other:
        assert _ran_into(argv, stream, other) == (code or (0 if kind == "gone" else 3))


def test_a_file_that_cannot_be_written_is_an_output_that_is_lost(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_sentence(ran(["report", NAME, "--output", str(machine / "no" / "x")]), 3)
    folder = machine / "there"

    def look(reviewer: Reviewer, *told: Any) -> Report:
        folder.rmdir()
        return reviewed()

    monkeypatch.setattr(Reviewer, "review", look)
    for when, code in ((CROSSED, 1), (NOT_CROSSED, 3)):
        folder.mkdir()
        one_sentence(ran(["alert", NAME, "--when", when, "--output", str(folder / "x")]), code)


@pytest.mark.parametrize(("kind", "form"), [("full", "json"), ("gone", "text")])
def test_a_watch_goes_on_with_its_sinks_and_ends_where_it_has_none(
    kind: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def watched(sinks: tuple[str, ...]) -> tuple[Any, bool]:
        arguments = argparse.Namespace(interval="2m", cool_down="10m", format=form, quiet=True, output=None)
        rules, clock = rules_of([FOR_5]), _Clock()
        with _lost(kind) as stream:
            monkeypatch.setattr(sys, "stdout", stream)
            with outlets():
                telling = RuleSinks(rules, sinks, tmp_path / "ledger")
                _, said = run_watch(arguments, rules, telling, JobCheck(_looks(LEVELS, 30)), clock.sleep, clock)
            monkeypatch.undo()
        return clock.now, said

    ended, said = watched(("stdout", f"exec:tee -a {tmp_path / 'sent'}"))
    assert (ended.minute, said) == (34, True)
    sent = (tmp_path / "sent").read_text(encoding="utf-8").replace("}{", "}\n{").splitlines()
    assert [json.loads(line)["kind"] for line in sent] == ["firing", "resolved"]
    assert watched(()) == (ended.replace(minute=14), True)


def test_a_list_that_is_watched_ends_when_nobody_reads_it(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def sleep(seconds: float) -> None:
        raise AssertionError("it goes on")

    monkeypatch.setattr(jobs.watch, "__defaults__", (sleep,))
    for kind, code in (("closed", 3), ("full", 3), ("gone", 0)):
        for form in ("text", "json"):
            with _lost(kind) as stream:
                assert _ran_into(["jobs", "--watch", "--format", form], stream, io.StringIO()) == code


@pytest.mark.parametrize("command", ["report", "compare", "plan", "alert", "jobs", "thresholds", "steps"])
def test_a_terminal_of_ascii_gets_ascii(command: str, machine: Path) -> None:
    for form in ("text", "json"):
        raw = io.BytesIO()
        stream = io.TextIOWrapper(raw, "ascii")
        argv = [*a_call_of(command, machine), "--format", form]
        assert _ran_into(argv, stream, io.StringIO()) == 0
        written = raw.getvalue().decode("ascii")
        if form == "json" and command != "alert":
            assert json.loads(written) == json.loads(ran(argv).out)
        else:
            assert written


def _shell(script: str, **environment: str) -> list[str]:
    """The lines that a script prints; python is this one, and the job is that of a small log."""
    log = ROOT / "tests" / "data" / "formats" / "smp_v1_two_nodes_mpi.log"
    words = f'monitor() {{ "{sys.executable}" -m monitor "$@"; }}; job="logs:{log}"; {script}'
    ran = subprocess.run(
        ["bash", "-c", words], cwd=ROOT, env={**os.environ, **environment}, capture_output=True, timeout=110
    )
    assert b"Traceback" not in ran.stderr + ran.stdout
    return (ran.stdout + ran.stderr).decode("utf-8", "replace").splitlines()


_CALLS: tuple[tuple[str, dict[str, str], Callable[[list[str]], bool]], ...] = (
    ('monitor alert "$job" --when "step_time > 0.1" | true; echo ${PIPESTATUS[0]}', {}, lambda said: said == ["1"]),
    (
        'monitor steps "$job" --format json | head -1; echo ${PIPESTATUS[0]}',
        {"PYTHONIOENCODING": "ascii"},
        lambda said: said == ["{", "0"],
    ),
    (
        'monitor report "$job" > /dev/full; echo $?',
        {"LC_ALL": "C", "LANG": "C"},
        lambda said: said[0] == "3" and len(said) == 2 and "No space left" in said[1],
    ),
    (
        '(monitor alert "$job" --when "step_time > 100" >&- 2>&- <&-); echo $?',
        {},
        lambda said: said == ["3"],
    ),
)


@pytest.mark.parametrize(("script", "environment", "holds"), _CALLS)
def test_a_shell_is_told_the_same(
    script: str, environment: dict[str, str], holds: Callable[[list[str]], bool], tmp_path: Path
) -> None:
    said = _shell(script, XDG_STATE_HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path), **environment)
    assert holds(said), said


def test_an_installation_that_is_not_whole_is_3(tmp_path: Path) -> None:
    (tmp_path / "pandas.py").write_text("raise ImportError('\u202ehalf of it')", encoding="utf-8")
    said = _shell("monitor jobs; echo $?", PYTHONPATH=str(tmp_path))
    assert said[0] == "3"
    assert said[1].startswith("trainwatch: Trainwatch is not completely installed (ImportError: ")
    assert len(said) == 2
    assert "\u202e" not in said[1]
