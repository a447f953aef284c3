"""What are a job's log streams called, and whose are they?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.aws.calls import Pagination
from monitor.aws.clients import Clients

GROUP = "/aws/sagemaker/TrainingJobs"
_STREAM = re.compile(r"/algo-(?P<number>\d+)(?:-(?P<epoch>\d+))?$")
_STREAMS_PER_PAGE = 50


def stream_names(clients: Clients, job_name: str) -> Iterator[str]:
    """All streams of a job, fifty to a call."""
    token: str | None = None
    onward = Pagination("logs:DescribeLogStreams")
    while True:
        answer = clients.call(
            "logs",
            "describe_log_streams",
            logGroupName=GROUP,
            logStreamNamePrefix=prefix(job_name),
            limit=_STREAMS_PER_PAGE,
            **({"nextToken": token} if token else {}),
        )
        rows = answer.get("logStreams", ())
        yield from (row["logStreamName"] for row in rows)
        token = onward.after(answer.get("nextToken"), len(rows))
        if token is None:
            return


def prefix(job_name: str) -> str:
    """What the streams of a job, and of no other job, begin with."""
    # Without the slash, job "a" would find the streams of "a-2" as well.
    return f"{job_name}/"


def node_of_stream(stream: str) -> str:
    """algo-N by the stream's name."""
    found = _STREAM.search(stream)
    return f"algo-{found['number']}" if found else stream.rpartition("/")[2]


def stream_order(stream: str) -> tuple[int, int, str]:
    """Streams by their host's number, those of one host by their start."""
    found = _STREAM.search(stream)
    return (int(found["number"]), int(found["epoch"] or 0), stream) if found else (0, 0, stream)
