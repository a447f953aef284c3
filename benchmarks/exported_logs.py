"""What does a review of exported logs take, with 1, 2 and 4 workers? Jobs a second by engine; each job once, also after a kill.

EXPORT_JOBS (500) small jobs, half of them in an export, half in a subscription that repeats a tenth of its records, by
EXPORT_WORKERS (1,2,4). Spark is measured where it is installed (requirements-spark.txt). Then one job of EXPORT_MIB (256) MiB of
text, to tell bytes a second and memory. ``busy`` is the machine's load a core: with more workers than cores, and beside others,
ratios tell little.
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.account import Account, Job
from benchmarks.account.exported import describe, export, subscribe
from monitor.archive.layout import RUNS
from monitor.archive.store import FolderStore

Row = tuple[str, ...]
_NOW = datetime(2026, 11, 24, 6, tzinfo=UTC)
_failed: list[str] = []


def rows() -> list[Row]:
    """The table."""
    number = int(os.environ.get("EXPORT_JOBS", "500"))
    workers = [int(each) for each in os.environ.get("EXPORT_WORKERS", "1,2,4").split(",")]
    _failed.clear()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = _made(folder, number)
        engines = ["local", *(["spark"] if importlib.util.find_spec("pyspark") else [])]
        table: list[Row] = [
            ("what", "workers", "seconds", "jobs/s", "of one worker", "cpu s", "events", "busy"),
            (f"{number:,} jobs made, {size / 1e6:.1f} MB as stored", "", "", "", "", "", "", ""),
        ]
        for engine in engines:
            for row in _measured(folder, engine, workers, number):
                # A run may take most of an hour: what is known is told at once.
                print("  ".join(row), file=sys.stderr, flush=True)
                table.append(row)
        table += _killed(folder, number)
        if int(os.environ.get("EXPORT_MIB", "256")):
            table += _large(folder / "large")
        return table


def failures() -> list[str]:
    """What was not as it must be."""
    return list(_failed)


def _made(folder: Path, number: int) -> int:
    chance = random.Random(1)
    jobs = [_job(chance, place) for place in range(number)]
    now_ms = round(_NOW.timestamp() * 1000)
    export(Account(jobs=tuple(jobs[::2]), now_ms=now_ms), folder / "logs")
    subscribe(Account(jobs=tuple(jobs[1::2]), now_ms=now_ms), folder / "logs", again=0.1, packed=True)
    describe(Account(jobs=tuple(jobs), now_ms=now_ms), folder / "logs" / "described")
    return sum(path.stat().st_size for path in (folder / "logs").rglob("*") if path.is_file())


def _job(chance: random.Random, place: int) -> Job:
    begun = _NOW - timedelta(days=1, hours=25 * 24 * place / 500)
    return Job(
        name=f"model-{place % 40}-{place:05d}",
        started_ms=round(begun.timestamp() * 1000),
        nodes=chance.choice((1, 1, 2, 4)),
        minutes=chance.uniform(10, 40),
        lines_per_minute=30.0,
        disorder_ms=2000,
        status=chance.choice(("Completed",) * 8 + ("Failed", "Stopped")),
    )


def _measured(folder: Path, engine: str, workers: list[int], number: int) -> Iterator[Row]:
    one_s: float | None = None
    for count in workers:
        root = folder / f"{engine}-{count}"
        told, seconds, cpu_s = _ran(folder, root, engine, count)
        states = [job["state"] for job in told["jobs"]]
        _check(
            f"{engine} with {count}: {states.count('archived')} of {number} jobs are archived",
            states.count("archived") == number,
        )
        one_s = one_s or seconds
        yield (
            f"{engine}, all jobs", str(count), f"{seconds:.1f}", f"{number / seconds:.1f}", f"{one_s / seconds:.2f} x",
            f"{cpu_s:.0f}", f"{told['events_read']:,}", _busy(),
        )  # fmt: skip
    told, seconds, cpu_s = _ran(folder, folder / f"{engine}-{workers[-1]}", engine, workers[-1])
    _check(f"{engine} again: {told['events_read']} events are read", not told["events_read"])
    yield (
        f"{engine}, again",
        str(workers[-1]),
        f"{seconds:.1f}",
        "",
        "",
        f"{cpu_s:.0f}",
        f"{told['events_read']:,}",
        _busy(),
    )
    _same(folder / f"local-{workers[0]}", [folder / f"{engine}-{count}" for count in workers])


def _killed(folder: Path, number: int) -> Iterator[Row]:
    """A review whose processes are killed now and then, until one gets through."""
    chance, kills, root = random.Random(2), 0, folder / "killed"
    begun = time.perf_counter()
    while True:
        call = _call(folder, root, "local", 2)
        child = subprocess.Popen(
            call,
            env=_environment(root),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        try:
            out, _ = child.communicate(timeout=chance.uniform(3, 15) if kills < 4 else None)
            break
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            kills += 1
    told = json.loads(out)["exported_logs"]
    kept = sum(job["state"] == "unchanged" for job in told["jobs"])
    archived = len(FolderStore(root).listed(RUNS))
    _check(f"after {kills} kills {archived} of {number} jobs are archived", archived == number)
    _same(folder / "local-1", [root])
    what = f"local, killed {kills} times; {kept:,} jobs were done by then"
    yield what, "2", f"{time.perf_counter() - begun:.1f}", "", "", "", "", _busy()


def _large(folder: Path) -> Iterator[Row]:
    mib = int(os.environ.get("EXPORT_MIB", "256"))
    # Some 105 bytes a line with its time.
    minutes, lines = 600.0, mib * 2**20 / 105 / 4 / 600
    begun_ms = round((_NOW - timedelta(days=2)).timestamp() * 1000)
    job = Job(name="large", started_ms=begun_ms, nodes=4, minutes=minutes, lines_per_minute=lines)
    account = Account(jobs=(job,), now_ms=round(_NOW.timestamp() * 1000))
    export(account, folder / "logs", lines=500_000)
    describe(account, folder / "logs" / "described")
    stored = sum(path.stat().st_size for path in (folder / "logs").rglob("*.gz"))
    told, seconds, cpu_s = _ran(folder, folder / "archive", "local", 1)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**10
    rate = mib * 2**20 / 1e6 / cpu_s
    what = f"one job of {mib} MiB ({stored / 2**20:.0f} MiB stored): {rate:.1f} MB/s of cpu, {peak:.0f} MiB at most"
    yield what, "1", f"{seconds:.1f}", "", "", f"{cpu_s:.0f}", f"{told['events_read']:,}", _busy()
    shutil.rmtree(folder)


def _ran(folder: Path, root: Path, engine: str, workers: int) -> tuple[dict[str, Any], float, float]:
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        _call(folder, root, engine, workers), env=_environment(root), capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode:
        raise RuntimeError(f"{engine} ended with {done.returncode}: {done.stderr[-2000:]}")
    told: dict[str, Any] = json.loads(done.stdout)["exported_logs"]
    return told, seconds, cpu_s


def _call(folder: Path, root: Path, engine: str, workers: int) -> list[str]:
    where = ["--logs", str(folder / "logs"), "--archive", str(root), "--engine", engine, "--workers", str(workers)]
    return [sys.executable, "-m", "monitor", "fleet", *where, "--since", "1d", "--format", "json", "--quiet"]


def _environment(root: Path) -> dict[str, str]:
    beside = root.with_name(f"{root.name}-own")
    return os.environ | {
        f"XDG_{kind}_HOME": str(beside / kind.lower()) for kind in ("CONFIG", "CACHE", "DATA", "STATE")
    }


def _same(one: Path, others: list[Path]) -> None:
    """The tables that steps, findings and sums are read from are the same, whoever made them."""
    tables = ("steps", "events", "findings", "buckets")
    for other in others:
        for table in tables:
            mine, theirs = (_files(root / table) for root in (one, other))
            _check(f"{other.name} has other {table} than {one.name}", mine == theirs)


def _files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.parquet")}


def _check(what: str, holds: bool) -> None:
    if not holds:
        _failed.append(what)


def _busy() -> str:
    return f"{os.getloadavg()[0] / (os.cpu_count() or 1):.1f}"
