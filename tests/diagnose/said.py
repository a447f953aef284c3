"""What is said of the runs that the tests of rules share, each worked out once."""

from __future__ import annotations

from datetime import timedelta

from monitor.diagnose.findings import findings
from monitor.diagnose.rule import Case, Rule
from monitor.diagnose.rulebook import rules
from monitor.model import Finding, Run
from tests.diagnose.runs import END

NOW = END + timedelta(seconds=5)
RULES: dict[str, Rule] = {rule.id: rule for rule in rules()}
# The runs are the same objects for all tests of a rule; who is kept keeps its number.
_CASES: dict[int, Case] = {}
_SAID: dict[int, tuple[Finding, ...]] = {}


def _case(of: Run) -> Case:
    if id(of) not in _CASES:
        _CASES[id(of)] = Case(of, NOW)
    return _CASES[id(of)]


def said(of: Run) -> tuple[Finding, ...]:
    """The findings of a run, in their order."""
    if id(of) not in _SAID:
        _SAID[id(of)] = findings(_case(of))
    return _SAID[id(of)]


def speaks(of: Run, rule_id: str) -> bool:
    """Whether a finding is among those of a run. All rules are asked only where its own speaks: others may silence it."""
    if RULES[rule_id].check(_case(of)) is None:
        return False
    return rule_id in {finding.id for finding in said(of)}
