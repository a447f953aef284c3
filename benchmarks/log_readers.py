"""Reading all log lines of one job from a stub of AWS: how others do it, against what the quota allows.

The bound is the fewest GetLogEvents calls that can hold the lines, at the region's calls a second: nobody who reads
whole streams is faster for long, and the first second's burst alone lets a small job end below it. PEERS_PYTHON names
a Python that has the packages awslogs, awscli (version 1) and sagemaker (version 2); without it this one is asked.
READERS_SIZE is modest (8 nodes, half an hour) or issue (32 nodes, two hours), each node with 600 lines a minute.
"""

from __future__ import annotations

import mmap
import os
import re
import subprocess
import sys
import tempfile
import time
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.account import Account, Counts, Job, Running, running, step_lines, streams_of
from benchmarks.account.plan import Text
from benchmarks.account.quotas import per_second
from benchmarks.account.rendered import page_count, rendered

STARTED_MS = 1_772_611_200_000
SIZES = {"modest": (8, 30.0), "issue": (32, 120.0)}
#: A reader that takes longer is ended, and its row says so.
LIMIT_S = 900.0
_GROUP = "/aws/sagemaker/TrainingJobs"
_MARK = re.compile(rb"id=(\d+)\.(\d+)\.(\d+)")
_POLL_S = 0.02

# What a user would write in a quarter of an hour.
_PLAIN_LOOP = """
import sys, boto3
logs, group = boto3.client("logs"), "/aws/sagemaker/TrainingJobs"
pages = logs.get_paginator("describe_log_streams").paginate(logGroupName=group, logStreamNamePrefix=sys.argv[1] + "/")
for stream in [row["logStreamName"] for page in pages for row in page["logStreams"]]:
    token = {}
    while True:
        answer = logs.get_log_events(logGroupName=group, logStreamName=stream, startFromHead=True, **token)
        for event in answer["events"]:
            print(event["message"])
        if token.get("nextToken") == answer["nextForwardToken"]:
            break
        token = {"nextToken": answer["nextForwardToken"]}
"""
_SDK = "import sys, sagemaker; sagemaker.Session().logs_for_job(sys.argv[1], wait=False)"
_TRAINWATCH = """
import sys; sys.path.insert(0, sys.argv[1])
from monitor.aws.clients import Clients
from monitor.fetch.account import AwsSource
source = AwsSource(Clients())
for page in source.logs(source.job(sys.argv[2])).read():
    sys.stdout.buffer.write(page.data + b"\\n")
"""
_STEPS = "import sys; sys.path.insert(0, sys.argv[1]); from monitor.cli.main import main; sys.exit(main(sys.argv[2:]))"
_ROOT = str(Path(__file__).parents[1])
_AWSLOGS = "import sys; from awslogs.bin import main; sys.exit(main(['awslogs', *sys.argv[1:]]))"


class Reader(NamedTuple):
    """Another way to read a job's logs, as arguments of a Python that has ``package``."""

    name: str
    package: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """How one reader did."""

    seconds: float
    peak_mb: float | None
    """None where the system does not tell it."""
    trouble: str
    """The last words of a reader that failed or was ended; else empty."""
    lines: int
    """Different lines of the job in what it wrote."""
    repeated: int
    counts: Counts
    cpu_s: float = 0.0
    """Of all threads of the reader, the system's part included; 0 where the system does not tell it."""


def readers(job: Job) -> tuple[Reader, ...]:
    """Each prints all messages of the job to its standard output."""
    start = time.strftime("%Y-%m-%d %H:%M", time.gmtime(job.started_ms / 1000 - 86_400))
    group = ("--log-group-name", _GROUP, "--log-stream-name-prefix", f"{job.name}/", "--output", "text")
    return (
        Reader("boto3 loop over the streams", "boto3", ("-c", _PLAIN_LOOP, job.name)),
        Reader("sagemaker logs_for_job", "sagemaker", ("-c", _SDK, job.name)),
        Reader("awslogs get", "awslogs", ("-c", _AWSLOGS, "get", _GROUP, f"{job.name}/.*", "-s", start, "-G", "-S")),
        Reader("aws logs filter-log-events", "awscli", ("-m", "awscli", "logs", "filter-log-events", *group)),
        Reader("aws logs tail", "awscli", ("-m", "awscli", "logs", "tail", _GROUP, "--since", "10000d")),
    )


def own(job: Job) -> Reader:
    """Trainwatch's reader alone, which prints all messages too."""
    return Reader("Trainwatch, reading alone", "msgspec", ("-c", _TRAINWATCH, _ROOT, job.name))


def own_command(job: Job) -> Reader:
    """Trainwatch's command for step reports: it reads all messages, and prints what it understood of them."""
    return Reader(
        "Trainwatch, steps --format csv", "msgspec", ("-c", _STEPS, _ROOT, "steps", job.name, "--format", "csv")
    )


def own_report(job: Job) -> Reader:
    """Trainwatch's whole review, as the report that the command line prints."""
    return Reader("Trainwatch, report", "msgspec", ("-c", _STEPS, _ROOT, "report", job.name))


