"""How long until the jobs of many accounts and regions are one list, and what does a refresh cost? Within each one's quota.

ACCOUNTS (20) with three regions each and ACCOUNT_JOBS (300) jobs in each pair, every answer after 80 to 120 ms. The bound is
the time of that many answers, sixteen at a time; ``cpu`` is this process's own. One account refuses in one region, and is to
be named. ``busy`` is the machine's load a core in the last minute: above 1, seconds are longer than they need be.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from benchmarks.account import Account, Counts, Faults, Job, Running, running
from monitor.accounts import Account as Named
from monitor.accounts import AccountRegion
from monitor.fetch.account import open_pair
from monitor.fetch.source import JobQuery
from monitor.review.across import AT_ONCE, Across, Sweep

Row = tuple[str, ...]
REGIONS = ("us-east-1", "us-west-2", "eu-west-1")
#: Seconds until all is shown, for sixty pairs with 300 jobs each, on a machine that does nothing else: others take their share.
MOST_S = 10.0
_MINUTE_MS = 60_000
_LATENCY_MS, _JITTER_MS = 80.0, 40.0
_REFRESHES = 5
_failed: list[str] = []


def rows() -> list[Row]:
    """The first list, and five refreshes between which jobs go on."""
    accounts, jobs = int(os.environ.get("ACCOUNTS", "20")), int(os.environ.get("ACCOUNT_JOBS", "300"))
    _failed.clear()
    hub, *members = _plan(accounts, jobs)
    with running(hub, prepared=False, members=tuple(members)) as aws, aws.environed():
        return [
            ("what", "seconds", "of the bound", "cpu", "calls", "throttled", "jobs", "named", "busy"),
            *_looks(aws, members, jobs),
        ]


def failures() -> list[str]:
    """What was not as it must be."""
    return list(_failed)


def _plan(accounts: int, jobs: int) -> Iterator[Account]:
    """The hub, then the members: a tenth of the jobs of each run, the others ended within three weeks."""
    now_ms = round(time.time() * 1000)
    yield Account(number="999999999999", now_ms=now_ms, clock_rate=1.0, latency_ms=_LATENCY_MS)
    for number in range(accounts):
        for region in REGIONS:
            yield Account(
                jobs=tuple(_job(at, now_ms) for at in range(jobs)),
                region=region,
                number=f"{number + 1:012d}",
                now_ms=now_ms,
                clock_rate=1.0,
                latency_ms=_LATENCY_MS,
                jitter_ms=_JITTER_MS,
                faults=Faults(denied=("Search", "ListTrainingJobs"))
                if number == 1 and region == REGIONS[0]
                else Faults(),
            )


def _job(at: int, now_ms: int) -> Job:
    begun_ms = now_ms - (at + 1) * 100 * _MINUTE_MS
    minutes = 100_000.0 if at % 10 == 0 else 60.0
    return Job(
        name=f"llama-{at:03d}",
        started_ms=begun_ms,
        minutes=minutes,
        lines_per_minute=0.001,
        hyperparameters=tuple((f"parameter_{each}", "1e-4") for each in range(20)),
    )


def _looks(aws: Running, members: list[Account], jobs: int) -> Iterator[Row]:
    known = {
        number: Named(f"account-{number}", REGIONS, role=f"arn:aws:iam::{number}:role/TrainwatchRead")
        for number in dict.fromkeys(member.number for member in members)
    }
    pairs = [AccountRegion(known[member.number], member.region) for member in members]
    sweep = Sweep(open_pair)
    seconds, cpu_s, found, counts = _look(aws, sweep, pairs, jobs)
    whole = -(-jobs // 100) * (len(pairs) - 1)
    yield _row(f"first list of {len(pairs)} accounts and regions", seconds, whole + len(known), cpu_s, found, counts)
    _check(found, counts, pairs, jobs)
    if len(pairs) == 60 and jobs == 300 and seconds > MOST_S * max(1.0, _busy()):
        _failed.append(f"the first list took {seconds:.1f} s, more than {MOST_S:g} s")
    calls = []
    for number in range(_REFRESHES):
        aws.advance(2)
        seconds, cpu_s, found, counts = _look(aws, sweep, pairs, jobs)
        calls.append(sum(counts.calls.values()))
        yield _row(f"refresh {number + 1}", seconds, len(pairs), cpu_s, found, counts)
        _check(found, counts, pairs, jobs)
    # The one that refuses is let be for a minute.
    if len(set(calls)) > 1 or calls[0] > len(pairs) + 1:
        _failed.append(f"refreshes took {calls} calls, not one for each of {len(pairs)} pairs")


def _look(aws: Running, sweep: Sweep, pairs: list[AccountRegion], jobs: int) -> tuple[float, float, Across, Counts]:
    aws.reset()
    begin_s, begin_cpu_s = time.perf_counter(), time.process_time()
    found = sweep.list_jobs(pairs, JobQuery(limit=jobs), datetime.now(UTC))
    return time.perf_counter() - begin_s, time.process_time() - begin_cpu_s, found, aws.counts()


def _check(found: Across, counts: Counts, pairs: list[AccountRegion], jobs: int) -> None:
    if len(found.rows) != jobs * (len(pairs) - 1):
        _failed.append(f"{len(found.rows):,} jobs were listed, not {jobs * (len(pairs) - 1):,}")
    if counts.throttled:
        _failed.append(f"AWS had to throttle: {counts.throttled}")
    if len(found.missing) != 1:
        _failed.append(f"{len(found.missing)} pairs were named as not read, not the one that refuses")


def _row(what: str, seconds: float, answers: int, cpu_s: float, found: Across, counts: Counts) -> Row:
    bound_s = answers * (_LATENCY_MS + _JITTER_MS / 2) / 1000 / AT_ONCE
    calls = ", ".join(f"{count} {name}" for name, count in sorted(counts.calls.items()))
    named = ", ".join(str(one.where) for one in found.missing)
    throttled = str(sum(counts.throttled.values()))
    times = (f"{seconds:.2f}", f"{seconds / bound_s:.2f} x", f"{cpu_s:.2f}")
    return what, *times, calls, throttled, f"{len(found.rows):,}", named, f"{_busy():.1f}"


def _busy() -> float:
    return os.getloadavg()[0] / (os.cpu_count() or 1)
