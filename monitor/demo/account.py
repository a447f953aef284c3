"""The account of the demo: a simulated one with sample jobs, filled as of now, whose running jobs go on.

Jobs go straight into moto's own backends, in the process of its server: a job's status can be set there alone. The dashboard
is a process of its own that is given the server's address, and so takes the same way as with a real account.
"""

from __future__ import annotations

import logging
import os
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from moto.cloudwatch.models import MetricDatum, cloudwatch_backends
from moto.core import DEFAULT_ACCOUNT_ID
from moto.logs.models import LogEvent, logs_backends
from moto.s3.models import s3_backends
from moto.sagemaker.models import sagemaker_backends
from moto.server import ThreadedMotoServer

from monitor.demo.describe import ROLE, describe
from monitor.demo.logs import Stream, streams
from monitor.demo.measurements import MINUTE, HostMinute, host_minutes, objects
from monitor.demo.stories import STORIES
from monitor.demo.story import BUCKET, HARDWARE, SampleJob, schedule
from monitor.settings import ARCHIVE_SHOWN, CACHE_OFF, config_file

REGION = "us-east-1"
LOG_GROUP = METRIC_NAMESPACE = "/aws/sagemaker/TrainingJobs"


class SimulatedAws:
    """moto's server on this machine, holding only what is put into it. One at a time: moto's state is global."""

    def __init__(self) -> None:
        # It would print a traceback for each operation that moto lacks; the caller gets an error all the same.
        logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
        self._sagemaker = sagemaker_backends[DEFAULT_ACCOUNT_ID][REGION]
        self._cloudwatch = cloudwatch_backends[DEFAULT_ACCOUNT_ID][REGION]
        self._logs = logs_backends[DEFAULT_ACCOUNT_ID][REGION]
        self._s3 = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
        self._forget()
        self._sagemaker.search = partial(_search, self._sagemaker.search)
        self._logs.create_log_group(LOG_GROUP, {})
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.endpoint_url = f"http://{host}:{port}"

    def stop(self) -> None:
        """Ends the server and forgets all jobs; safe to call twice."""
        if self.endpoint_url:
            self.endpoint_url = ""
            self._server.stop()
            self._forget()

    def put_job(self, job: SampleJob) -> None:
        """Adds the job as DescribeTrainingJob is to show it; ListTrainingJobs keeps the order of adding."""
        fields = describe(job)
        # moto wants these to make a job; what it invents is then replaced by the fields.
        made = self._sagemaker.create_training_job(
            training_job_name=job.name,
            hyper_parameters={},
            algorithm_specification={},
            role_arn=ROLE,
            input_data_config=[],
            output_data_config=fields["OutputDataConfig"],
            resource_config={},
            vpc_config=None,
            stopping_condition={},
            tags=_tags(job.story.base_name),
            enable_network_isolation=False,
            enable_inter_container_traffic_encryption=False,
            enable_managed_spot_training=False,
            checkpoint_config=None,
            debug_hook_config=None,
            debug_rule_configurations=None,
            tensor_board_output_config=None,
            experiment_config=None,
        )
        invented = ("training_start_time", "training_end_time", "final_metric_data_list", "model_artifacts")
        vars(made).update(dict.fromkeys(invented), **{_snake(name): _naive(value) for name, value in fields.items()})

    def put_log_event(self, stream_name: str, at: datetime, text: str) -> None:
        """Appends a line; within a stream, in the order of time."""
        group = self._logs.groups[LOG_GROUP]
        if stream_name not in group.streams:
            group.create_log_stream(stream_name)
            group.streams[stream_name].creation_time = _naive(at)
        stream = group.streams[stream_name]
        at_ms = int(at.timestamp() * 1000)
        stream.events.append(LogEvent(at_ms + 900, {"timestamp": at_ms, "message": text}))
        stream.stored_bytes += len(text)
        stream.last_ingestion_time = _naive(at)

    def put_host_minute(self, job_name: str, point: HostMinute) -> None:
        """Adds one host's values of one minute."""
        dimensions = [{"Name": "Host", "Value": f"{job_name}/{point.node}"}]
        self._cloudwatch.metric_data.extend(
            MetricDatum(METRIC_NAMESPACE, name, value, dimensions, _naive(point.timestamp), "Percent")
            for name, value in point.values.items()
        )

    def put_object(self, bucket: str, key: str, data: bytes) -> None:
        """Adds an object; its bucket is made with the first one."""
        if bucket not in self._s3.buckets:
            self._s3.create_bucket(bucket, REGION)
        self._s3.put_object(bucket, key, data)

    def _forget(self) -> None:
        for backend in (self._sagemaker, self._cloudwatch, self._logs, self._s3):
            backend.reset()


