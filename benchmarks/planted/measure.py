"""What does the review say of each job, and was it right?"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass

from benchmarks.planted.catalogue import Ticket, scenario
from benchmarks.planted.source import PlantedSource
from benchmarks.planted.truth import Truth
from monitor.review import Reviewer


@dataclass(frozen=True, slots=True)
class Verdict:
    """The findings of one job, in their order, against the truth."""

    ticket: Ticket
    truth: Truth
    loud: tuple[str, ...]
    """Those that ask for action."""
    quiet: tuple[str, ...]
    seconds: float
    trouble: str = ""
    """An exception of the review."""

    @property
    def named_first(self) -> bool:
        """What should be said first is, or nothing is said where nothing should be."""
        if self.trouble:
            return False
        if self.truth.first:
            return bool(self.loud) and self.loud[0] in self.truth.first
        return self.named and not set(self.loud) - self.truth.also - self.truth.said

    @property
    def named(self) -> bool:
        """It is said somewhere."""
        said = {*self.loud, *self.quiet}
        return bool(said & self.truth.first) if self.truth.first else self.truth.said <= said

    @property
    def wrong(self) -> tuple[str, ...]:
        """What asks for action and is not true."""
        right = self.truth.first | self.truth.also | self.truth.said
        return tuple(id for id in self.loud if id not in right)


def judge(ticket: Ticket) -> Verdict:
    """Builds the job and has it reviewed."""
    job = scenario(ticket)
    begun = time.perf_counter()
    try:
        report = Reviewer(PlantedSource(job), job.plan.name).review(job.now)
    except Exception as error:  # one job that breaks the review is a result, not the end of the benchmark
        said = f"{type(error).__name__}: {error}"
        return Verdict(ticket, job.truth, (), (), time.perf_counter() - begun, said)
    loud = tuple(finding.id for finding in report.findings if finding.severity != "info")
    quiet = tuple(finding.id for finding in report.findings if finding.severity == "info")
    return Verdict(ticket, job.truth, loud, quiet, time.perf_counter() - begun)


def judged(tickets: Iterable[Ticket], processes: int | None = None) -> list[Verdict]:
    """The same for many, on all cores."""
    listed = list(tickets)
    count = processes or os.cpu_count() or 1
    if count == 1 or len(listed) < 4:
        return [judge(ticket) for ticket in listed]
    with multiprocessing.Pool(count) as pool:
        return pool.map(judge, listed, chunksize=4)
