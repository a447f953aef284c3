"""What do the GPU lines of one object say: how busy is each GPU of a node, and how full is its memory, sample by sample?

An object has one JSON object a line, such as

    {"Type":"gpu","Name":"gpu3","Dimension":"GPUUtilization","Value":98.0,"NodeId":"algo-2","Timestamp":1767225600.5101}

Nine lines in ten are of CPU cores. They are passed over as bytes, only lines that name the type "gpu" become values: some
700 MB a second on one core (``python -m benchmarks profiler_lines``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from monitor.parse.profiler.sampling import Floats, Whole, samples

_GPU = b'"gpu"'
_NAME = re.compile(r"gpu(\d{1,3})")
_FIGURES = {"GPUUtilization": 0, "GPUMemoryUtilization": 1}
_NUMBERS = {f"gpu{number}": number for number in range(64)}
_USUAL = {"gpu", float, int}
#: Seconds of 2015 and of 2100: what is outside is no time of a training job.
EARLIEST_S, LATEST_S = 1_420_000_000.0, 4_100_000_000.0
#: A rounding of the driver or of the kernel; what is above is no percentage of one device.
MOST_PCT = 101.0


@dataclass(frozen=True, slots=True)
class GpuLines:
    """What was read of an object."""

    frame: pd.DataFrame
    """``seconds gpu utilization_pct memory_pct``: a row for each sample and GPU, all GPUs of a sample at the same Unix time."""
    skipped: int
    """Lines that could not be: cut, damaged, without a name, or with a value that is no percentage."""


def gpu_lines(data: bytes) -> GpuLines:
    """The GPU lines of an object; those that cannot be read are counted and left out."""
    lines = list(_of_gpus(data))
    rows, skipped = values_of(lines)
    columns = _columns(rows)
    return GpuLines(_by_sample(*columns), skipped + len(rows) - len(columns[0]) + _is_cut(data, lines))


def _of_gpus(data: bytes) -> Iterator[bytes]:
    at = data.find(_GPU)
    while at >= 0:
        begin, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        yield data[begin:] if end < 0 else data[begin:end]
        at = -1 if end < 0 else data.find(_GPU, end)


def values_of(lines: Sequence[bytes]) -> tuple[list[Any], int]:
    """The values of lines, and how many are no JSON. All at once where all are."""
    try:
        rows: list[Any] = msgspec.json.decode(b"[" + b",".join(lines) + b"]")
    except (ValueError, RecursionError):
        rows = []
    if len(rows) == len(lines):
        return rows, 0
    rows = []
    for line in lines:
        try:
            rows.append(msgspec.json.decode(line))
        except (ValueError, RecursionError):
            continue
    return rows, len(lines) - len(rows)


def _columns(rows: Sequence[Any]) -> tuple[Floats, Whole, Whole, Floats]:
    """Time, GPU, figure and value of the lines that have all four."""
    try:
        # Nearly all objects are as they should be, and are read a column at a time.
        kinds = (
            {row["Type"] for row in rows}
            | {type(row["Value"]) for row in rows}
            | {type(row["Timestamp"]) for row in rows}
        )
        if not kinds <= _USUAL:
            raise TypeError
        seconds = np.array([row["Timestamp"] for row in rows], dtype="float64")
        gpu = np.array([_NUMBERS[row["Name"]] for row in rows], dtype="int64")
        figure = np.array([_FIGURES[row["Dimension"]] for row in rows], dtype="int64")
        value = np.array([row["Value"] for row in rows], dtype="float64")
    except (KeyError, TypeError, OverflowError):
        taken = [found for found in map(_taken, rows) if found is not None]
        seconds, value = (np.array([found[place] for found in taken], dtype="float64") for place in (0, 3))
        gpu, figure = (np.array([found[place] for found in taken], dtype="int64") for place in (1, 2))
    good = (seconds > EARLIEST_S) & (seconds < LATEST_S) & (value >= 0.0) & (value <= MOST_PCT)
    return seconds[good], gpu[good], figure[good], np.minimum(value[good], 100.0)


def _taken(row: Any) -> tuple[float, int, int, float] | None:
    """Time, GPU, figure and value of a line; None where it lacks one of them, or has something else in its place."""
    try:
        seconds, value, figure = row["Timestamp"], row["Value"], _FIGURES[row["Dimension"]]
        found = _NAME.fullmatch(row["Name"])
        if found is None or row["Type"] != "gpu" or {type(seconds), type(value)} - _USUAL:
            return None
        return float(seconds), int(found[1]), figure, float(value)
    except (KeyError, TypeError, OverflowError):
        return None


def _is_cut(data: bytes, lines: Sequence[bytes]) -> int:
    """1 where the last line is cut before anything in it says what it is of."""
    last = data[data.rfind(b"\n") + 1 :].strip()
    return int(bool(last) and not last.endswith(b"}") and (not lines or lines[-1].strip() != last))


def _by_sample(seconds: Floats, gpu: Whole, figure: Whole, value: Floats) -> pd.DataFrame:
    """Both figures of a GPU side by side, and one time for all GPUs of a sample."""
    times, sample = samples(seconds, gpu)
    width = int(gpu.max()) + 1 if len(gpu) else 1
    place = sample * width + gpu
    known, row = np.unique(place, return_inverse=True)
    wide = np.full((len(known), len(_FIGURES)), np.nan)
    wide[row, figure] = value
    return pd.DataFrame(
        {
            "seconds": times[known // width],
            "gpu": known % width,
            "utilization_pct": wide[:, 0],
            "memory_pct": wide[:, 1],
        }
    )
