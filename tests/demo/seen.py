"""What a plain boto3 client sees of the embedded account."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import boto3
from botocore.config import Config

from monitor.demo.account import DemoAccount
from monitor.demo.story import SampleJob, Story

NOW = datetime(2026, 11, 18, 12, 34, 56, tzinfo=UTC)
GROUP = NAMESPACE = "/aws/sagemaker/TrainingJobs"
METRICS = ("CPUUtilization", "MemoryUtilization", "DiskUtilization", "GPUUtilization", "GPUMemoryUtilization")
OLD = timedelta(days=15)


class Seen:
    """The three services, without retries: an error is to be seen at once."""

    def __init__(self, account: DemoAccount) -> None:
        self.account = account
        self._metrics: dict[str, dict[tuple[str, str], dict[datetime, float]]] = {}

    def client(self, service: str) -> Any:
        return boto3.client(
            service,
            endpoint_url=self.account.endpoint_url,
            region_name="us-east-1",
            aws_access_key_id="demo",
            aws_secret_access_key="demo",
            config=Config(retries={"total_max_attempts": 1}),
        )

    @cached_property
    def sagemaker(self) -> Any:
        return self.client("sagemaker")

    @cached_property
    def logs(self) -> Any:
        return self.client("logs")

    @cached_property
    def cloudwatch(self) -> Any:
        return self.client("cloudwatch")

    def job(self, story: Story) -> SampleJob:
        return next(job for job in self.account.jobs if job.story is story)

    def describe(self, story: Story) -> dict[str, Any]:
        answer: dict[str, Any] = self.sagemaker.describe_training_job(TrainingJobName=self.job(story).name)
        return answer

    def streams(self, story: Story) -> list[str]:
        prefix = self.job(story).name + "/"
        pages = self.logs.get_paginator("describe_log_streams").paginate(logGroupName=GROUP, logStreamNamePrefix=prefix)
        return [stream["logStreamName"] for page in pages for stream in page["logStreams"]]

    def events(self, story: Story, node: str, attempt: int = 0) -> list[tuple[datetime, str]]:
        """(time, text) of one node's stream, oldest first."""
        name = sorted(name for name in self.streams(story) if f"/{node}-" in name)[attempt]
        found: list[tuple[datetime, str]] = []
        token: dict[str, str] = {}
        while True:
            page = self.logs.get_log_events(logGroupName=GROUP, logStreamName=name, startFromHead=True, **token)
            found += [(datetime.fromtimestamp(e["timestamp"] / 1000, UTC), e["message"]) for e in page["events"]]
            if token.get("nextToken") == page["nextForwardToken"]:
                return found
            token = {"nextToken": page["nextForwardToken"]}

    def text(self, story: Story, node: str, attempt: int = 0) -> str:
        return "\n".join(text for _, text in self.events(story, node, attempt))

    def metrics(self, story: Story) -> dict[tuple[str, str], dict[datetime, float]]:
        """What ``ask_metrics`` answered the first time."""
        name = self.job(story).name
        if name not in self._metrics:
            self._metrics[name] = self.ask_metrics(story)
        return self._metrics[name]

    def ask_metrics(self, story: Story) -> dict[tuple[str, str], dict[datetime, float]]:
        """Values by (node, metric), all of the job in one call, at the period that its age allows."""
        job = self.job(story)
        period_s = 300 if NOW - job.created > OLD else 60
        begin = datetime.fromtimestamp(job.created.timestamp() // period_s * period_s, UTC)
        keys = [(node, metric) for node in story.nodes for metric in METRICS]
        queries = [
            {
                "Id": f"m{number}",
                "MetricStat": {
                    "Metric": {
                        "Namespace": NAMESPACE,
                        "MetricName": metric,
                        "Dimensions": [{"Name": "Host", "Value": f"{job.name}/{node}"}],
                    },
                    "Period": period_s,
                    "Stat": "Average",
                },
            }
            for number, (node, metric) in enumerate(keys)
        ]
        answer = self.cloudwatch.get_metric_data(
            MetricDataQueries=queries, StartTime=begin, EndTime=(job.ended or NOW) + timedelta(minutes=5)
        )
        by_id = {result["Id"]: result for result in answer["MetricDataResults"]}
        return {
            key: dict(
                zip((t.astimezone(UTC) for t in by_id[f"m{n}"]["Timestamps"]), by_id[f"m{n}"]["Values"], strict=True)
            )
            for n, key in enumerate(keys)
        }
