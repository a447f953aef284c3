"""Rules are found by being there, and asked in an order that lets those that silence others speak first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import monitor.diagnose.rules
from monitor.diagnose import rulebook
from monitor.diagnose.rulebook import Case, Rule, diagnose, in_order, in_order_of_asking, rules
from monitor.model import Finding
from tests.diagnose.runs import END, healthy

NEW = '''
"""A rule of somebody else."""

from monitor.diagnose.rulebook import rule
from monitor.model import Finding


@rule("seen-by-a-stranger", needs="nothing")
def seen(case):
    """It is there."""
    return Finding("seen-by-a-stranger", "info", "high", "It is there", "It is there.", ())
'''


@pytest.fixture
def fresh() -> Iterator[None]:
    rulebook.rules.cache_clear()
    yield
    rulebook.rules.cache_clear()


def _rule(id: str, **changes: Any) -> Rule:
    def check(case: Case) -> Finding | None:
        return None

    return Rule(id, check, "nothing", **changes)


def _ids(*given: Rule) -> list[str]:
    return [rule.id for rule in in_order_of_asking(given)]


@pytest.mark.usefixtures("fresh")
def test_a_rule_in_a_new_file_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "zz_stranger.py").write_text(NEW, encoding="utf-8")
    monkeypatch.setattr(monitor.diagnose.rules, "__path__", [*monitor.diagnose.rules.__path__, str(tmp_path)])
    assert "seen-by-a-stranger" in [finding.id for finding in diagnose(healthy(), END)]


def test_each_rule_is_asked_once_and_after_those_that_silence_or_explain_it() -> None:
    place = {rule.id: n for n, rule in enumerate(rules())}
    assert len(place) == len(rules()) > 50
    for rule in rules():
        assert all(place[id] < place[rule.id] for id in rule.silenced_by), rule.id
        assert all(place[id] > place[rule.id] for id in rule.explains), rule.id


def test_what_ended_the_job_is_asked_first() -> None:
    assert _ids(_rule("c", about="sight"), _rule("b"), _rule("a", about="end")) == ["a", "b", "c"]


def test_one_that_stands_later_can_silence_and_explain() -> None:
    assert _ids(_rule("a", silenced_by=("c",)), _rule("b"), _rule("c")) == ["c", "a", "b"]
    assert _ids(_rule("a"), _rule("b"), _rule("c", explains=("a",))) == ["c", "a", "b"]
    assert _ids(_rule("a", silenced_by=("b",)), _rule("b", about="risk")) == ["b", "a"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((_rule("a", silenced_by=("b",)),), "The rule a names b, which no rule has"),
        ((_rule("a", explains=("b", "c")), _rule("c")), "The rule a names b, which"),
        ((_rule("a", silenced_by=("b",)), _rule("b", silenced_by=("a",))), "in a circle: a after b after a"),
        ((_rule("a", explains=("b",)), _rule("b", explains=("a",))), "in a circle"),
        ((_rule("a", silenced_by=("a",)),), "in a circle: a after a"),
        ((_rule("a"), _rule("a")), "Two rules have the id a"),
    ],
)
def test_what_cannot_be_ordered_is_an_error(given: tuple[Rule, ...], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        in_order_of_asking(given)


@pytest.mark.parametrize(
    ("severity", "first"),
    [("warning", "pipeline-bubble"), ("critical", "spot-interruption")],
    ids=["the job went on", "it ended the job"],
)
def test_an_interruption_that_the_job_outlived_stands_where_its_cost_places_it(severity: Any, first: str) -> None:
    said = (
        Finding("spot-interruption", severity, "high", "", "", share=0.01),
        Finding("pipeline-bubble", "warning", "high", "", "", share=0.43),
    )
    assert in_order(said, {rule.id: rule for rule in rules()})[0].id == first