def account(size: str, text: Text = step_lines) -> Account:
    """One finished job of that size, in us-east-1. KeyError for an unknown size."""
    nodes, minutes = SIZES[size]
    name = "bench-2026-03-04-08-00-00-000"
    job = Job(name=name, started_ms=STARTED_MS, nodes=nodes, minutes=minutes, text=text)
    return Account(jobs=(job,), now_ms=job.ended_ms + 3_600_000)


def rows() -> list[tuple[str, ...]]:
    """One row a reader; a package that is not installed has a row that says so."""
    size = os.environ.get("READERS_SIZE", "modest")
    python = os.environ.get("PEERS_PYTHON", sys.executable)
    plan = account(size)
    (job,) = plan.jobs
    streams = streams_of(plan)
    lines = sum(len(stream.times) for stream in streams)
    bound_s = sum(page_count(rendered(stream).sizes) for stream in streams) / per_second(plan)["GetLogEvents"]
    table: list[tuple[str, ...]] = [
        (
            "reader",
            "seconds",
            "calls",
            "throttled",
            "lines",
            "lost",
            "repeated",
            "peak MB",
            "of the bound",
            "stub busy",
            "",
        )
    ]
    with running(plan) as aws:
        table.append(_row(own(job), run(sys.executable, own(job), aws), lines, bound_s))
        for reader in readers(job):
            if _has(python, reader.package):
                table.append(_row(reader, run(python, reader, aws), lines, bound_s))
            else:
                table.append((reader.name, *[""] * 9, f"not run: {reader.package} is not installed"))
    table.append((f"{size}: {job.nodes} nodes, bound", f"{bound_s:.2f}", "", "", f"{lines:,}", *[""] * 6))
    return table


def run(python: str, reader: Reader, aws: Running) -> Run:
    """Runs a reader in a process of its own, with quotas that are full at its start."""
    aws.reset()
    with tempfile.TemporaryDirectory() as folder:
        output, errors = Path(folder) / "output", Path(folder) / "errors"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        environment |= {**aws.environment, "HOME": folder, "PYTHONUNBUFFERED": "", "COLUMNS": "80"}
        with output.open("wb") as out, errors.open("wb") as err:
            start = time.perf_counter()
            process = subprocess.Popen([python, *reader.arguments], env=environment, cwd=folder, stdout=out, stderr=err)
            peak_kb, cpu_s = 0, 0.0
            while process.poll() is None:
                peak_kb, cpu_s = max(peak_kb, _peak_kb(process.pid)), max(cpu_s, _cpu_s(process.pid))
                if time.perf_counter() - start > LIMIT_S:
                    process.kill()
                time.sleep(_POLL_S)
            seconds = time.perf_counter() - start
        trouble = ""
        if process.returncode:
            trouble = _trouble(errors.read_text("utf-8", "replace"), process.returncode)
        lines, repeated = _marks(output)
    return Run(seconds, peak_kb / 1024 if peak_kb else None, trouble, lines, repeated, aws.counts(), cpu_s)


def _row(reader: Reader, run: Run, lines: int, bound_s: float) -> tuple[str, ...]:
    if run.trouble and not run.lines:
        return (reader.name, *[""] * 9, f"failed: {run.trouble}")
    return (
        reader.name,
        f"{run.seconds:.2f}",
        f"{sum(run.counts.calls.values()):,}",
        f"{sum(run.counts.throttled.values()):,}",
        f"{run.lines:,}",
        f"{lines - run.lines:,}",
        f"{run.repeated:,}",
        f"{run.peak_mb:.0f}" if run.peak_mb else "unknown",
        f"{run.seconds / bound_s:.2f} x",
        f"{run.counts.cpu_s / run.seconds:.0%}",
        f"failed: {run.trouble}" if run.trouble else "",
    )


def _trouble(errors: str, code: int) -> str:
    """The line that tells why a reader failed: what calls itself an error, else the last one."""
    said = [line.strip() for line in errors.splitlines() if line.strip()]
    told = [line for line in said if "error" in line.lower()] or said
    return told[-1][:100] if told else f"ended with {code}"


def _has(python: str, package: str) -> bool:
    asked = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
    return subprocess.run([python, "-c", asked], check=False).returncode == 0


def _peak_kb(pid: int) -> int:
    """The most memory the process has held so far; 0 where /proc does not tell.

    Not ru_maxrss: a child starts with its parent's there.
    """
    try:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) if found else 0


def _cpu_s(pid: int) -> float:
    """What the process has computed so far; 0 where /proc does not tell."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def _marks(output: Path) -> tuple[int, int]:
    """How many different lines of the job a reader wrote, and how many it wrote again."""
    if not output.stat().st_size:
        return 0, 0
    found = array("Q")
    with output.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        for mark in _MARK.finditer(text):
            found.append((int(mark[1]) * 1000 + int(mark[2])) * 10**9 + int(mark[3]))
    different = len(np.unique(np.frombuffer(found, np.uint64)))
    return different, len(found) - different
