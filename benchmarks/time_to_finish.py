"""How often does the truth lie in the band of the time to finish? Simulated jobs, looked at somewhere on their way.

The band is to hold 80 of 100. What was fitted was fitted on jobs of even seeds; the table is of jobs of odd ones.
A change of pace that is still to come cannot be known; those jobs are in the table all the same.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd

from monitor.analyze.journal import journal
from monitor.analyze.lost import LostWork
from monitor.analyze.step_time import seconds_to_finish
from monitor.model import events_frame, steps_frame

START = datetime(2026, 3, 4, 8, 0, tzinfo=UTC)
KINDS = (
    "steady",
    "correlated pace",
    "drifting pace",
    "evaluations and checkpoints",
    "pauses without a word",
    "single slow steps",
    "restarts",
    "a change of pace",
    "all of it",
)
#: In steps that are done: what a job may do besides.
JOBS_A_KIND = 120


@dataclass(frozen=True)
class Simulated:
    """A job's reports: when each came and what its number was, and the places of the lines that tell of more."""

    at_s: np.ndarray
    step: np.ndarray
    total: int
    told: tuple[tuple[str, float, int], ...]
    """(kind of event, seconds, report behind which the line stands)."""


def simulate(kind: str, seed: int) -> Simulated:
    """A job of 200 to 20,000 steps of 0.2 to 30 seconds; everything about it is drawn from the seed."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    total = int(np.exp(rng.uniform(np.log(200), np.log(20_000))))
    step_s = float(np.exp(rng.uniform(np.log(0.2), np.log(30))))
    every = int(rng.choice([1, 1, 10, 50])) if total > 2000 else int(rng.choice([1, 1, 5]))
    much = kind == "all of it"
    times = step_s * np.exp(_noise(kind, rng, total))
    if kind == "single slow steps" or much:
        slow = rng.random(total) < rng.uniform(0.001, 0.02)
        times = np.where(slow, times * rng.uniform(1.5, 10, total), times)
    if kind == "a change of pace" or (much and rng.random() < 0.3):
        times[int(rng.uniform(0.05, 0.95) * total) :] *= rng.uniform(1.1, 1.5)
    marks: dict[int, list[tuple[str, float]]] = {}
    save_every = max(every, int(total * rng.uniform(0.01, 0.1)) // every * every)
    if kind in {"evaluations and checkpoints", "restarts"} or much:
        _add(marks, rng, "checkpoint-end", save_every, total, step_s * rng.uniform(2, 40))
    if kind == "evaluations and checkpoints" or much:
        apart = max(every, int(total * rng.uniform(0.02, 0.3)) // every * every)
        _add(marks, rng, "evaluation-end", apart, total, step_s * rng.uniform(5, 150))
    if kind == "pauses without a word":
        apart = max(every, int(total * rng.uniform(0.01, 0.1)) // every * every)
        _add(marks, rng, "", apart, total, step_s * rng.uniform(3, 60))
    fails_s = np.inf
    if kind == "restarts" or (much and rng.random() < 0.5):
        fails_s = total * step_s / rng.uniform(1, 8)
    return _played(rng, times, every, save_every, marks, fails_s)


def _noise(kind: str, rng: np.random.Generator, count: int) -> np.ndarray:
    noise: np.ndarray = rng.normal(0, rng.uniform(0.005, 0.1), count)
    if kind == "drifting pace":
        walk = np.cumsum(rng.normal(0, 1, count))
        noise += rng.uniform(0.02, 0.15) * walk / np.sqrt(count)
    if kind in {"correlated pace", "all of it"}:
        keeps = 1 - 1 / rng.uniform(5, count / 10)
        shocks = rng.normal(0, rng.uniform(0.01, 0.1) * np.sqrt(1 - keeps**2), count)
        level = float(rng.normal(0, 0.03))
        for place, shock in enumerate(shocks):
            level = keeps * level + shock
            noise[place] += level
    return noise


def _add(
    marks: dict[int, list[tuple[str, float]]],
    rng: np.random.Generator,
    what: str,
    apart: int,
    total: int,
    took_s: float,
) -> None:
    for step in range(apart, total, apart):
        marks.setdefault(step, []).append((what, took_s * float(rng.lognormal(0, 0.1))))


def _played(
    rng: np.random.Generator,
    times: np.ndarray,
    every: int,
    save_every: int,
    marks: dict[int, list[tuple[str, float]]],
    fails_s: float,
) -> Simulated:
    """The job step by step: after a failure it begins again from its last checkpoint."""
    total, at_s, step = len(times), 0.0, 0
    fail_at_s = float(rng.exponential(fails_s)) if np.isfinite(fails_s) else np.inf
    again_s = float(rng.uniform(60, 900))
    reports: list[tuple[float, int]] = []
    told: list[tuple[str, float, int]] = []
    while step < total:
        at_s += float(times[step])
        if at_s > fail_at_s:
            at_s += again_s * float(rng.lognormal(0, 0.3))
            told.append(("resume", at_s, len(reports)))
            step = step // save_every * save_every
            fail_at_s = at_s + float(rng.exponential(fails_s))
            continue
        step += 1
        if step % every == 0 or step == total:
            reports.append((at_s, step))
        for what, took_s in marks.get(step, ()):
            at_s += took_s
            if what:
                told.append((what, at_s - 0.01, len(reports)))
    return Simulated(np.array([at for at, _ in reports]), np.array([n for _, n in reports]), total, tuple(told))


def looked_at(
    job: Simulated, share: float, rng: np.random.Generator
) -> tuple[tuple[float, float, float] | None, float]:
    """The band at a share of the way, and the truth: seconds until the last step's report."""
    seen = max(2, int(share * len(job.at_s)))
    if seen >= len(job.at_s):
        return None, 0.0
    now_s = float(rng.uniform(job.at_s[seen - 1], job.at_s[seen]))
    rows = pd.DataFrame(
        {
            "node": "algo-1", "rank": 0, "step": job.step[:seen],
            "timestamp": pd.Timestamp(START) + pd.to_timedelta(np.round(job.at_s[:seen], 3), unit="s"),
            "step_time_s": np.nan, "throughput": np.nan, "throughput_unit": "", "loss": np.nan, "gpu_memory_gib": np.nan,
            "format": "simulated", "kind": "step", "stream": "s", "line": 2 * np.arange(1, seen + 1), "total": job.total,
            "segment": np.append(0, np.cumsum(np.diff(job.step[:seen]) <= 0)), "warm_up": False,
        }
    )  # fmt: skip
    events = [
        {
            "timestamp": START + timedelta(seconds=at), "node": "algo-1", "rank": 0, "kind": kind, "text": "",
            "stream": "s", "line": 2 * behind + 1,
        }
        for kind, at, behind in job.told
        if behind < seen or at < now_s
    ]  # fmt: skip
    book = journal(steps_frame(rows), events_frame(events))
    lost = LostWork((), frozenset()) if any(kind == "resume" for kind, _, _ in job.told) else None
    band = seconds_to_finish(book, int(job.step[seen - 1]), job.total, START + timedelta(seconds=now_s), lost)
    return band, float(job.at_s[-1]) - now_s


