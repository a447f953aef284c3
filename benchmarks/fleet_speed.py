"""Does the Fleet page stay below a second a view with 100,000 archived jobs? Time of its sums, of its jobs, and of a report.

FLEET_JOBS of them (100000), each of some days, buckets and findings, over a year and twelve teams.
"""

from __future__ import annotations

import json
import os
import random
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from monitor.archive.fleet_parts import FactStore
from monitor.fleet.facts import Found, JobFacts, Share
from monitor.fleet.owners import Owners
from monitor.fleet.summing import BEFORE, fleet_report
from monitor.fleet.uses import use_of
from monitor.fleet.window import Window, since
from monitor.review.fleet_queries import FleetDatabase
from monitor.settings import Settings

Row = tuple[str, str, str]
T = TypeVar("T")
#: Of a view, in seconds.
MOST_S = 1.0
_NOW = datetime(2026, 11, 24, 6, tzinfo=UTC)
_BUCKETS = ("image", "initialization", "productive", "checkpoint", "slow-excess", "stall", "idle-tail")
_failed: list[str] = []


def rows() -> list[Row]:
    """The table."""
    number = int(os.environ.get("FLEET_JOBS", "100000"))
    _failed.clear()
    with tempfile.TemporaryDirectory() as folder:
        store = FactStore(Path(folder))
        spent, _ = _timed(lambda: _fill(store, number))
        size = sum(part.stat().st_size for part in store.parts) / 2**20
        out: list[Row] = [
            ("what", "time", "may be"),
            (f"{number:,} jobs made and kept, {size:.0f} MiB", f"{spent:.1f} s", ""),
        ]
        took, database = _timed(lambda: FleetDatabase(store, Settings()))
        out.append(("the tables in memory, in the background, after each night", f"{took:.2f} s", ""))
        for days in (7, 28, 364):
            window = since(timedelta(days=days), _NOW)
            took, tables = _timed(lambda window=window: database.tables(window, "team"))  # type: ignore[misc]
            out.append(_row(f"the sums of {days} days, {tables.jobs:,} jobs", took))
            took, _ = _timed(lambda window=window: database.jobs(window, "team", "team-3", ("idle",)))  # type: ignore[misc]
            out.append(_row(f"the jobs behind a part of {days} days", took))
        week = Window(_NOW.date() - timedelta(days=8), _NOW.date() - timedelta(days=1))
        took, _ = _timed(store.stamps)
        out.append(("what is known already, before new jobs are read", f"{took:.2f} s", ""))
        took, jobs = _timed(lambda: store.load(week.start - BEFORE, _NOW.date()))
        out.append((f"loading {len(jobs):,} jobs for the report of a week", f"{took:.2f} s", ""))
        took, _ = _timed(lambda: fleet_report("archive", jobs, week, _NOW, "team", Owners().team))
        out.append(("the report of a week", f"{took:.2f} s", ""))
    return out


def failures() -> list[str]:
    """What took too long."""
    return list(_failed)


def _row(what: str, took: float) -> Row:
    if took > MOST_S:
        _failed.append(f"{what} took {took:.2f} s")
    return what, f"{took:.2f} s", f"{MOST_S:g} s"


def _timed(do: Callable[[], T]) -> tuple[float, T]:
    begun = time.perf_counter()
    found = do()
    return time.perf_counter() - begun, found


def _fill(store: FactStore, number: int) -> None:
    chance = random.Random(1)
    for first in range(0, number, 10_000):
        store.keep([_job(chance, place, number) for place in range(first, min(number, first + 10_000))])


def _job(chance: random.Random, place: int, number: int) -> JobFacts:
    created = _NOW - timedelta(days=365 * (1 - place / number))
    nodes = chance.choice((1, 1, 2, 4, 8, 16))
    length = timedelta(hours=chance.expovariate(1 / 9))
    days = [created.date() + timedelta(days=day) for day in range(1 + length.days)]
    shares = tuple(
        Share(day, bucket, use_of(bucket), nodes * chance.uniform(60, 9000)) for day in days for bucket in _BUCKETS
    )
    billed_s = sum(share.instance_s for share in shares)
    return JobFacts(
        key=f"runs/region=us-east-1/month={created:%Y-%m}/job=run-{place}/run-{place:010d}.json",
        stamp=str(place),
        name=f"run-{place}",
        base=f"model-{place % 400}",
        arn=f"arn:aws:sagemaker:us-east-1:111122223333:training-job/run-{place}",
        account="111122223333",
        region="us-east-1",
        status=chance.choice(("Completed",) * 8 + ("Failed", "Stopped")),
        created=created,
        started=created,
        ended=created + length,
        reviewed_at=created + length,
        instance_type=chance.choice(("ml.p4d.24xlarge", "ml.p5.48xlarge", "ml.g5.12xlarge")),
        instances=nodes,
        gpus=8 * nodes,
        spot=place % 9 == 0,
        price_usd=36.0,
        usd=billed_s * 36 / 3600,
        training_s=length.total_seconds(),
        billable_s=length.total_seconds(),
        cause=chance.choice((None,) * 9 + ("script-error", "cuda-out-of-memory", "nccl-timeout")),
        queued_s=chance.expovariate(1 / 600),
        stepped_at=created + timedelta(minutes=9),
        recoverable_share=chance.random() / 3,
        gpu_utilization_pct=chance.uniform(20, 99),
        step_median_s=1.0,
        step_p10_s=0.9,
        step_p90_s=1.2,
        step_reports=500,
        tags={"team": f"team-{place % 12}", "project": f"project-{place % 60}"},
        configuration=json.loads('{"batch_size": "32", "pipeline_parallel_degree": "2", "microbatches": "8"}'),
        findings=(Found("raise-active-microbatches", "Window too small", "Raise it.", 0.2),),
        shares=shares,
    )
