"""Which figures of a job can have a threshold, and of what kind is each?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from monitor.model import METRICS

Kind = Literal["host", "step", "silence", "cost"]


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure: CloudWatch's by the minute (host), the log's by the step (step), or one that moves by itself."""

    name: str
    kind: Kind
    unit: str
    """Empty where the job's log says it, or where there is none."""
    words: str
    """As it stands in a sentence."""


_HOST_WORDS = {
    "gpu_utilization": "GPU utilization",
    "gpu_memory_utilization": "GPU memory",
    "cpu_utilization": "CPU utilization",
    "memory_utilization": "memory",
    "disk_utilization": "disk space",
}

#: By name, in the order of the documentation.
MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        *(Measure(name, "host", "%", _HOST_WORDS[name]) for name in METRICS),
        Measure("step_time", "step", "s", "step time"),
        Measure("throughput", "step", "", "throughput"),
        Measure("loss", "step", "", "loss"),
        Measure("seconds_since_last_step", "silence", "s", "time since the last step"),
        Measure("cost_usd", "cost", "USD", "cost"),
    )
}