def replayed(jobs: int, odd: bool = True) -> pd.DataFrame:
    """Rows ``kind share inside width``: whether the truth lies in the band, and how wide that is, relative to the truth."""
    out = []
    for kind in KINDS:
        for number in range(jobs):
            seed = 2 * number + odd
            rng = np.random.default_rng([seed, 99, KINDS.index(kind)])
            share = float(rng.uniform(0.05, 0.95))
            band, truth = looked_at(simulate(kind, seed), share, rng)
            if band is not None:
                low, mid, high = band
                out.append(
                    (kind, share, low <= truth <= high, truth < low, (high - low) / truth, abs(mid - truth) / truth)
                )
    return pd.DataFrame(out, columns=["kind", "share", "inside", "sooner", "width", "miss"])


def rows(jobs: int = JOBS_A_KIND, odd: bool = True) -> list[tuple[str, ...]]:
    """A kind of job a row: looks, share of truths in the band, sooner than it, its median width, the middle's median miss."""
    found = replayed(jobs, odd)
    table: list[tuple[str, ...]] = [("jobs", "looks", "in the band", "sooner", "width of the band", "middle is off by")]
    for kind, part in [*found.groupby("kind", sort=False), ("all", found)]:
        table.append(
            (
                str(kind),
                f"{len(part)}",
                f"{100 * part['inside'].mean():.0f} %",
                f"{100 * part['sooner'].mean():.0f} %",
                f"{100 * part['width'].median():.1f} %",
                f"{100 * part['miss'].median():.1f} %",
            )
        )
    return table


if __name__ == "__main__":
    for row in rows(int(sys.argv[1]), sys.argv[2] == "odd"):
        print("  ".join(cell.ljust(28 if place == 0 else 14) for place, cell in enumerate(row)))
