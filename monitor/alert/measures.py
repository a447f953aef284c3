"""Which figures of a job can have a threshold, and of what kind is each?"""

from __future__ import annotations

import math
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
    span: tuple[float, float]
    """The least and the most that it can be."""
    examples: tuple[str, str]
    """Values that make sense as the least and as the most that is wanted, as they are written."""

    def example_of(self, op: str) -> str:
        """One for a comparison."""
        return self.examples[op.startswith(">")]


_HOST_WORDS = {
    "gpu_utilization": "GPU utilization",
    "gpu_memory_utilization": "GPU memory",
    "cpu_utilization": "CPU utilization",
    "memory_utilization": "memory",
    "disk_utilization": "disk space",
}
_FROM_ZERO = (0.0, math.inf)

#: By name, in the order of the documentation.
MEASURES: dict[str, Measure] = {
    measure.name: measure
    for measure in (
        *(Measure(name, "host", "%", _HOST_WORDS[name], (0.0, 100.0), ("40%", "90%")) for name in METRICS),
        Measure("step_time", "step", "s", "step time", _FROM_ZERO, ("1s", "2s")),
        Measure("throughput", "step", "", "throughput", _FROM_ZERO, ("500", "500")),
        Measure("loss", "step", "", "loss", (-math.inf, math.inf), ("3", "3")),
        Measure("seconds_since_last_step", "silence", "s", "time since the last step", _FROM_ZERO, ("1 min", "15 min")),
        Measure("cost_usd", "cost", "USD", "cost", _FROM_ZERO, ("500", "500")),
    )
}
