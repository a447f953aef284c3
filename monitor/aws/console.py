"""The pages of AWS's own console for a training job, its log streams, its files. Only addresses; nothing is requested."""

from __future__ import annotations

import re
from urllib.parse import quote

# Partition -> the console's host. Elsewhere there is none that the public knows.
_HOSTS = {
    "aws": "{region}.console.aws.amazon.com",
    "aws-cn": "{region}.console.amazonaws.cn",
    "aws-us-gov": "console.amazonaws-us-gov.com",
}
_JOB = re.compile(r"arn:(?P<partition>[a-z-]+):sagemaker:(?P<region>[a-z0-9-]+):\d*:training-job/(?P<name>[^/]+)")
_S3 = re.compile(r"s3://(?P<bucket>[^/]+)(?:/(?P<key>.*))?", re.DOTALL)
_GROUP = "/aws/sagemaker/TrainingJobs"


def job_url(arn: str) -> str | None:
    """The page of a training job; None where its ARN is not known, or its partition has no console."""
    home = _home(arn, "sagemaker")
    return None if home is None else f"{home[0]}#/jobs/{quote(home[1], safe='')}"


def stream_url(arn: str, stream: str) -> str | None:
    """The page of one log stream of that job."""
    home = _home(arn, "cloudwatch")
    return (
        None if home is None else f"{home[0]}#logsV2:log-groups/log-group/{_twice(_GROUP)}/log-events/{_twice(stream)}"
    )


def streams_url(arn: str, prefix: str) -> str | None:
    """The list of the log streams whose names begin so."""
    home = _home(arn, "cloudwatch")
    if home is None:
        return None
    return f"{home[0]}#logsV2:log-groups/log-group/{_twice(_GROUP)}$3FlogStreamNameFilter$3D{_twice(prefix)}"


def s3_url(arn: str, uri: str) -> str | None:
    """The page of what an s3:// address names, in the console of that job's partition: a file, or all that begins so."""
    found, place = _JOB.fullmatch(arn), _S3.fullmatch(uri)
    if found is None or place is None or found["partition"] not in _HOSTS:
        return None
    host = _HOSTS[found["partition"]].format(region=found["region"])
    bucket, key = quote(place["bucket"], safe=""), quote(place["key"] or "", safe="")
    if not key:
        return f"https://{host}/s3/buckets/{bucket}?region={found['region']}"
    last = uri.rpartition("/")[2]
    if "." in last:
        return f"https://{host}/s3/object/{bucket}?region={found['region']}&prefix={key}"
    return (
        f"https://{host}/s3/buckets/{bucket}?region={found['region']}&prefix={key}{'' if uri.endswith('/') else '%2F'}"
    )


def _home(arn: str, service: str) -> tuple[str, str] | None:
    found = _JOB.fullmatch(arn)
    if found is None or found["partition"] not in _HOSTS:
        return None
    host = _HOSTS[found["partition"]].format(region=found["region"])
    return f"https://{host}/{service}/home?region={found['region']}", found["name"]


def _twice(text: str) -> str:
    """As this console wants what stands behind its #: encoded twice, with $ for the outer %."""
    return quote(quote(text, safe=""), safe="").replace("%", "$")
