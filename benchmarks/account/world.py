"""What do all the services share? The account with its streams, the clock, the faults, and what was counted."""

from __future__ import annotations

import math
from collections import Counter
from functools import cached_property

from benchmarks.account.answer import Refusal
from benchmarks.account.clock import Clock
from benchmarks.account.plan import Account, Job
from benchmarks.account.rendered import Rendered, rendered
from benchmarks.account.streams import GROUP, Stream, streams_of


class World:
    """The state of one running stub."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.clock = Clock(account.now_ms, account.clock_rate)
        self.faults = account.faults
        self.streams = {stream.name: stream for stream in streams_of(account)}
        self.jobs = {job.name: job for job in account.jobs}
        self.reads: Counter[str] = Counter()
        """GetLogEvents calls by stream."""
        self._rendered: dict[str, Rendered] = {}

    def prepare(self) -> None:
        """Writes every answer's parts now, so that no call waits for it."""
        for stream in self.streams.values():
            self.rendered(stream)

    def rendered(self, stream: Stream) -> Rendered:
        found = self._rendered.get(stream.name)
        if found is None:
            found = self._rendered[stream.name] = rendered(stream)
        return found

    @cached_property
    def group_begins_ms(self) -> float:
        """When the first line of any job made the log group."""
        return min((stream.begins_ms for stream in self.streams.values()), default=math.inf)

    def check_group(self, name: str | None, identifier: str | None = None) -> None:
        """Refuses a group that is not there, by its name or by its ARN."""
        wanted = name or (identifier or "").rpartition(":log-group:")[2].removesuffix(":*")
        if wanted != GROUP or self.faults.no_group or self.clock.now_ms() < self.group_begins_ms:
            raise Refusal("ResourceNotFoundException", "The specified log group does not exist.")

    def exists(self, stream: Stream) -> bool:
        """Whether a stream was made by now and is not deleted."""
        gone = any(name == stream.name and self.reads[name] > calls for name, calls in self.faults.deleted)
        return not gone and stream.begins_ms <= self.clock.now_ms()

    def stream(self, name: str) -> Stream:
        """The stream of that name. Refuses one that is not there."""
        stream = self.streams.get(name)
        if stream is None or not self.exists(stream):
            raise Refusal("ResourceNotFoundException", "The specified log stream does not exist.")
        return stream

    def job_arn(self, job: Job) -> str:
        return f"arn:aws:sagemaker:{self.account.region}:{self.account.number}:training-job/{job.name}"
