"""A Run as one file, and back: a zip of ``run.json`` (job, gaps, coverage) and a Parquet file for each frame.

All of it can be read without this program. A zip holds a checksum of each part, so a file that was cut or damaged is
told from a whole one.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import IO, Any, TypeVar

import pandas as pd

from monitor.archive.values import plain, valued
from monitor.errors import NoData
from monitor.model import (
    Gap,
    Job,
    LogCoverage,
    ProfilerCoverage,
    Run,
    events_frame,
    gpus_frame,
    hosts_frame,
    metrics_frame,
    steps_frame,
)

FORMAT = 1
_Read = TypeVar("_Read")
_HEAD = "run.json"
_FRAMES = {
    "steps": steps_frame,
    "metrics": metrics_frame,
    "events": events_frame,
    "gpus": gpus_frame,
    "hosts": hosts_frame,
}


def write_run(run: Run, into: IO[bytes], note: Mapping[str, str] | None = None) -> None:
    """Writes the file; ``note`` is kept beside the run. OSError where the disk refuses."""
    head = {
        "format": FORMAT,
        "note": dict(note or {}),
        "job": plain(run.job),
        "gaps": plain(run.gaps),
        "metrics_period_s": run.metrics_period_s,
        "logs": plain(run.logs),
        "profiler": plain(run.profiler),
    }
    # Parquet is packed already.
    with zipfile.ZipFile(into, "w", zipfile.ZIP_STORED) as parts:
        parts.writestr(_HEAD, json.dumps(head), zipfile.ZIP_DEFLATED)
        for name in _FRAMES:
            parts.writestr(f"{name}.parquet", _parquet(getattr(run, name)))


def read_note(source: IO[bytes]) -> dict[str, str]:
    """The note alone, without the frames. NoData where this is no such file, or one of another format."""
    return _understood(lambda: dict(_head(zipfile.ZipFile(source))["note"]))


def read_run(source: IO[bytes]) -> Run:
    """The run, equal to the one that was written. NoData where this is no such file, or it is damaged."""
    return _understood(lambda: _run(zipfile.ZipFile(source)))


def _run(parts: zipfile.ZipFile) -> Run:
    head = _head(parts)
    return Run(
        job=valued(Job, head["job"]),
        gaps=valued(tuple[Gap, ...], head["gaps"]),
        metrics_period_s=head["metrics_period_s"],
        logs=valued(LogCoverage, head["logs"]),
        profiler=valued(ProfilerCoverage, head.get("profiler")),
        **{name: made(_frame(parts.read(f"{name}.parquet"))) for name, made in _FRAMES.items()},
    )


def _head(parts: zipfile.ZipFile) -> dict[str, Any]:
    head: dict[str, Any] = json.loads(parts.read(_HEAD))
    if head["format"] != FORMAT:
        raise ValueError(f"format {head['format']}")
    return head


def _parquet(frame: pd.DataFrame) -> bytes:
    # Imported late: a twentieth of a second that most calls do not need.
    import pyarrow as pa
    from pyarrow import parquet

    into = BytesIO()
    parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), into, compression="zstd")
    return into.getvalue()


def _frame(data: bytes) -> pd.DataFrame:
    import pyarrow as pa
    from pyarrow import parquet

    return parquet.read_table(pa.BufferReader(data)).to_pandas(split_blocks=True, self_destruct=True)


def _understood(read: Callable[[], _Read]) -> _Read:
    """Zip, JSON, Arrow and the frames' constructors each have errors of their own for a file that is no run."""
    try:
        return read()
    except OSError:
        raise
    except Exception as error:
        raise NoData(f"This is not a readable run: {type(error).__name__}: {error}.") from error
