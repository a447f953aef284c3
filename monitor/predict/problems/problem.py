"""A problem in a setup, and the sources that problems rest on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from monitor.model import Recommendation, Severity
from monitor.predict.setup import Setup

SMP1_SCHEMA = "SMP v1 configuration schema, release 1.12.1"
SMP1_GUIDE = "SageMaker developer guide, SMP v1 configuration"
SMP1_PRACTICES = "SageMaker developer guide, SMP v1 best practices"
SMP2_REFERENCE = "SageMaker developer guide, SMP v2 reference"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that the library rejects or ignores, or that costs time; as ``info``, what is missing to judge by."""

    id: str
    """Of the finding that it is."""
    severity: Severity
    parameter: str
    value: Any
    read_from: str
    words: str
    """What and why, as a sentence with its figures."""
    recommendation: Recommendation
    rejected: bool = False
    """The library refuses it when it starts."""
    refutable: bool = False
    """A job that did steps shows that it does not hold: its release takes it, or its script says more than is known."""

    @property
    def source(self) -> str:
        return self.recommendation.source


def problem(
    setup: Setup,
    parameter: str,
    words: str,
    remedy: str,
    source: str,
    *,
    id: str = "invalid-configuration",
    severity: Severity = "warning",
    to: Any = None,
    change: str = "",
    rejected: bool = False,
    refutable: bool = False,
) -> Problem:
    """A problem of ``parameter``; its remedy changes it, or the parameter ``change``, to ``to``."""
    name, given = change or parameter, setup.library
    known = setup.values.get(parameter)
    start = setup.value(name) if name in setup.values else given.get(name)
    advice = Recommendation(remedy, source=source) if to is None else Recommendation(remedy, name, start, to, source)
    value = given.get(parameter) if known is None else known.value
    read_from = known.read_from if known is not None else "mp_parameters" if parameter in given else ""
    return Problem(id, severity, parameter, value, read_from, words, advice, rejected, refutable)


def divisor(number: int, most: int) -> int:
    """The largest divisor of ``number`` that is at most ``most``; of numbers that no cluster has a power of two."""
    if min(most, number) > 100_000:
        return min(number & -number, 1 << (most.bit_length() - 1))
    return next((k for k in range(min(most, number), 0, -1) if number % k == 0), 1)
