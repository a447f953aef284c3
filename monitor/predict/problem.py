"""What is a problem in a setup, and how is it worded?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from monitor.model import Recommendation, Severity
from monitor.predict.setup_types import Setup

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
    known = setup.values.get(parameter)
    value = known.value if known is not None else setup.library.get(parameter)
    name = change or parameter
    current = setup.values.get(name)
    start = current.value if current is not None else setup.library.get(name)
    one_knob = to is not None
    return Problem(
        id,
        severity,
        parameter,
        value,
        known.read_from if known is not None else "mp_parameters" if parameter in setup.library else "",
        words,
        Recommendation(remedy, name if one_knob else None, start if one_knob else None, to, source),
        rejected,
        refutable,
    )
