"""What is said of the runs that the tests of rules share, each worked out once."""

from __future__ import annotations

from datetime import timedelta

from monitor.diagnose.rulebook import Case, Rule, findings, rules
from monitor.model import Finding, Run
from tests.diagnose.runs import END

NOW = END + timedelta(seconds=5)
RULES: dict[str, Rule] = {rule.id: rule for rule in rules()}
# The runs are the same objects for all tests of a rule; who is kept keeps its number.
_CASES: dict[int, Case] = {}
_SAID: dict[int, tuple[Finding, ...]] = {}
_OWN: dict[tuple[int, str], Finding | None] = {}


def _case(of: Run) -> Case:
    if id(of) not in _CASES:
        _CASES[id(of)] = Case(of, NOW)
    return _CASES[id(of)]


def said(of: Run) -> tuple[Finding, ...]:
    """The findings of a run, in their order."""
    if id(of) not in _SAID:
        _SAID[id(of)] = findings(_case(of))
    return _SAID[id(of)]


def says(of: Run, rule_id: str) -> Finding | None:
    """What a rule says of a run, None where it does not speak or is silenced. Only those are asked that could silence it."""
    key = id(of), rule_id
    if key not in _OWN:
        rule = RULES[rule_id]
        found = None if rule.whole_log and not of.logs.complete else rule.check(_case(of))
        if found is not None and any(says(of, other) for other in rule.silenced_by):
            found = None
        _OWN[key] = found
    return _OWN[key]
