"""The account that the tests of the stub read; without boto3, which the stub's process has no use for."""

from __future__ import annotations

from typing import Any

from benchmarks.account import Account, InsightsQuery, Job, LineSpan

GROUP = "/aws/sagemaker/TrainingJobs"
MINUTE_MS = 60_000
BEGAN_MS = 1_772_611_200_000
NOW_MS = BEGAN_MS + 4 * 60 * MINUTE_MS


def short_lines(span: LineSpan) -> list[str]:
    return [f"{span.node} {line}" for line in range(span.first, span.first + span.count)]


def odd_lines(span: LineSpan) -> list[str]:
    return [f'"Größe"\t{line}\\ \x00 error' if line % 2 else f"fine {line}" for line in range(span.count)]


def canned(query: InsightsQuery) -> list[dict[str, str]]:
    return [{"@message": f"{query.text} {number}"} for number in range(10_500)]


def job(name: str, **more: Any) -> Job:
    fields = {"started_ms": BEGAN_MS, "minutes": 10.0, "lines_per_minute": 6.0}
    return Job(name=name, **(fields | more))


JOBS = (
    job("big", nodes=2, minutes=30.0, lines_per_minute=400.0),
    job("short", lines_per_minute=1200.0, text=short_lines),
    job("wide", nodes=60, minutes=1.0, instance_type="ml.g5.xlarge"),
    job("job-a"),
    job("job-a-2", text=odd_lines),
    job("late", minutes=60.0, lines_per_minute=60.0, late_share=0.1, late_ms=90_000, text=short_lines),
    job("mixed", disorder_ms=60_000, text=short_lines),
    job("restarted", nodes=2, restarts=(5.0,), late_nodes=((2, 3.0),)),
    job("hundred", nodes=100, minutes=202.0, lines_per_minute=0.01),
    job("failed", status="Failed", failure_reason="AlgorithmError: exit code 1", hyperparameters=(("lr", "0.1"),)),
)
ACCOUNT = Account(jobs=JOBS, now_ms=NOW_MS, latency_ms=0.0, quotas=(), insights=canned)
