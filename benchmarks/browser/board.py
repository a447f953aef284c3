"""What is looked at: a dashboard on a stub account with a job of many nodes, finished and running, reviewed before."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.account import Account, Job, LineSpan, Running, running
from monitor.serve import Dashboard

ROOT = Path(__file__).parents[2]
FINISHED, LIVE = "finished-run", "running-run"
_HOUR_MS = 3_600_000
_STEP_S = 4


def step_reports(span: LineSpan) -> list[str]:
    """Every line is a step report of SMP, four seconds after the one before."""
    return [
        f"({_STEP_S * (step + 1)}s), Batch {step} Loss: {2 + 5 / (1 + step):.6f}, "
        f"Speed: {45 + (7 * step + span.node) % 9 * 0.11:.6f} samples/sec"
        for step in range(span.first, span.first + span.count)
    ]


@dataclass(frozen=True, slots=True)
class Board:
    """A dashboard that runs."""

    url: str
    aws: Running
    environment: dict[str, str]

    def job(self, name: str) -> str:
        return f"{self.url}/job?job={name}"


def account(nodes: int, hours: float) -> Account:
    """A job that ended two hours ago after ``hours``, and one that has run as long and goes on; no quotas, 5 ms a call."""
    now_ms = round(time.time() * 1000)
    long_ms = round(hours * _HOUR_MS)
    finished = Job(
        name=FINISHED,
        started_ms=now_ms - 2 * _HOUR_MS - long_ms,
        nodes=nodes,
        minutes=60 * hours,
        lines_per_minute=60 / _STEP_S,
        text=step_reports,
    )
    live = replace(finished, name=LIVE, started_ms=now_ms - long_ms, minutes=60 * hours + 180)
    return Account(jobs=(finished, live), now_ms=now_ms, clock_rate=1.0, latency_ms=5.0, quotas=())


@contextmanager
def board(nodes: int = 64, hours: float = 24.0) -> Iterator[Board]:
    """The dashboard, with the finished job in the cache on disk and nothing in its memory."""
    with running(account(nodes, hours)) as aws, TemporaryDirectory(prefix="trainwatch-bench-") as folder:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "TRAINWATCH"))}
        places = {f"XDG_{kind}_HOME": folder for kind in ("CACHE", "CONFIG", "STATE")}
        environment = kept | aws.environment | places
        report = [sys.executable, "-m", "monitor", "report", FINISHED, "--format", "json", "--quiet"]
        subprocess.run(report, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
        dashboard = Dashboard(ROOT / "app.py", _free_port(), environment)
        try:
            if not dashboard.wait_until_it_answers(lambda: False):
                raise RuntimeError(f"the dashboard {dashboard.state}")
            yield Board(dashboard.url, aws, environment)
        finally:
            dashboard.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
