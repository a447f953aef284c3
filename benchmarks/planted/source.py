"""A scenario as a source of one job, held in memory, for the real review."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Literal

from benchmarks.planted.profiled import PlantedMinutes
from benchmarks.planted.scenario import Scenario
from monitor.fetch.jobs import job_of
from monitor.fetch.source import JobQuery, JobQueryResult
from monitor.model import ApiBill, Gap, Job, JobSummary, LoadProgress, LogPage, Node, Price, RawMetrics

_LINES_A_PAGE = 5000


def metrics_of(scenario: Scenario) -> RawMetrics:
    """What CloudWatch gives of the job's hosts."""
    view = scenario.plan.view
    if view.metrics:
        return RawMetrics(scenario.metrics, view.period_s)
    why = "CloudWatch refused: the role lacks cloudwatch:GetMetricData."
    return RawMetrics(scenario.metrics, None, (Gap("metrics", why, "Add cloudwatch:GetMetricData to the role."),))


class PlantedSource:
    """Answers as an account would that has this job alone."""

    gives: Literal["pages"] = "pages"
    clients = lines = None

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    def jobs(self, query: JobQuery) -> tuple[JobSummary, ...]:
        return ()

    def find(self, query: JobQuery) -> JobQueryResult:
        return JobQueryResult(self.jobs(query))

    def beginnings(self) -> dict[str, str]:
        return {}

    def goes_on(self, known: Mapping[str, str]) -> bool:
        return False

    def with_instances(self, summaries: Sequence[JobSummary]) -> tuple[JobSummary, ...]:
        return tuple(summaries)

    def job(self, name: str) -> Job:
        return job_of(self._scenario.answer)

    def logs(self, job: Job) -> PlantedReader:
        return PlantedReader(self._scenario)

    def metrics(self, job: Job, now: datetime) -> RawMetrics:
        return metrics_of(self._scenario)

    def profiled(self, job: Job) -> PlantedMinutes | None:
        habit = self._scenario.plan.habit
        return None if habit is None else PlantedMinutes(self._scenario, habit)

    def endpoint(self) -> str | None:
        return None

    def instance_type(self, name: str) -> Node | None:
        return None

    def price(self, instance_type: str, job: Job) -> Price | Gap | None:
        return None

    def bill(self) -> ApiBill:
        return ApiBill()


class PlantedReader:
    """Gives all pages at the first reading, none after."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._read = False
        self.numbering: dict[str, int | None] = {}
        self.progress: LoadProgress | None = None
        refused = Gap("logs", "The role lacks logs:GetLogEvents.", "Add logs:GetLogEvents to the role.")
        self.gaps: tuple[Gap, ...] = () if scenario.plan.view.logs else (refused,)

    def newest(self) -> Iterator[LogPage]:
        yield from ()

    def read(self) -> Iterator[LogPage]:
        if self._read:
            return
        self._read = True
        for stream in self._scenario.streams:
            for first in range(0, len(stream.lines), _LINES_A_PAGE):
                part = stream.lines[first : first + _LINES_A_PAGE]
                times = tuple(at for at, _ in part)
                yield LogPage.of(stream.name, stream.node, first + 1, [text for _, text in part], times)
