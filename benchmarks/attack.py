"""Attacked: mutated real logs through all readers, in both orders, and through whole reviews; what fails is counted.

ATTACK_RUNS is how many logs (10,000 by default, one in ten of them reviewed as a whole), ATTACK_SEED where their seeds begin.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta

import pandas as pd

from benchmarks.hostile.account import NAME, START, OneJob
from benchmarks.hostile.lines import first_seed, mutated
from monitor.model import Report
from monitor.parse.assemble import Parsed, assemble
from monitor.parse.failed import Failed
from monitor.parse.recognise import RawRows
from monitor.review.reviewer import Reviewer

RUNS = 10_000
#: Of so many logs one is reviewed as a whole, in turn from its head and from its newest lines.
REVIEWED = 10
#: So long a log of some 120 lines may take its readers; a line of 100 kB is among them now and then.
SLOW_S = 2.0
_failures: list[str] = []


@dataclass
class Counted:
    """What some runs came to."""

    runs: int = 0
    reviews: int = 0
    lines: int = 0
    steps: int = 0
    events: int = 0
    slow: int = 0
    slowest_s: float = 0.0
    errors: Counter[str] = field(default_factory=Counter)
    """What went wrong, in words: how often."""
    seeds: dict[str, int] = field(default_factory=dict)
    """Of each of these the first seed."""

    def add(self, other: Counted) -> None:
        self.runs += other.runs
        self.reviews += other.reviews
        self.lines += other.lines
        self.steps += other.steps
        self.events += other.events
        self.slow += other.slow
        self.slowest_s = max(self.slowest_s, other.slowest_s)
        self.errors.update(other.errors)
        self.seeds = {**other.seeds, **self.seeds}

    def failed(self, what: str, seed: int) -> None:
        self.errors[what] += 1
        self.seeds.setdefault(what, seed)


def attacked(seed: int, whole: bool) -> Counted:
    """One log through the readers, and through a review where it is to be ``whole``."""
    lines = mutated(seed)
    out = Counted(runs=1, lines=len(lines))
    begun_s = time.thread_time()
    try:
        from_head, from_end = _read(lines, False, seed, out), _read(lines, True, seed, out)
        out.steps, out.events = len(from_head.steps), len(from_head.events)
        if not _same(from_head, from_end):
            out.failed("read from its end it says something else than read from its head", seed)
    except Exception as error:
        out.failed(_words("reading", error), seed)
    out.slowest_s = time.thread_time() - begun_s
    if out.slowest_s > SLOW_S:
        out.slow = 1
        out.seeds["slow"] = seed
    if whole:
        out.reviews = 1
        try:
            for told in _reviewed(lines, newest_first=bool(seed // REVIEWED % 2)):
                for gap in told.faults:
                    out.failed(f"a part of the review: {gap.why}", seed)
        except Exception as error:
            out.failed(_words("the review", error), seed)
    return out


def _read(lines: list[bytes], newest_first: bool, seed: int, out: Counted) -> Parsed:
    """What all readers make of the lines; where one failed, that is counted."""
    reader, raw = OneJob(lines).logs(OneJob(lines).job(NAME)), RawRows()
    for page in (*(reader.newest() if newest_first else ()), *reader.read()):
        raw.add(page)
    for each in raw.failures:
        out.failed(_of_reader(each), seed)
    return assemble(raw.steps, raw.events, reader.numbering)


def _of_reader(each: Failed) -> str:
    return f"the reader {each.name}, which costs the line: {type(each.error).__name__}: {str(each.error)[:80]}"


def _same(one: Parsed, other: Parsed) -> bool:
    if one.identity != other.identity:
        return False
    try:
        pd.testing.assert_frame_equal(one.steps, other.steps, check_categorical=False)
        pd.testing.assert_frame_equal(one.events, other.events)
    except AssertionError:
        return False
    return True


def _reviewed(lines: list[bytes], newest_first: bool) -> list[Report]:
    reviewer, now = Reviewer(OneJob(lines), NAME), START + timedelta(hours=1)
    return list(reviewer.reviews(lambda: now)) if newest_first else [reviewer.review(now)]


def _words(what: str, error: Exception) -> str:
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = "" if last is None else f" at {os.path.basename(last.tb_frame.f_code.co_filename)}:{last.tb_lineno}"  # noqa: PTH119
    return f"{what}: {type(error).__name__}: {str(error)[:80]}{place}"


def attack(seeds: range) -> Counted:
    """All of these logs, one after the other."""
    out = Counted()
    for seed in seeds:
        out.add(attacked(seed, seed % REVIEWED == 0))
    return out


def rows() -> list[tuple[str, ...]]:
    runs, first = int(os.environ.get("ATTACK_RUNS", RUNS)), first_seed()
    pieces = [range(at, min(at + 100, first + runs)) for at in range(first, first + runs, 100)]
    total = Counted()
    with ProcessPoolExecutor() as pool:
        for counted in pool.map(attack, pieces):
            total.add(counted)
    _failures[:] = [f"{times} × {what} (seed {total.seeds[what]})" for what, times in total.errors.most_common()]
    if total.slow:
        _failures.append(f"{total.slow} × longer than {SLOW_S:g} s (seed {total.seeds['slow']})")
    return [
        (
            "logs",
            "of them reviewed",
            "lines",
            "step reports",
            "events",
            "failures",
            f"over {SLOW_S:.0f} s",
            "slowest, s",
        ),
        (
            *(f"{count:,}" for count in (total.runs, total.reviews, total.lines, total.steps, total.events)),
            f"{sum(total.errors.values()):,}",
            f"{total.slow:,}",
            f"{total.slowest_s:.2f}",
        ),
    ]


def failures() -> list[str]:
    return _failures
