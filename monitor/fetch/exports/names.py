"""Which job and stream is an object of an export, by its name?

CreateExportTask writes ``PREFIX/TASK/STREAM/000000.gz``, where a slash in a stream's name is a hyphen.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# A job's name: 1 to 63 letters, digits and hyphens.
_JOB = r"[A-Za-z0-9][A-Za-z0-9-]{0,62}"
_FOLDER = re.compile(rf"(?P<job>{_JOB})-(?P<host>algo-[1-9]\d*)-(?P<epoch>\d{{10,13}})")
_STREAM = re.compile(rf"(?P<job>{_JOB})/(?P<host>algo-[1-9]\d*)(?:-(?P<epoch>\d{{10,13}}))?")
_PART = re.compile(r"\d{6}(?:\.gz)?")
#: What CloudWatch leaves where it tries whether it may write.
WRITE_TEST = "aws-logs-write-test"


class Exported(NamedTuple):
    """An object of an export."""

    job: str
    stream: str
    """As CloudWatch calls it: ``JOB/algo-1-1700000000``."""
    task: str
    """The folder of its export: within one, no event comes twice."""


def exported(path: str) -> Exported | None:
    """What an object's path says; None where it is none of an export of training jobs."""
    *folders, file = path.split("/")
    match = _FOLDER.fullmatch(folders[-1]) if folders and _PART.fullmatch(file) else None
    if match is None:
        return None
    return Exported(match["job"], f"{match['job']}/{match['host']}-{match['epoch']}", "/".join(folders[:-1]))


def job_of_stream(stream: str) -> str | None:
    """The job that writes a stream of that name; None where it is no training job's."""
    match = _STREAM.fullmatch(stream)
    return match["job"] if match else None


def begun_s(stream: str) -> int | None:
    """When the stream was made, in Unix seconds, as its name tells."""
    match = _STREAM.fullmatch(stream)
    epoch = match["epoch"] if match else None
    return int(epoch[:10]) if epoch else None
