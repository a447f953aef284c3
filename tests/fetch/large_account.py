"""Accounts with logs that are summed up; without boto3, which the stub's process has no use for."""

from __future__ import annotations

import random

from benchmarks.account import Account, InsightsQuery, Job, LineSpan, streams_of
from tests.fetch.insights_engine import evaluate

BEGAN_MS = 1_772_611_200_000
NOW_MS = BEGAN_MS + 30 * 60 * 60_000


def per_node(span: LineSpan) -> list[str]:
    """The line that users are asked to print, every third; node 3 is slow."""
    dice = random.Random(1000 * span.seed + span.node)
    level = 1.4 if span.node == 3 else 1.0
    return [
        f"step={line // 3} step_time_s={3 * level * dice.uniform(0.9, 1.1):.4f} loss={5 / (1 + line):.5f}"
        if line % 3 == 0
        else f"fetched shard {line}"
        for line in range(span.count)
    ]


def vit_clock(span: LineSpan) -> list[str]:
    """A clock since the start: two seconds a step, three from the tenth minute on (a line each two seconds)."""
    return [f"step: {line}: step time is {2.0 * line + max(0, line - 300):.3f}" for line in range(span.count)]


def smp_v1(span: LineSpan) -> list[str]:
    """A clock of whole seconds and the speed of the single step, eight samples each; rank 0 of node 1 alone prints."""
    if span.node != 1:
        return [f"waiting {line}" for line in range(span.count)]
    return [
        f"[1,mpirank:0,algo-1]<stdout>:({line * 2}s), Batch {line} Loss: {9 / (1 + line):.4f}, "
        f"Speed: {8 / (2.0 + 0.02 * (line % 5 - 2)):.5f} samples/sec, TFLOPS/GPU: 4.3"
        for line in range(span.count)
    ]


def no_steps(span: LineSpan) -> list[str]:
    return [f"{span.node} nothing of the kind {line}" for line in range(span.count)]


JOBS = tuple(
    Job(name=name, started_ms=BEGAN_MS, nodes=nodes, minutes=minutes, lines_per_minute=pace, text=text)
    for name, nodes, minutes, pace, text in (
        ("per-node", 4, 45.0, 60.0, per_node),
        ("vit", 1, 40.0, 30.0, vit_clock),
        ("smp", 2, 40.0, 30.0, smp_v1),
        ("silent", 1, 20.0, 30.0, no_steps),
        ("huge", 40, 60.0, 30.0, per_node),
    )
)


def answered(query: InsightsQuery) -> list[dict[str, str]]:
    return evaluate(query, streams_of(Account(jobs=JOBS)))


def failed(query: InsightsQuery) -> str:
    return "Failed"


def empty(query: InsightsQuery) -> list[dict[str, str]]:
    return []


def account(found: object = answered) -> Account:
    return Account(jobs=JOBS, now_ms=NOW_MS, latency_ms=0.0, quotas=(), insights=found)  # type: ignore[arg-type]