def _snake(name: str) -> str:
    """moto keeps fields under snake_case names and derives the API's names from them."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _naive(value: object) -> object:
    """moto's filters compare with naive UTC times."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, Mapping):
        return {name: _naive(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_naive(part) for part in value]
    return value


def _search(moto_search: Callable[..., Any], resource: Any = None, search_expression: Any = None) -> Any:
    """Search with the one filter that moto breaks on: a tag that exists, whatever its value."""
    filters = (search_expression or {}).get("Filters") or []
    keys = [each["Name"].removeprefix("Tags.") for each in filters if each.get("Operator") == "Exists"]
    rest = {**(search_expression or {}), "Filters": [each for each in filters if each.get("Operator") != "Exists"]}
    found = moto_search(resource, rest)
    rows = [(row, {tag["Key"] for each in row.values() for tag in each.get("Tags") or ()}) for row in found["Results"]]
    return {**found, "Results": [row for row, tags in rows if tags.issuperset(keys)]}


def _tags(base_name: str) -> list[dict[str, str]]:
    """A project and, of all but one, a team: of some jobs in every account nobody says whose they are."""
    project = base_name.partition("-")[0]
    team = {"vit": "vision", "bert": ""}.get(project, "language")
    return [{"Key": "project", "Value": project}, *([{"Key": "team", "Value": team}] if team else [])]


TICK_S = 2.0


class Feeder:
    """Writes what the jobs have logged and measured by ``now``; once started, a thread goes on writing."""

    def __init__(self, aws: SimulatedAws, jobs: tuple[SampleJob, ...], now: datetime) -> None:
        self._sources = [source for job in jobs for source in _sources(aws, job, now)]
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self.tick(now)

    def tick(self, now: datetime) -> None:
        """Writes everything up to ``now`` that was not written before."""
        with self._lock:
            self._sources = [source for source in self._sources if source.write_until(now)]

    def start(self) -> None:
        """Ticks by the clock every few seconds, in the background."""
        self._thread = threading.Thread(target=self._run, name="demo-feeder", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread; safe to call twice."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(TICK_S):
            self.tick(datetime.now(UTC))


_Writes = Iterator[tuple[datetime, Callable[[], None]]]


class _Source:
    """Writes in time, and the first of them whose time has not come yet."""

    def __init__(self, writes: _Writes) -> None:
        self._writes = writes
        self._ahead = next(writes, None)

    def write_until(self, now: datetime) -> bool:
        """Writes all that has happened by ``now``; False once nothing is left."""
        while self._ahead is not None and self._ahead[0] <= now:
            self._ahead[1]()
            self._ahead = next(self._writes, None)
        return self._ahead is not None


def _sources(aws: SimulatedAws, job: SampleJob, now: datetime) -> Iterator[_Source]:
    for stream in streams(job):
        yield _Source(_lines(aws, stream))
    # A minute is published when it is over.
    points = host_minutes(job, now)
    yield _Source((point.timestamp + MINUTE, partial(aws.put_host_minute, job.name, point)) for point in points)


def _lines(aws: SimulatedAws, stream: Stream) -> _Writes:
    return ((at, partial(aws.put_log_event, stream.name, at, text)) for at, text in stream.events())


class DemoAccount:
    """The embedded account, serving from its making on. One at a time in a process.

    Running jobs go on after ``feeder.start()``, or at each ``feeder.tick(now)``.
    """

    def __init__(self, jobs: tuple[SampleJob, ...], now: datetime) -> None:
        self.jobs = jobs
        self._folder = tempfile.TemporaryDirectory(prefix="trainwatch-demo-")
        self._aws = SimulatedAws()
        for job in jobs:
            self._aws.put_job(job)
            for key, data in objects(job, now):
                self._aws.put_object(BUCKET.removeprefix("s3://"), key, data)
        self.feeder = Feeder(self._aws, jobs, now)
        # moto has no price list, so sample prices come from where a user would put theirs.
        prices = config_file(self.environment)
        prices.parent.mkdir(parents=True)
        prices.write_text(_price_table(), encoding="utf-8")

    @property
    def endpoint_url(self) -> str:
        return self._aws.endpoint_url

    @property
    def environment(self) -> dict[str, str]:
        """For a child process: this account as if it were the user's, and nothing of the user's own AWS settings.

        Its caches and settings go to a folder that vanishes with the account.
        """
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", ARCHIVE_SHOWN))}
        past_proxies = ",".join(filter(None, [kept.get("NO_PROXY") or kept.get("no_proxy", ""), "127.0.0.1,localhost"]))
        return kept | {
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_ACCESS_KEY_ID": "demo",
            "AWS_SECRET_ACCESS_KEY": "demo",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "NO_PROXY": past_proxies,
            "no_proxy": past_proxies,
            "XDG_CACHE_HOME": self._folder.name,
            "XDG_CONFIG_HOME": self._folder.name,
            "XDG_STATE_HOME": self._folder.name,
            "XDG_DATA_HOME": self._folder.name,
            CACHE_OFF: "1",
            "TRAINWATCH_DEMO": "1",
        }

    def stop(self) -> None:
        """Ends feeder and server and forgets all jobs; safe to call twice."""
        self.feeder.stop()
        self._aws.stop()
        self._folder.cleanup()

    def __enter__(self) -> DemoAccount:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(now: datetime) -> DemoAccount:
    """The account as it stands at ``now`` (aware), its server answering on 127.0.0.1."""
    return DemoAccount(tuple(schedule(story, now) for story in STORIES), now)


def _price_table() -> str:
    lines = [f'"{name}" = {hardware.price_usd_per_hour}' for name, hardware in HARDWARE.items()]
    return "\n".join(['price_source = "sample prices"', "[prices_usd_per_instance_hour]", *lines, ""])
