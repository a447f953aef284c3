"""What a threshold expression means, as frozen values, and the figures of a job that can have a threshold."""

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


Operator = Literal["<", "<=", ">", ">="]
RuleSeverity = Literal["warning", "critical"]
SEVERITIES: tuple[RuleSeverity, ...] = ("warning", "critical")


@dataclass(frozen=True, slots=True)
class Lasting:
    """How long a condition must hold: so many seconds, or so many steps."""

    amount: float
    unit: Literal["s", "m", "h", "steps"]

    @property
    def seconds(self) -> float | None:
        """None where it is told in steps."""
        return None if self.unit == "steps" else self.amount * {"s": 1, "m": 60, "h": 3600}[self.unit]

    @property
    def steps(self) -> int | None:
        """None where it is told in time."""
        return int(self.amount) if self.unit == "steps" else None

    def __str__(self) -> str:
        return f"{number(self.amount)}{' ' if self.unit == 'steps' else ''}{self.unit}"


@dataclass(frozen=True, slots=True)
class Threshold:
    """``METRIC OP VALUE [for DURATION] [on SCOPE]``."""

    metric: str
    """A name of ``monitor.alert.conditions``."""
    op: Operator
    value: float
    relative: bool = False
    """``value`` is a factor on the job's own median so far."""
    lasting: Lasting | None = None
    scope: str = "any"
    """any, all, mean, the name of a node, or one of its GPUs: algo-3/gpu5."""

    @property
    def gpu(self) -> tuple[str, int] | None:
        """Node and number of the one GPU it is about; None where it is about hosts."""
        node, of_gpu, number = self.scope.partition("/gpu")
        return (node, int(number)) if of_gpu else None

    def __str__(self) -> str:
        lasting = "" if self.lasting is None else f" for {self.lasting}"
        scope = "" if self.scope == "any" else f" on {self.scope}"
        return f"{self.metric} {self.op} {number(self.value)}{'x' if self.relative else ''}{lasting}{scope}"


@dataclass(frozen=True, slots=True)
class Found:
    """``finding ID``, or ``finding critical``: any finding of that severity."""

    subject: str

    def __str__(self) -> str:
        return f"finding {self.subject}"


Condition = Threshold | Found


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition with a name, how loud it is, and who is told (sinks as they were written)."""

    name: str
    when: Condition
    text: str
    """The condition as it was written."""
    severity: RuleSeverity = "warning"
    notify: tuple[str, ...] = ()
    doubt: str = ""
    """Why it tells nothing, of one that was saved before that was refused."""


_WORDS = {"<": "below", "<=": "at-most", ">": "above", ">=": "at-least"}


def name_of(when: Condition) -> str:
    """A name for a rule that was given none: ``gpu_utilization-below-40-for-10m``."""
    if isinstance(when, Found):
        return f"finding-{when.subject}"
    value = f"{number(when.value)}{'x' if when.relative else ''}"
    lasting = "" if when.lasting is None else f"-for-{str(when.lasting).replace(' ', '-')}"
    scope = "" if when.scope == "any" else f"-on-{when.scope.replace('/', '-')}"
    return f"{when.metric}-{_WORDS[when.op]}-{value}{lasting}{scope}"


def number(value: float) -> str:
    """The shortest text that reads as the same number: ``40``, ``1.3``, ``1e-09``."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
