"""How fast is all of a job there, and what does a look at what is new cost? Trainwatch against the quotas of a stub.

COLD_SIZE is modest or issue, as in log_readers; COLD_ONLY leaves the running jobs out. The bound is the fewest
GetLogEvents calls at the region's calls a second. ``busy`` is the machine's load a core in the last minute: above 1,
seconds are longer than they need be.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from benchmarks.account import Account, Job, LineSpan, Running, running, step_lines, streams_of
from benchmarks.account.quotas import per_second
from benchmarks.account.rendered import page_count, rendered
from benchmarks.log_readers import Reader, account, own, own_command, own_report, run
from monitor.aws.clients import Clients
from monitor.fetch.account import AwsSource

Row = tuple[str, ...]
_MINUTE_MS = 60_000
_REFRESH_S = 20.0
_REFRESHES = 6
_WAYS = {"newest": "first picture", "read": "all of it"}
_EMPTY = "", "", "", "", "", ""
#: What looks like steps, saves and evaluations and is none, or too often one: a review must not keep each of these lines.
_NOISE = (
    "[default{c}]:saving checkpoint shard {a} of 997 to /opt/ml/checkpoints/step-{b}/shard_{a}.pt",
    "worker {c}: step {a} of prefetch epoch {b}, queue 0.{a} s, loss of samples 0, speed {b} MB/s",
    "Evaluating candidate {b} of {a}: eval_loss pending, batch {c}",
    "step={a} loss=nan grad_norm=inf, overflow on rank {c}, skipping this update",
    "DEBUG iteration timer: fetch {a}.{c} ms, decode {b}.{c} ms, epoch cache 0x{a:08x}",
    "***** Running Evaluation of shard {a} *****",
    "Saved state of data loader {c} at batch {b} to /tmp/loader-{a}.json in 0.{b} s",
    "WARNING step {b} took {a} ms in the collate function of worker {c}",
)


def noisy_lines(span: LineSpan) -> list[str]:
    """As ``step_lines``, but what lies between the steps looks like steps, saves and evaluations."""
    steps = step_lines(span)
    return [
        text
        if line % 10 == 0
        else _NOISE[line % len(_NOISE)].format(a=(7 * line + span.seed) % 997, b=(13 * line + 101) % 991, c=line % 8)
        + f" id={span.node}.{span.attempt}.{line}"
        for line, text in enumerate(steps, span.first)
    ]


def rows() -> list[Row]:
    """The cold load of a finished job; then first pictures and refreshes of running ones, by their nodes."""
    table: list[Row] = [("what", "seconds", "of the bound", "CPU s", "calls", "fewest", "throttled", "peak MB", "busy")]
    size = os.environ.get("COLD_SIZE", "modest")
    for what, text, ways in (
        ("", step_lines, (own, own_command, own_report)),
        (" with noise like steps, saves and evaluations", noisy_lines, (own_report,)),
    ):
        plan = account(size, text)
        (job,) = plan.jobs
        fewest = sum(page_count(rendered(stream).sizes) for stream in streams_of(plan))
        bound_s = fewest / per_second(plan)["GetLogEvents"]
        with running(plan) as aws:
            for reader in (way(job) for way in ways):
                table.extend(_cold(f"{reader.name}, {size}{what}", reader, aws, fewest, bound_s))
    if not os.environ.get("COLD_ONLY"):
        for nodes in (4, 64):
            table.extend(_running_job(nodes))
    return table


def _cold(name: str, reader: Reader, aws: Running, fewest: int, bound_s: float) -> Iterator[Row]:
    found = run(sys.executable, reader, aws)
    calls, throttled = found.counts.calls["GetLogEvents"], found.counts.throttled.get("GetLogEvents", 0)
    peak = "unknown" if found.peak_mb is None else f"{found.peak_mb:.0f}"
    more = (f"{found.cpu_s:.1f}", f"{calls:,}", f"{fewest:,}", f"{throttled / calls:.1%}", peak, _busy())
    yield (
        f"{name}{found.trouble and f' ({found.trouble})'}",
        f"{found.seconds:.2f}",
        f"{found.seconds / bound_s:.2f} x",
        *more,
    )
    seconds = found.counts.seconds
    yield ("  its first call to its last", f"{seconds:.2f}", f"{seconds / bound_s:.2f} x", *_EMPTY)


def _running_job(nodes: int) -> Iterator[Row]:
    """A job that has written for ten minutes, and is looked at again every twenty seconds."""
    now_ms = round(time.time() * 1000)
    job = Job(name="running", started_ms=now_ms - 10 * _MINUTE_MS, nodes=nodes, minutes=60.0)
    plan = Account(jobs=(job,), now_ms=now_ms, clock_rate=1.0)
    with running(plan) as aws, aws.environed():
        source = AwsSource(Clients())
        reader = source.logs(source.job(job.name))
        for way, title in _WAYS.items():
            aws.reset()
            begin_s = time.perf_counter()
            lines = sum(page.count for page in getattr(reader, way)())
            seconds = time.perf_counter() - begin_s
            calls = sum(count for name, count in aws.counts().calls.items() if name != "DescribeTrainingJob")
            yield (f"{nodes} nodes, {title}: {lines:,} lines", f"{seconds:.2f}", "", "", str(calls), *[""] * 3, _busy())
        for number in range(_REFRESHES):
            aws.advance(_REFRESH_S / 60)
            aws.reset()
            now = datetime.fromtimestamp(now_ms / 1000 + _REFRESH_S * (number + 1), UTC)
            begin_s = time.perf_counter()
            lines = sum(page.count for page in reader.read())
            seconds = time.perf_counter() - begin_s
            looked = _calls(aws)
            aws.reset()
            source.metrics(source.job(job.name), now)
        asked = aws.counts().calls.get("GetMetricData", 0)
        what = f"{nodes} nodes, refresh: {lines:,} lines, and {asked} GetMetricData"
        yield (what, f"{seconds:.2f}", "", "", looked, *[""] * 3, _busy())


def _calls(aws: Running) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(aws.counts().calls.items()))


def _busy() -> str:
    return f"{os.getloadavg()[0] / (os.cpu_count() or 1):.1f}"
