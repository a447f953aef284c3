"""All rules over a case: the findings in the order of what to act on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from monitor.diagnose.rule import ABOUT, Case, Rule
from monitor.diagnose.rulebook import rules
from monitor.model import Finding, Price, Run

_SEVERITY = {"critical": 0, "warning": 1, "info": 2}

Broke = Callable[[Rule, Exception], None]


def _raised(rule: Rule, error: Exception) -> None:
    raise error


def diagnose(run: Run, now: datetime, price: Price | None = None, broke: Broke = _raised) -> tuple[Finding, ...]:
    """The findings of a run as of ``now``. A rule whose data are missing stays silent; the gap has its own rule."""
    return findings(Case(run, now, price), broke)


def findings(case: Case, broke: Broke = _raised) -> tuple[Finding, ...]:
    """The findings of a case, for who has worked it out already.

    A rule that fails is told to ``broke`` and left out: the others are asked. Unless one is given, its error is raised.
    """
    found: dict[str, Finding] = {}
    asked = rules()
    for rule in asked:
        if found.keys() & set(rule.silenced_by) or (rule.whole_log and not case.run.logs.complete):
            continue
        try:
            finding = rule.check(case)
        except Exception as error:
            broke(rule, error)
            continue
        if finding is not None:
            found[finding.id] = replace(finding, share=case.bill.share(finding.savings) if finding.savings else None)
    return in_order(tuple(found.values()), {rule.id: rule for rule in asked})


def asks_to_save(found: Iterable[Finding]) -> bool:
    """Whether any of the findings is one to act on that time and money go into; risks have cost nothing so far."""
    risks = {rule.id for rule in rules() if rule.about == "risk"}
    return any(finding.severity != "info" and finding.id not in risks for finding in found)


def in_order(found: tuple[Finding, ...], by_id: Mapping[str, Rule]) -> tuple[Finding, ...]:
    """Findings by severity, by what they are about, and by what they cost, the largest first; of equal ones the order of
    their rules, which names the exact before the general. One that explains another stands before it."""

    def place(finding: Finding) -> tuple[int, int, float]:
        return _SEVERITY[finding.severity], ABOUT.index(by_id[finding.id].about), -(finding.share or 0.0)

    out = sorted(found, key=place)
    for finding in sorted(found, key=place, reverse=True):
        explained = [n for n, other in enumerate(out) if other.id in by_id[finding.id].explains]
        here = out.index(finding)
        if explained and explained[0] < here and out[explained[0]].severity == finding.severity:
            out.insert(explained[0], out.pop(here))
    return tuple(out)
