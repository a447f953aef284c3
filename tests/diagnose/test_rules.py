"""Every rule has a manual, a run it speaks about, a run it is silent about, and nothing to say of an empty run."""

from __future__ import annotations

import pytest

from monitor.diagnose.rulebook import Rule, rules
from monitor.diagnose.verdict import judge
from monitor.model import Job, Run, events_frame, metrics_frame, steps_frame
from monitor.review import report
from tests.diagnose.cases import fires, known, run, silent
from tests.diagnose.said import NOW, said, says
from tests.drawn import drawn
from tests.write_docs import SECTIONS, section_of, title_of

RULES = rules()
# One worker makes the runs of a rule and asks about them.
each_rule = pytest.mark.parametrize(
    "rule", [pytest.param(rule, id=rule.id, marks=pytest.mark.xdist_group(rule.id)) for rule in RULES]
)
_EMPTY = Run(Job("empty"), steps_frame(), metrics_frame(), events_frame())


# Of each of these at most one is said of a run.
_UTILIZATION = {"one-gpu-in-use", "idle-gpus", "low-gpu-utilization", "small-batch"}
_MORE_MEMORY = {"raise-active-microbatches", "raise-microbatches", "fewer-features"}
_LESS_MEMORY = {"lower-active-microbatches", "activation-checkpointing", "offload-activations"}


@each_rule
def test_rule_has_its_manual(rule: Rule) -> None:
    manual = title_of(rule)
    assert manual.endswith("."), f"the rule {rule.id} needs a first line that says what it means, with a full stop"
    for section in SECTIONS:
        assert section_of(rule, section), f'the rule {rule.id} needs the paragraph "{section}:" in its docstring'


@each_rule
def test_rule_speaks_where_it_should(rule: Rule) -> None:
    cases = fires(rule.id)
    assert cases, f"the rule {rule.id} needs a run in FIRES (tests/diagnose/cases.py)"
    for case in cases:
        assert says(case, rule.id)


@each_rule
def test_rule_is_silent_where_it_should(rule: Rule) -> None:
    cases = silent(rule.id)
    assert cases, f"the rule {rule.id} needs a run in SILENT (tests/diagnose/cases.py)"
    for case in cases:
        assert not says(case, rule.id)


def test_runs_are_for_rules_that_are_asked() -> None:
    strange = sorted(known() - {rule.id for rule in RULES})
    assert not strange, f"no rule has the id {', '.join(strange)}: is its file in monitor/diagnose/rules?"


def test_nothing_is_said_of_nothing() -> None:
    assert said(_EMPTY) == ()
    assert judge(report(_EMPTY, NOW)).level == "unknown"


def test_a_healthy_run_has_no_finding() -> None:
    healthy = run()
    assert said(healthy) == ()
    assert judge(report(healthy, NOW)).level == "healthy"


@each_rule
def test_a_finding_has_a_figure_a_place_and_a_next_step(rule: Rule) -> None:
    for finding in (says(case, rule.id) for case in fires(rule.id)):
        assert finding is not None
        assert finding.title
        assert len(finding.title) < 80
        if finding.severity != "info":
            assert any(character.isdigit() for character in finding.summary)
            assert finding.evidence
            assert finding.recommendation is not None


@each_rule
def test_one_cause_is_one_finding(rule: Rule) -> None:
    """Advice to take more GPU memory and advice to free it never stand side by side, either."""
    for case in fires(rule.id):
        assert sum(says(case, id) is not None for id in _UTILIZATION) <= 1
        more, less = (any(says(case, id) for id in ids) for ids in (_MORE_MEMORY, _LESS_MEMORY))
        assert not (more and less)


@pytest.mark.parametrize(
    "rule",
    [pytest.param(rule.id, marks=pytest.mark.xdist_group(rule.id)) for rule in drawn(RULES, 4)],
)
def test_all_rules_stand_all_runs(rule: str) -> None:
    """What is asked above is only what could silence a rule: the same is said where all are asked."""
    for case in (*fires(rule), *silent(rule)):
        assert (rule in {finding.id for finding in said(case)}) == (says(case, rule) is not None)
