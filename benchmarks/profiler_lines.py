"""MB a second, one core: the GPU lines of a profiler's object (8 GPUs, 192 vCPUs, 120 samples), against reading every line.

The others read every line of the object; Trainwatch passes over those of CPU cores as bytes. smdebug, the reader of the
service's own SDK, takes part where it is installed.
"""

from __future__ import annotations

import importlib
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import msgspec
import numpy as np

from monitor.demo.measurements import Sampled, minute
from monitor.parse.profiler.gpu_lines import gpu_lines
from monitor.parse.profiler.host_lines import host_lines

RUNS = 5
LEAST_MB_S = 300.0
_BEGINS_S = 1767225600

_failed: list[str] = []


def one_object() -> bytes:
    """A minute of a host of 8 GPUs and 192 vCPUs, every 500 ms: some 6 MB."""
    dice = np.random.default_rng(1)
    cores = np.round(dice.uniform(0, 60, (120, 192)), 2)
    busy = np.round(dice.uniform(60, 100, (120, 8)))
    return minute("algo-1", _BEGINS_S, Sampled(busy, np.full((120, 8), 61.0), cores, np.round(cores / 20, 2)))


def rows() -> list[tuple[str, str, str, str]]:
    """reader, milliseconds of CPU time (median), MB a second, times as long as Trainwatch."""
    data = one_object()
    readers: list[tuple[str, Callable[[], object]]] = [
        ("trainwatch: GPU lines to samples", lambda: gpu_lines(data)),
        ("trainwatch: cores and network, when asked for", lambda: host_lines(data)),
        ("msgspec, every line", lambda: [msgspec.json.decode(line) for line in data.splitlines()]),
        ("json, every line", lambda: [json.loads(line) for line in data.splitlines()]),
    ]
    with tempfile.TemporaryDirectory() as folder:
        theirs = _smdebug(Path(folder), data)
        readers += [("smdebug, local reader", theirs)] if theirs else []
        measured = [(name, median(_cpu_s(read) for _ in range(RUNS))) for name, read in readers]
    ours_s, size_mb = measured[0][1], len(data) / 1e6
    _failed[:] = [] if size_mb / ours_s >= LEAST_MB_S else [f"{size_mb / ours_s:.0f} MB/s, less than {LEAST_MB_S:.0f}"]
    table = [("reader", "ms", "MB/s", "against trainwatch")]
    table += [(name, f"{1000 * s:.1f}", f"{size_mb / s:.0f}", f"{s / ours_s:.1f} x") for name, s in measured]
    return table if theirs else [*table, ("smdebug", "not installed", "", "")]


def failures() -> list[str]:
    """What the last run did not reach."""
    return list(_failed)


def _cpu_s(read: Callable[[], object]) -> float:
    begun = time.process_time()
    read()
    return time.process_time() - begun


def _smdebug(folder: Path, data: bytes) -> Callable[[], object] | None:
    try:
        theirs = importlib.import_module("smdebug.profiler.system_metrics_reader")
    except Exception:  # it asks for packages of its time, and breaks in more ways than by being absent
        return None
    place = folder / "profiler-output" / "system" / "incremental" / "2026010100"
    place.mkdir(parents=True)
    (place / f"{_BEGINS_S}.algo-1.json").write_bytes(data)
    (place.parents[1] / "training_job_end.ts").touch()

    def read() -> object:
        reader = theirs.LocalSystemMetricsReader(str(folder / "profiler-output"))
        reader.refresh_event_file_list()
        return reader.get_events(0, (_BEGINS_S + 120) * 1_000_000)

    return read
