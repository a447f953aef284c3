"""What is said of the runs that the tests of rules share, each worked out once."""

from __future__ import annotations

from datetime import timedelta

from monitor.diagnose.findings import diagnose
from monitor.model import Finding, Run
from tests.diagnose.cases import END

NOW = END + timedelta(seconds=5)
_SAID: dict[int, tuple[Run, tuple[Finding, ...]]] = {}


def said(of: Run) -> tuple[Finding, ...]:
    """The findings of a run, in their order. The runs are the same objects for all tests; who is kept keeps its number."""
    if id(of) not in _SAID:
        _SAID[id(of)] = (of, diagnose(of, NOW))
    return _SAID[id(of)][1]
