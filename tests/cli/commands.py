"""A command is run and what it printed comes back; the names of the sample jobs and files that many tests use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from monitor.cli.main import main
from monitor.demo.account import DemoAccount

SMP = str(Path(__file__).parents[1] / "data" / "formats" / "smp_v1_two_nodes_mpi.log")
LOGS = f"logs:{SMP}"
BUCKET = "fleet"
FINISHED, RUNNING, FAILED = "churn-mlp", "llama2-13b", "llama2-70b"


def named(account: DemoAccount, base: str) -> str:
    """The full name of the newest sample job whose name begins so."""
    return next(job.name for job in account.jobs if job.name.startswith(base))


def ran(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> tuple[str, str]:
    """(what was printed, what was said to stderr)."""
    assert main([*argv]) == code
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return out, err


def document(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> Any:
    """The JSON that was printed."""
    return json.loads(ran(capsys, *argv, "--format", "json", code=code)[0])
