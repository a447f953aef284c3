"""One job whose log is given, as a source: read from its newest lines or from its head, with a time for each line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pandas as pd

from monitor.fetch.jobs import job_of
from monitor.fetch.source import JobQuery, JobQueryResult
from monitor.model import ApiBill, Gap, Job, JobSummary, LoadProgress, LogPage, Node, Price, RawMetrics

NAME = "hostile-1"
STREAM = f"{NAME}/algo-1-1772611200"
START = datetime(2026, 3, 4, 8, 0, tzinfo=UTC)
_LINE_S = 2.0
# Lines that are read from the end have numbers beyond those that they get.
_FIRST = 1_000_000


def answer(lines: int, **changed: Any) -> dict[str, Any]:
    """DescribeTrainingJob's answer for a job with so many lines; a minute after the last of them it is over."""
    end = START + timedelta(seconds=_LINE_S * lines + 60)
    return {
        "TrainingJobName": NAME,
        "TrainingJobArn": f"arn:aws:sagemaker:us-east-1:111122223333:training-job/{NAME}",
        "TrainingJobStatus": "Failed",
        "SecondaryStatus": "Failed",
        "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2},
        "CreationTime": START - timedelta(minutes=5),
        "TrainingStartTime": START - timedelta(minutes=3),
        "TrainingEndTime": end,
        "TrainingTimeInSeconds": int((end - START).total_seconds()) + 180,
        "BillableTimeInSeconds": int((end - START).total_seconds()) + 180,
        "SecondaryStatusTransitions": [
            {"Status": "Starting", "StartTime": START - timedelta(minutes=5), "EndTime": START - timedelta(minutes=3)},
            {"Status": "Training", "StartTime": START - timedelta(minutes=3), "EndTime": end},
            {"Status": "Failed", "StartTime": end, "StatusMessage": "Training job failed"},
        ],
        "FailureReason": "AlgorithmError: ExecuteUserScriptError: ExitCode 1",
        **changed,
    }


class OneJob:
    """A Source of one job; its streams are of one node."""

    gives: Literal["pages"] = "pages"
    clients = lines = None

    def __init__(self, lines: Sequence[bytes], job: Mapping[str, Any] | None = None) -> None:
        self._lines = lines
        self._answer = answer(len(lines)) if job is None else dict(job)

    def jobs(self, query: JobQuery) -> tuple[JobSummary, ...]:
        return (JobSummary(NAME, "Failed", START),)

    def find(self, query: JobQuery) -> JobQueryResult:
        return JobQueryResult(self.jobs(query))

    def beginnings(self) -> dict[str, str]:
        return {}

    def goes_on(self, known: Mapping[str, str]) -> bool:
        return False

    def with_instances(self, summaries: Sequence[JobSummary]) -> tuple[JobSummary, ...]:
        return tuple(summaries)

    def job(self, name: str) -> Job:
        return job_of(self._answer, name)

    def logs(self, job: Job) -> Reader:
        return Reader(self._lines)

    def metrics(self, job: Job, now: datetime) -> RawMetrics:
        return RawMetrics(pd.DataFrame(columns=["timestamp", "node", "metric", "value"]), None)

    def profiled(self, job: Job) -> None:
        return None

    def endpoint(self) -> str | None:
        return None

    def instance_type(self, name: str) -> Node | None:
        return None

    def price(self, instance_type: str, job: Job) -> Price | Gap | None:
        return None

    def bill(self) -> ApiBill:
        return ApiBill()


class Reader:
    """Half of the log from its end, then the rest from its head."""

    gaps: tuple[Gap, ...] = ()

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._lines = lines
        self._left = [(0, len(lines))] if lines else []
        self.numbering: dict[str, int | None] = {}

    @property
    def progress(self) -> LoadProgress | None:
        return LoadProgress(0.5, None) if self._left else None

    def newest(self) -> Iterator[LogPage]:
        middle = len(self._lines) // 2
        self._left, self.numbering = [(0, middle)] if middle else [], {STREAM: None}
        yield from self._pages([(middle, len(self._lines))])

    def read(self) -> Iterator[LogPage]:
        left, self._left = self._left, []
        yield from self._pages(left)
        self.numbering = {STREAM: _FIRST}

    def _pages(self, spans: Sequence[tuple[int, int]]) -> Iterator[LogPage]:
        start_ms = int(START.timestamp() * 1000)
        for begin, end in spans:
            times = tuple(start_ms + int(1000 * _LINE_S * at) for at in range(begin, end))
            if times:
                data = b"\n".join(self._lines[begin:end])
                yield LogPage(STREAM, "algo-1", _FIRST + begin, data, times)
