"""An AWS account as a source of jobs: which calls answer which question, and what is remembered between them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from monitor.accounts import AccountRegion
from monitor.aws.clients import Clients
from monitor.aws.errors import is_refused
from monitor.errors import TrainwatchError
from monitor.fetch import jobs as training_jobs
from monitor.fetch.instance_types import ask_ec2, lookup
from monitor.fetch.jobs import find_jobs
from monitor.fetch.logs.events import read_span
from monitor.fetch.logs.reader import JobLogs
from monitor.fetch.metrics.hosts import read_metrics
from monitor.fetch.metrics.profiler import BucketMinutes, MinuteStore
from monitor.fetch.prices import PriceFile, PriceList
from monitor.fetch.source import JobQuery, JobQueryResult
from monitor.model import ApiBill, Gap, Job, JobSummary, LogRequest, LogSpan, Node, Price, RawMetrics
from monitor.model.job import partition_of, region_of

# How many jobs' metrics are kept, so that a watched job is asked only for what is new.
_REMEMBERED_JOBS = 8


class AwsSource:
    """The PageSource of one account and region. Safe to share between threads.

    A right that is missing for logs or metrics is a gap there; only a job that may not be read raises NotAllowed.
    ``prices`` is where the answers of the price list outlive the process; None for nowhere.
    """

    gives: Literal["pages"] = "pages"

    def __init__(self, clients: Clients, prices: PriceFile | None = None) -> None:
        self.clients = clients
        self._prices = PriceList(clients, prices)
        self._lock = threading.Lock()
        self._instances: training_jobs.InstancesByJob = {}
        self._types: dict[str, Node | None] = {}
        self._metrics: OrderedDict[str, RawMetrics] = OrderedDict()

    def jobs(self, query: JobQuery) -> tuple[JobSummary, ...]:
        """The jobs that match, newest first; without instance types, which ``with_instances`` fills."""
        return training_jobs.list_jobs(self.clients, query)

    def find(self, query: JobQuery) -> JobQueryResult:
        """As ``jobs``, with types, starts and tags by one call a hundred jobs; without them where Search is refused."""
        return find_jobs(self.clients, query)

    def with_instances(self, summaries: Sequence[JobSummary]) -> tuple[JobSummary, ...]:
        """The rows with instance type and count, for one DescribeTrainingJob a job not seen before."""
        return training_jobs.with_instances(self.clients, summaries, self._instances)

    def job(self, name: str) -> Job:
        return training_jobs.describe(self.clients, name)

    def logs(self, job: Job) -> JobLogs:
        return JobLogs(self.clients, job)

    def lines(self, job: Job, ask: LogRequest, before: LogSpan | None = None) -> LogSpan:
        """Log lines as they are, of one stretch of time, in a bounded number of calls."""
        return read_span(self.clients, job, ask, before)

    def metrics(self, job: Job, now: datetime) -> RawMetrics:
        # A name can be used again after its job was deleted: the creation time tells them apart.
        key = f"{job.arn or job.name} {job.created}"
        with self._lock:
            known = self._metrics.pop(key, None)
        raw = read_metrics(self.clients, job, now, known)
        with self._lock:
            self._metrics[key] = raw
            while len(self._metrics) > _REMEMBERED_JOBS:
                self._metrics.popitem(last=False)
        return raw

    def profiled(self, job: Job) -> MinuteStore | None:
        return None if job.profiler is None else BucketMinutes(self.clients, job.profiler.path, job.name)

    def endpoint(self) -> str | None:
        return self.clients.endpoint()

    def instance_type(self, name: str) -> Node | None:
        """By the table, else by EC2, which is asked once a type; None where neither knows it."""
        known = lookup(name)
        if known is None and name:
            if name not in self._types:
                try:
                    self._types[name] = ask_ec2(self.clients, name)
                except TrainwatchError as error:
                    # The counts of one type are never worth the whole review: without them they are a gap.
                    if not is_refused(error):
                        return None
                    self._types[name] = None
            known = self._types[name]
        return known

    def price(self, instance_type: str, job: Job) -> Price | Gap | None:
        """By AWS's price list of the job's region, as its ARN names it."""
        region = region_of(job.arn) or self.clients.region
        return self._prices.price(instance_type, region, partition_of(job.arn) or "aws")

    def bill(self) -> ApiBill:
        return self.clients.bill()

    def beginnings(self) -> Mapping[str, str]:
        return {}

    def goes_on(self, known: Mapping[str, str]) -> bool:
        return False


def open_pair(where: AccountRegion, profile: str | None = None, prices: PriceFile | None = None) -> AwsSource:
    """The source of one account in one region; ``profile`` has the credentials that assume its role."""
    return AwsSource(Clients(where.region, profile, account=where.account), prices)
