"""Every rule has a manual, a run it speaks about, a run it is silent about, and nothing to say of an empty run."""

from __future__ import annotations

import pytest

from monitor.diagnose.findings import rules
from monitor.diagnose.rule import SECTIONS, Rule
from monitor.diagnose.verdict import judge
from monitor.model import Job, Run, events_frame, metrics_frame, steps_frame
from monitor.review import report
from tests.diagnose.cases import FIRES, SILENT, run
from tests.diagnose.said import NOW, said

# One worker asks all rules of a run once.
pytestmark = pytest.mark.xdist_group("rules")
RULES = rules()
_EMPTY = Run(Job("empty"), steps_frame(), metrics_frame(), events_frame())


def _ids(of: Run) -> list[str]:
    return [finding.id for finding in said(of)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_has_its_manual(rule: Rule) -> None:
    assert rule.title.endswith("."), f"the rule {rule.id} needs a first line that says what it means, with a full stop"
    for section in SECTIONS:
        assert rule.section(section), f'the rule {rule.id} needs the paragraph "{section}:" in its docstring'


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_speaks_where_it_should(rule: Rule) -> None:
    assert FIRES.get(rule.id), f"the rule {rule.id} needs a run in FIRES (tests/diagnose/cases.py)"
    for case in FIRES[rule.id]:
        assert rule.id in _ids(case)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_is_silent_where_it_should(rule: Rule) -> None:
    assert SILENT.get(rule.id), f"the rule {rule.id} needs a run in SILENT (tests/diagnose/cases.py)"
    for case in SILENT[rule.id]:
        assert rule.id not in _ids(case)


def test_nothing_is_said_of_nothing() -> None:
    assert _ids(_EMPTY) == []
    assert judge(report(_EMPTY, NOW)).level == "unknown"


def test_a_healthy_run_has_no_finding() -> None:
    healthy = run()
    assert _ids(healthy) == []
    assert judge(report(healthy, NOW)).level == "healthy"


@pytest.mark.parametrize("case", [case for cases in FIRES.values() for case in cases])
def test_a_finding_has_a_figure_a_place_and_a_next_step(case: Run) -> None:
    for finding in said(case):
        assert finding.title
        assert len(finding.title) < 80
        if finding.severity != "info":
            assert any(character.isdigit() for character in finding.summary)
            assert finding.evidence
            assert finding.recommendation is not None


def test_one_cause_is_one_finding() -> None:
    utilization = {"one-gpu-in-use", "idle-gpus", "low-gpu-utilization", "small-batch"}
    for cases in FIRES.values():
        for case in cases:
            assert len(utilization & set(_ids(case))) <= 1


def test_worst_comes_first() -> None:
    rank = {"critical": 0, "warning": 1, "info": 2}
    for cases in FIRES.values():
        for case in cases:
            severities = [rank[finding.severity] for finding in said(case)]
            assert severities == sorted(severities)
