"""How does a job get into a simulated AWS? Straight into moto's own backends, in the process of its server."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
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
from monitor.demo.host_metrics import HostMinute
from monitor.demo.schedule import SampleJob

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
