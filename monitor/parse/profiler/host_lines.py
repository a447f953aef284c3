"""What do the lines of CPU cores and of the network say? Sample by sample: how many cores are full, wait for disks, and bytes.

They are nine lines in ten of an object, and are read only when somebody asks for them:

    {"Type":"cpu","Name":"cpu17","Dimension":"I/OWaitPercentage","Value":2.04,"NodeId":"algo-2","Timestamp":1767225600.5012}
    {"Type":"network","Name":"ReceiveBytesPerSecond","Dimension":"Platform","Value":66775126.6,"NodeId":…,"Timestamp":…}
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from monitor.parse.profiler.gpu_lines import EARLIEST_S, LATEST_S, MOST_PCT, values_of
from monitor.parse.profiler.sampling import Floats, Whole, samples

#: A core that is so busy is full: what runs on it cannot go faster.
FULL_PCT = 90.0
_CORE = re.compile(r"cpu(\d{1,4})")
_CORES = {f"cpu{number}": number for number in range(512)}
_OF_CORES = {"CPUUtilization": 0, "I/OWaitPercentage": 1}
_OF_NETWORK = {"ReceiveBytesPerSecond": 2, "TransmitBytesPerSecond": 3}
# Rows of the network belong to no core. The host counts what its containers do, too: a container's rows are the second choice.
_WHOSE = {"Platform": -1, "Algorithm": -2}
_CPU, _NETWORK = b'"cpu"', b'"network"'
_COLUMNS = (
    "seconds",
    "cores",
    "full_cores",
    "cpu_pct",
    "waiting_cores",
    "received_bytes_s",
    "sent_bytes_s",
)


@dataclass(frozen=True, slots=True)
class HostLines:
    """What was read of an object."""

    frame: pd.DataFrame
    """``seconds cores full_cores cpu_pct waiting_cores received_bytes_s sent_bytes_s``: a row for each sample.

    ``cpu_pct`` is the mean over the cores that are not full, ``waiting_cores`` how many cores wait for I/O in all (two at half
    of the time are one). What a sample does not tell is NaN.
    """
    skipped: int
    """Lines that could not be read; a last line that is cut is not counted here."""


def host_lines(data: bytes) -> HostLines:
    """The lines of an object about cores and network; those that cannot be read are counted and left out."""
    whole, _, _ = data.rpartition(b"\n")
    lines = [line for line in whole.split(b"\n") if _CPU in line or _NETWORK in line]
    rows, skipped = values_of(lines)
    seconds, device, figure, value = _columns(rows)
    return HostLines(_by_sample(seconds, device, figure, value), skipped + len(rows) - len(seconds))


def _columns(rows: Sequence[Any]) -> tuple[Floats, Whole, Whole, Floats]:
    """Time, device (a core, or whose network), figure and value of the lines that have all four."""
    taken = [found for found in map(_taken, rows) if found is not None]
    seconds, value = (np.array([found[place] for found in taken], dtype="float64") for place in (0, 3))
    device, figure = (np.array([found[place] for found in taken], dtype="int64") for place in (1, 2))
    most = np.where(device >= 0, MOST_PCT, np.inf)
    good = (seconds > EARLIEST_S) & (seconds < LATEST_S) & (value >= 0.0) & (value <= most) & np.isfinite(value)
    return seconds[good], device[good], figure[good], value[good]


def _taken(row: Any) -> tuple[float, int, int, float] | None:
    """Time, device, figure and value of a line; None where it lacks one of them, or has something else in its place."""
    try:
        seconds, value, kind = row["Timestamp"], row["Value"], row["Type"]
        if type(seconds) not in (int, float) or type(value) not in (int, float):
            return None
        if kind == "network":
            return float(seconds), _WHOSE[row["Dimension"]], _OF_NETWORK[row["Name"]], float(value)
        if kind != "cpu":
            return None
        name = row["Name"]
        core = _CORES.get(name)
        if core is None:
            found = _CORE.fullmatch(name)
            if found is None:
                return None
            core = int(found[1])
        return float(seconds), core, _OF_CORES[row["Dimension"]], float(value)
    except (KeyError, TypeError, OverflowError):
        return None


def _by_sample(seconds: Floats, device: Whole, figure: Whole, value: Floats) -> pd.DataFrame:
    times, sample = samples(seconds, device)
    count = len(times)
    out = {name: np.full(count, np.nan) for name in _COLUMNS}
    out["seconds"] = times
    busy = figure == 0
    full = busy & (value >= FULL_PCT)
    cores = np.bincount(sample[busy], minlength=count)
    full_cores = np.bincount(sample[full], minlength=count)
    seen = cores > 0
    out["cores"][seen], out["full_cores"][seen] = cores[seen], full_cores[seen]
    others = busy & ~full
    other_count = np.bincount(sample[others], minlength=count)
    sums = np.bincount(sample[others], weights=value[others], minlength=count)
    out["cpu_pct"][other_count > 0] = sums[other_count > 0] / other_count[other_count > 0]
    waits = figure == 1
    told = np.bincount(sample[waits], minlength=count) > 0
    out["waiting_cores"][told] = np.bincount(sample[waits], weights=value[waits], minlength=count)[told] / 100
    for which, name in ((2, "received_bytes_s"), (3, "sent_bytes_s")):
        for whose in (_WHOSE["Algorithm"], _WHOSE["Platform"]):
            rows = (figure == which) & (device == whose)
            out[name][sample[rows]] = value[rows]
    return pd.DataFrame(out)
