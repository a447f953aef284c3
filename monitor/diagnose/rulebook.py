"""All rules of the package ``rules``, in the order in which they are asked, and what they find over a case.

A module whose text holds ``@rule(`` is one of rules: a new file needs no other edit here. A rule is asked after all that can
silence it and all that explain it; apart from that by what it is about, then by module and place in it. Findings come in the
order of what to act on.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache

import monitor.diagnose.rules
from monitor.diagnose.rule import ABOUT, Case, Rule
from monitor.model import Finding, Price, Run


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule. ValueError where one names an id that no rule has, has another one's id, or is to follow itself."""
    return in_order_of_asking(_found())


def in_order_of_asking(found: Iterable[Rule]) -> tuple[Rule, ...]:
    """The rules, each after those that silence or explain it and otherwise in the order given, by what they are about."""
    ordered = sorted(found, key=lambda rule: ABOUT.index(rule.about))
    by_id = {rule.id: rule for rule in ordered}
    if len(by_id) < len(ordered):
        twice = sorted({rule.id for rule in ordered if by_id[rule.id] is not rule})
        raise ValueError(f"Two rules have the id {', '.join(twice)}.")
    for rule in ordered:
        if unknown := [id for id in (*rule.silenced_by, *rule.explains) if id not in by_id]:
            raise ValueError(f"The rule {rule.id} names {', '.join(unknown)}, which no rule has as its id.")
    before = {rule.id: set(rule.silenced_by) for rule in ordered}
    for rule in ordered:
        for id in rule.explains:
            before[id].add(rule.id)
    out: dict[str, Rule] = {}
    for rule in ordered:
        _place(rule.id, by_id, before, out, ())
    return tuple(out.values())


def _place(
    id: str, by_id: Mapping[str, Rule], before: Mapping[str, set[str]], out: dict[str, Rule], way: tuple[str, ...]
) -> None:
    if id in out:
        return
    if id in way:
        raise ValueError(f"Rules follow one another in a circle: {' after '.join((*way[way.index(id) :], id))}.")
    for other in by_id:
        if other in before[id]:
            _place(other, by_id, before, out, (*way, id))
    out[id] = by_id[id]


def _found() -> Iterator[Rule]:
    for info in sorted(pkgutil.iter_modules(monitor.diagnose.rules.__path__), key=lambda info: info.name):
        # To import what holds no rule would take the better part of a second.
        spec = info.module_finder.find_spec(info.name, None)
        source = (
            spec.loader.get_source(info.name) if spec and spec.loader and hasattr(spec.loader, "get_source") else ""
        )
        if source and "\n@rule(" in source:
            module = importlib.import_module(f"{monitor.diagnose.rules.__name__}.{info.name}")
            yield from (value for value in vars(module).values() if _is_own(value, module.__name__))


def _is_own(value: object, module: str) -> bool:
    return isinstance(value, Rule) and value.check.__module__ == module


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
