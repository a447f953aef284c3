"""boto3's clients of the stub, and what the tests ask with them."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from benchmarks.account import Running
from tests.benchmarks.sample import GROUP


def clients(aws: Running, retries: int = 0) -> Any:
    """A function that makes clients which try once, unless told otherwise."""
    session = boto3.Session("benchmark", "benchmark", region_name=aws.account.region)
    config = Config(retries={"max_attempts": retries, "mode": "standard"}, read_timeout=5, inject_host_prefix=False)
    return lambda service: session.client(service, endpoint_url=aws.url, config=config)


def code(error: ClientError) -> tuple[str, int]:
    return error.response["Error"]["Code"], error.response["ResponseMetadata"]["HTTPStatusCode"]


def stream_names(logs: Any, prefix: str, **more: Any) -> list[str]:
    pages = logs.get_paginator("describe_log_streams").paginate(logGroupName=GROUP, logStreamNamePrefix=prefix, **more)
    return [row["logStreamName"] for page in pages for row in page["logStreams"]]


def read(logs: Any, stream: str, **more: Any) -> list[list[dict[str, Any]]]:
    """The pages of a stream, forward, until the token comes again."""
    token: dict[str, str] = {}
    pages = []
    while True:
        told = logs.get_log_events(logGroupName=GROUP, logStreamName=stream, startFromHead=True, **token, **more)
        pages.append(told["events"])
        if token.get("nextToken") == told["nextForwardToken"]:
            return pages
        token = {"nextToken": told["nextForwardToken"]}
