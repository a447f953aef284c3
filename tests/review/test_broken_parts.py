"""A rule or a part of a report that fails costs itself: the rest is said, the gap names it, and nothing is claimed for it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from html import unescape
from io import StringIO
from pathlib import Path
from types import ModuleType

import pytest
from rich.console import Console

from monitor.alert.conditions import AlertRule as Threshold
from monitor.alert.conditions import parse
from monitor.alert.evaluate import judge as evaluate
from monitor.archive.document import report_document
from monitor.cli.report import print_report
from monitor.diagnose import rulebook
from monitor.diagnose.rulebook import Case, Rule, rules
from monitor.diagnose.verdict import judge
from monitor.document import Figure, Note
from monitor.export import figures, layout
from monitor.model import Finding, Report
from monitor.review import reports
from tests import situations
from tests.builders import metrics
from tests.diagnose.runs import BUSY, END, run

RUN = run(metrics(["algo-1", "algo-2"], 60, {**BUSY, "disk_utilization": 97.0}))
CASE = Case(RUN, END)
PART = "disk-nearly-full"


@cache
def _said() -> dict[str, Finding]:
    """What is said of the run where nothing fails."""
    return {finding.id: finding for finding in reports.report(RUN, END).findings}


def _broken(case: Case) -> Finding | None:
    raise ZeroDivisionError("oops")


@cache
def _answer(rule: Rule) -> Finding | None:
    """What a rule says of the run: the same whichever other rule fails."""
    return rule.check(CASE)


def _with_broken(monkeypatch: pytest.MonkeyPatch, *ids: str) -> None:
    _said()  # before anything fails
    asked = tuple(
        replace(each, check=_broken if each.id in ids else lambda _, each=each: _answer(each)) for each in rules()
    )
    monkeypatch.setattr(rulebook, "rules", lambda: asked)
    monkeypatch.setattr(reports, "Case", lambda *_: CASE)


def test_the_run_has_findings_to_lose() -> None:
    assert PART in _said()


@pytest.mark.parametrize("id", [each.id for each in rules()])
def test_a_rule_that_fails_costs_itself_and_is_named(monkeypatch: pytest.MonkeyPatch, id: str) -> None:
    _with_broken(monkeypatch, id)
    found = reports.report(RUN, END)
    silenced = {each.id for each in rules() if id in each.silenced_by}
    said = {finding.id: finding for finding in found.findings}
    assert {name: each for name, each in said.items() if name not in silenced} == {
        name: each for name, each in _said().items() if name != id and name not in silenced
    }
    (gap,) = found.faults
    assert gap.why.startswith(
        f"The check ({id}) failed because of an error in Trainwatch itself (ZeroDivisionError: oops)"
    )
    assert "trainwatch.log" in gap.remedy
    assert found.broken == {id}
    assert found.gaps[-1] == gap
    assert judge(found).level != "healthy"


def test_rules_that_fail_on_one_error_are_one_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: object) -> None:
        raise ValueError("cannot convert to 'int64'-dtype NumPy array with missing values")

    monkeypatch.setattr(rulebook, "journal", lost)
    found = reports.report(RUN, END)
    (gap,) = found.faults
    assert gap.why.startswith("Where the time went, ")
    assert "checks (" in gap.why
    # What rests on it is not known: no phase, no goodput, no finding of progress, and no claim of health.
    assert (found.phases, found.buckets, found.goodput, found.activities) == ((), (), None, ())
    assert found.steps is not None
    assert judge(found).level not in {"healthy", "muted"}
    log = Path(gap.remedy.removeprefix("Its traceback is in ").removesuffix("."))
    assert log.read_text(encoding="utf-8").count("Failed: Where the time went, ") == 1


def test_the_cost_of_a_running_job_is_not_known_without_its_phases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rulebook, "phases_of", lambda *_: 1 / 0)
    running = replace(RUN, job=replace(RUN.job, status="InProgress", ended=None, training_seconds=None))
    price = situations.low_utilization().price or reports.Price(10.0, "settings file")
    assert reports.report(running, END, price).cost.usd is None


@pytest.mark.parametrize(
    ("where", "name", "part"),
    [
        (reports.step_time, "by_node", "Figures of the nodes"),
        (reports.step_time, "summary", "Step times"),
        (reports.phases, "buckets", "Where the time went"),
        (rulebook, "phases_of", "Where the time went"),
        (reports, "cost", "Cost"),
        (reports, "goodput", "Goodput"),
        (reports, "recoverable", "What could be saved"),
        (reports, "setup_of", "What was measured of the setup"),
    ],
)
def test_a_part_of_a_report_that_fails_costs_itself(
    monkeypatch: pytest.MonkeyPatch, where: ModuleType, name: str, part: str
) -> None:
    whole = _said()

    def fails(*_: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(where, name, fails)
    found = reports.report(RUN, END)
    assert any(part in gap.why for gap in found.faults)
    assert PART in {finding.id for finding in found.findings}
    if part != "Where the time went":  # the charts show nothing of the others
        monkeypatch.setattr(figures, "pictures", lambda _: ())
    for said in (
        _text(found),
        layout.markdown(found),
        layout.html(found, datetime.now(UTC)),
        str(report_document(found)),
    ):
        assert "KeyError" in said
        assert whole[PART].title in said or f"'id': '{PART}'" in said


def test_a_threshold_on_a_finding_whose_check_failed_has_no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    when = parse(f"finding {PART}")
    threshold = Threshold(PART, when, f"finding {PART}")
    assert evaluate(reports.report(RUN, END), threshold, END).state == "firing"
    _with_broken(monkeypatch, PART)
    verdict = evaluate(reports.report(RUN, END), threshold, END)
    assert verdict.state == "no data"
    assert PART in verdict.why


@pytest.mark.parametrize("name", ["_phases", "_timeline", "_utilization", "_steps"])
def test_a_chart_that_fails_costs_itself_in_a_saved_page(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    report = situations.low_utilization()

    def fails(*_: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(figures, name, fails)
    found = list(figures.pictures(report))
    # Where the time went, the timeline, utilization and memory of the GPUs, step times, loss.
    assert len(found) == 6
    lost = [each.nodes[0] for each in found if not any(isinstance(node, Figure) for node in each.nodes)]
    assert len(lost) == (2 if name == "_utilization" else 1)
    for each in lost:
        assert isinstance(each, Note)
        assert "failed because of an error in Trainwatch itself (KeyError: 'oops')" in each.text
        assert each.text.split("(")[0] in unescape(layout.html(report, datetime.now(UTC)))


@pytest.mark.parametrize(
    "name",
    [
        "_header",
        "_rights",
        "_verdict",
        "_findings",
        "_phases",
        "_steps",
        "_nodes",
        "_configuration",
        "_files",
        "_coverage",
    ],
)
def test_a_part_that_fails_costs_itself_in_every_form(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    report = situations.low_utilization()
    monkeypatch.setattr(layout, name, lambda _: 1 / 0)
    monkeypatch.setattr(figures, "pictures", lambda _: ())
    for nodes, said in (
        ("## Nodes", layout.markdown(report)),
        ("<h2>Nodes</h2>", layout.html(report, datetime.now(UTC))),
        ("NODE", _text(report)),
    ):
        assert said.count("failed because of an error in Trainwatch itself") == 1
        assert (nodes in said) == (name != "_nodes")


def test_nothing_of_a_failed_part_is_archived_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    _with_broken(monkeypatch, PART)
    assert reports.report(RUN, END).run.gaps == RUN.gaps


def _text(report: Report) -> str:
    out = StringIO()
    print_report(report, Console(file=out, width=400))
    return out.getvalue()
