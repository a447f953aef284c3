"""All rules over a case: the findings in the order of what to act on."""

from __future__ import annotations

import importlib
import pkgutil
from datetime import datetime

import monitor.diagnose
from monitor.diagnose.rule import Case, Rule, case_of
from monitor.model import Finding, Run

# What ended the job, what stops it now, what wastes it, risks, what cannot be seen: in this order.
_FAMILIES = ("failures", "progress", "utilization", "parallelism", "network", "visibility")
_SEVERITY = {"critical": 0, "warning": 1, "info": 2}


def rules() -> tuple[Rule, ...]:
    """Every rule of this package, family by family, in the order of their files."""
    present = {module.name for module in pkgutil.iter_modules(monitor.diagnose.__path__)}
    found: list[Rule] = []
    for family in _FAMILIES:
        if family in present:
            module = importlib.import_module(f"monitor.diagnose.{family}")
            found.extend(value for value in vars(module).values() if isinstance(value, Rule))
    return tuple(found)


def diagnose(run: Run, now: datetime) -> tuple[Finding, ...]:
    """The findings of a run as of ``now``. A rule whose data are missing stays silent; the gap has its own rule."""
    return findings(case_of(run, now))


def findings(case: Case) -> tuple[Finding, ...]:
    """The findings of a case, for who has worked it out already."""
    found: dict[str, Finding] = {}
    for rule in rules():
        if not found.keys() & set(rule.silenced_by) and (finding := rule.check(case)) is not None:
            found[finding.id] = finding
    # Stable: within a severity the rules' own order, which names the exact before the general.
    return tuple(sorted(found.values(), key=lambda finding: _SEVERITY[finding.severity]))
