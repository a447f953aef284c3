"""Objects as a training job's profiler leaves them in its bucket, from figures: for the demo, tests and benchmarks.

Made from the documented form alone: one object a node and minute, JSON lines, ``8 + 2 vCPUs + 2 GPUs`` of them a sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import ArrayLike, NDArray

MINUTE_S = 60


@dataclass(frozen=True)
class Sampled:
    """What a host did in the samples of a minute. Arrays have a row for each sample."""

    gpu_pct: ArrayLike
    """A column for each GPU; so has the next."""
    gpu_memory_pct: ArrayLike
    core_pct: ArrayLike
    """A column for each vCPU; so has the next."""
    io_wait_pct: ArrayLike
    memory_pct: float = 20.0
    received_bytes_s: float = 2e6
    sent_bytes_s: float = 2e6
    read_bytes_s: float = 1e6
    written_bytes_s: float = 1e5


def key_of(prefix: str, job: str, node: str, begins_s: int, hours: bool = True) -> str:
    """Where the object of a node and minute lies below a bucket."""
    hour = f"{datetime.fromtimestamp(begins_s, UTC):%Y%m%d%H}/" if hours else ""
    folder = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
    return f"{folder}{job}/profiler-output/system/incremental/{hour}{begins_s}.{node}.json"


def minute(node: str, begins_s: int, host: Sampled, offset_s: float = 0.0) -> bytes:
    """The lines of a node and minute. ``offset_s`` is how far the clock of the node goes wrong."""
    gpus, memory = _table(host.gpu_pct), _table(host.gpu_memory_pct)
    cores, waits = _table(host.core_pct), _table(host.io_wait_pct)
    interval_s = MINUTE_S / max(1, len(gpus), len(cores))
    out: list[str] = []
    for sample in range(max(len(gpus), len(cores))):
        at = begins_s + offset_s + interval_s * sample

        def line(kind: str, name: str, dimension: str, value: float, later_s: float, at: float = at) -> str:
            stamp = f"{at + later_s:.4f}"
            return (
                f'{{"Type":"{kind}","Name":"{name}","Dimension":"{dimension}","Value":{value:g},'
                f'"NodeId":"{node}","Timestamp":{stamp}}}\n'
            )

        for number, (used, waited) in enumerate(zip(_row(cores, sample), _row(waits, sample), strict=True)):
            out.append(line("cpu", f"cpu{number}", "CPUUtilization", used, 0.0012))
            out.append(line("cpu", f"cpu{number}", "I/OWaitPercentage", waited, 0.0012))
        for number, (used, full) in enumerate(zip(_row(gpus, sample), _row(memory, sample), strict=True)):
            out.append(line("gpu", f"gpu{number}", "GPUUtilization", used, 0.0101))
            out.append(line("gpu", f"gpu{number}", "GPUMemoryUtilization", full, 0.0101))
        out.append(line("memory", "MemoryUsedPercent", "", host.memory_pct, 0.0))
        out.append(line("i/o", "IOPS", "", host.read_bytes_s / 131_072, 0.0005))
        out.append(line("i/o", "ReadThroughputInBytesPerSecond", "", host.read_bytes_s, 0.0005))
        out.append(line("i/o", "WriteThroughputInBytesPerSecond", "", host.written_bytes_s, 0.0005))
        for whose in ("Algorithm", "Platform"):
            out.append(line("network", "ReceiveBytesPerSecond", whose, host.received_bytes_s, 0.0009))
            out.append(line("network", "TransmitBytesPerSecond", whose, host.sent_bytes_s, 0.0009))
    return "".join(out).encode()


def _table(values: ArrayLike) -> NDArray[np.float64]:
    return np.atleast_2d(np.asarray(values, dtype="float64"))


def _row(table: NDArray[np.float64], sample: int) -> Sequence[float]:
    row: list[float] = table[sample].tolist() if sample < len(table) else []
    return row
