"""Which object of a profiler's output is of which node and minute?

``<job>/profiler-output/system/incremental/2026010107/1767251940.algo-2.json``: the folder is the hour in UTC, the number the
Unix time at which the minute begins. Older outputs have no folder of the hour. Everything else there (``training_job_end.ts``,
``….json.corrupt``) is no minute of a node.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

_MINUTE = re.compile(r"(?:^|/)(?P<begins>\d{10})\.(?P<node>algo-\d{1,6})\.json$")
_HOUR = re.compile(r"(?:^|/)(?P<hour>\d{10})/[^/]+$")

#: Below the job's folder.
FOLDER = "profiler-output/system/incremental/"


def minute_of(key: str) -> tuple[int, str] | None:
    """When the minute of an object begins, in Unix seconds, and its node; None for an object that is none."""
    found = _MINUTE.search(key)
    return None if found is None else (int(found["begins"]), found["node"])


def has_hours(key: str) -> bool:
    """Whether the object lies in a folder of its hour."""
    return _HOUR.search(key) is not None


def near(begins_s: int, hours: bool) -> str:
    """The beginning, below ``FOLDER``, that objects of about that time have in common: a list of it is short.

    The last two digits of the seconds are left out, so these are the objects of some 100 s.
    """
    folder = f"{datetime.fromtimestamp(begins_s, UTC):%Y%m%d%H}/" if hours else ""
    return f"{folder}{begins_s // 100:08d}"
