"""Which log streams does a sample job have, and what stands in each?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.demo.dialects import speaker
from monitor.demo.endings import out_of_memory, success
from monitor.demo.schedule import Attempt, SampleJob
from monitor.demo.story import OutOfMemory
from monitor.demo.toolkit import Line, head


@dataclass(frozen=True, slots=True)
class Stream:
    """One node's log of one attempt."""

    job: SampleJob
    attempt: Attempt
    node: str

    @property
    def name(self) -> str:
        """As SageMaker names streams: job, host, and when the stream was made."""
        return f"{self.job.name}/{self.node}-{int(self.attempt.began.timestamp())}"

    def events(self) -> Iterator[tuple[datetime, str]]:
        """(time, text) in time; of a running job without an end, so stop at the first that has not happened."""
        for line in _lines(self.job, self.attempt, self.node):
            yield self.attempt.began + timedelta(seconds=line.at_s), line.text


def streams(job: SampleJob) -> tuple[Stream, ...]:
    """A stream for each node and attempt; none for a job that never started."""
    return tuple(Stream(job, attempt, node) for attempt in job.attempts for node in job.story.nodes)


def _lines(job: SampleJob, attempt: Attempt, node: str) -> Iterator[Line]:
    speak = speaker(job, attempt, node)
    yield from head(job, attempt, node)
    for span in attempt.spans(job.story):
        if span.kind in {"step", "checkpoint"}:
            if speak is not None:
                for number, text in enumerate(speak(span)):
                    yield Line(span.end_s + number * 0.001, text)
        elif span.kind == "exit":
            yield from success(job, attempt, node, span)
        elif span.kind == "failure" and isinstance(job.story.fault, OutOfMemory):
            yield from out_of_memory(job, attempt, node, span, job.story.fault)
