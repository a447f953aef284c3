"""Whole commands on one hostile job: run in this process, into a pipe or onto a terminal, with what they printed."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.hostile.account import NAME, START, OneJob, answer
from monitor.cli import alarms, archive, compare, dashboard, jobs, mcp, nightly, options, top
from monitor.cli import demo as demo_command
from monitor.cli.grammar import parser
from monitor.cli.main import main
from monitor.errors import NotAllowed
from monitor.fetch.source import JobQuery
from monitor.model import JobSummary

STEPS = [f"step={step} step_time_s=1.0 loss=2.0" for step in range(30)]
CROSSED, NOT_CROSSED = "step_time > 0.1", "step_time > 100"
#: Of a name that is no UTF-8.
HALF = "\udcff\udcfe"
COMMANDS: tuple[str, ...] = tuple(parser()._subparsers._group_actions[0].choices)  # type: ignore[union-attr,arg-type]
#: Those that print a result and end; an agent talks to one of the others, and one draws on a terminal.
PRINTING = tuple(command for command in COMMANDS if command not in {"mcp", "top"})


class _Clients:
    """Of an account that allows nothing else."""

    region = "us-east-1"

    def call(self, *_: Any, **__: Any) -> Any:
        raise NotAllowed("AWS does not allow this.", "Have it allowed.")


class Account(OneJob):
    """The one job as an account of its own."""

    clients = _Clients()  # type: ignore[assignment]

    def __init__(self, lines: Sequence[str], told: Mapping[str, Any], summary: Mapping[str, Any] | None = None) -> None:
        super().__init__([line.encode("utf-8", "surrogatepass") for line in lines], answer(len(lines), **told))
        self._summary = JobSummary(**{"name": NAME, "status": "Failed", "created": START, **(summary or {})})

    def jobs(self, query: JobQuery) -> tuple[JobSummary, ...]:
        return (self._summary,)


def connect(patch: pytest.MonkeyPatch, account: OneJob) -> None:
    """Commands ask this account; dashboards start nothing, and no agent asks anything."""
    tools = SimpleNamespace(server=lambda desk: SimpleNamespace(run=lambda **how: None))
    patch.setitem(sys.modules, "monitor.agents.server", tools)
    for module in (options, jobs, compare, archive, alarms, dashboard, mcp, top, nightly):
        patch.setattr(module, "account_source", lambda arguments: account)
    patch.setattr(dashboard, "serve", lambda port, environment, stopped, announce, **told: print(announce(port)))
    patch.setattr(demo_command, "serve_demo", lambda port, **told: print(port) or 0)


def own_machine(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Nothing of this machine's user."""
    for kind in ("CONFIG", "CACHE", "DATA", "STATE"):
        patch.setenv(f"XDG_{kind}_HOME", str(folder / kind.lower()))


def a_call_of(command: str, folder: Path) -> list[str]:
    """One that prints a result, of each command."""
    archive = str(folder / "archive")
    if command == "fleet":
        assert ran(["archive", NAME, "--to", archive, "--quiet"]).code == 0
    rest = {
        "compare": [NAME, NAME],
        "alert": [NAME, "--when", NOT_CROSSED],
        "thresholds": [],
        "alarms": ["plan", NAME, "--when", "gpu_utilization < 40 for 10m"],
        "archive": [NAME, "--to", archive],
        "fleet": ["--since", "520w", "--archive", archive],
        "nightly": ["--archive", archive],
        "jobs": [],
        "dashboard": ["--port", "8677"],
        "demo": [],
        "mcp": [],
        "completion": ["bash"],
    }
    return [command, *rest.get(command, [NAME])]


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str


class Terminal(io.StringIO):
    """One that colors are drawn on."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def ran(argv: Sequence[str], on_terminal: bool = False) -> Ran:
    """Runs a command with streams of its own."""
    before = sys.stdout, sys.stderr
    out, err = (Terminal(), Terminal()) if on_terminal else (io.StringIO(), io.StringIO())
    sys.stdout, sys.stderr = out, err
    try:
        return Ran(main([*argv]), out.getvalue(), err.getvalue())
    finally:
        sys.stdout, sys.stderr = before


def one_sentence(found: Ran, code: int) -> None:
    """A code, and why in one line that is no error of the program."""
    assert (found.code, found.out) == (code, "")
    assert found.err.startswith("trainwatch: ")
    assert found.err.count("\n") == 1, found.err
    assert "Trainwatch itself" not in found.err
