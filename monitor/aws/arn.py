"""ARNs, ``arn:partition:service:region:account:resource``: their parts, and the pages of AWS's own console that show a job,
its log streams and its files. Only addresses; nothing is requested.
"""

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


def partition_of(arn: str) -> str | None:
    """``aws``, ``aws-cn``, ``aws-us-gov``."""
    return _part(arn, 1)


def region_of(arn: str) -> str | None:
    """``us-east-1``."""
    return _part(arn, 3)


def account_of(arn: str) -> str | None:
    """Its twelve digits."""
    return _part(arn, 4)


def _part(arn: str, place: int) -> str | None:
    parts = arn.split(":")
    return parts[place] or None if len(parts) > 5 else None


def job_url(arn: str) -> str | None:
    """The console's page of a training job; None where its ARN is not known, or its partition has no console."""
    job = _JOB.fullmatch(arn)
    return _console(job, "sagemaker", f"#/jobs/{quote(job['name'], safe='')}") if job else None


def stream_url(arn: str, stream: str) -> str | None:
    """The page of one log stream of that job."""
    return _console(_JOB.fullmatch(arn), "cloudwatch", f"{_LOG_GROUP}/log-events/{_twice(stream)}")


def streams_url(arn: str, prefix: str) -> str | None:
    """The list of the log streams whose names begin so."""
    return _console(_JOB.fullmatch(arn), "cloudwatch", f"{_LOG_GROUP}$3FlogStreamNameFilter$3D{_twice(prefix)}")


def _console(job: re.Match[str] | None, service: str, page: str) -> str | None:
    if job is None or job["partition"] not in _HOSTS:
        return None
    host = _HOSTS[job["partition"]].format(region=job["region"])
    return f"https://{host}/{service}/home?region={job['region']}{page}"


def s3_url(arn: str, uri: str) -> str | None:
    """The page of what an s3:// address names, in the console of that job's partition: a file, or all that begins so."""
    found, place = _JOB.fullmatch(arn), _S3.fullmatch(uri)
    if found is None or place is None or found["partition"] not in _HOSTS:
        return None
    host = _HOSTS[found["partition"]].format(region=found["region"])
    bucket, key = quote(place["bucket"], safe=""), quote(place["key"] or "", safe="")
    if not key:
        return f"https://{host}/s3/buckets/{bucket}?region={found['region']}"
    page = "object" if "." in uri.rpartition("/")[2] else "buckets"
    slash = "" if page == "object" or uri.endswith("/") else "%2F"
    return f"https://{host}/s3/{page}/{bucket}?region={found['region']}&prefix={key}{slash}"


def _twice(text: str) -> str:
    """As this console wants what stands behind its #: encoded twice, with $ for the outer %."""
    return quote(quote(text, safe=""), safe="").replace("%", "$")


_LOG_GROUP = f"#logsV2:log-groups/log-group/{_twice('/aws/sagemaker/TrainingJobs')}"
