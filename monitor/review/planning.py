"""What a change of a setup would do. One value with everything that is said about it, for the command line and for
the page, and as the document that ``plan --format json`` prints. The form of that is a contract with users.

A start is made by ``start_of`` (a reviewed job) or ``start_from`` (values, a preset); ``plan`` asks what a change of it
does. Nothing is read but the bundled table of instance types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from monitor.archive.document import SCHEMA, finding_document, json_types
from monitor.choices import Framework
from monitor.diagnose.setup_findings import MemoryRemedy, findings_of, measures
from monitor.fetch import instance_types
from monitor.model import Finding, Report
from monitor.predict import parameters
from monitor.predict.distribution import distribution
from monitor.predict.outcome import Advised, Outcome, Point, advised_window, curve, knob, outcome
from monitor.predict.parameters import ALIASES_V1, INTERNAL_V1, V1, V2
from monitor.predict.presets import Preset
from monitor.predict.problems.rules import problems_of, senseless_values_of, unknowns_of
from monitor.predict.setup import Setup, SourcedValue, changed, setup_from, setup_of

#: Of every step time that a plan gives.
MODEL_BASED = "Step times are model-based, not measured."
# Their values are words that have to be read.
_READ = frozenset({"precision", "sharding_strategy"})


@dataclass(frozen=True, slots=True)
class Plan:
    """A start, what was asked of it, and what comes of that."""

    outcome: Outcome
    asked: Mapping[str, Any]
    """The change as it was asked, by the names of a plan; empty where none was."""
    curve: tuple[Point, ...]
    """Along ``knob``: today's value, the changed and the advised one are among its points. Empty where there is none."""
    knob: str | None
    advised: Advised | None
    """A value of ``knob``."""
    problems: tuple[Finding, ...]
    """Of the changed setup: what is rejected first, then what is ignored or costs time, then what is not known."""
    is_rejected: bool
    """The library refuses the changed setup when it starts."""
    distribution: Mapping[str, Any]
    """The SageMaker SDK's ``distribution`` argument for the changed setup."""
    to_fit: tuple[MemoryRemedy, ...] = ()
    """What would make it fit, the cheapest first; empty where it fits, or nobody knows."""

    @property
    def start(self) -> Setup:
        return self.outcome.start

    @property
    def change(self) -> Setup:
        """The start with all that was asked and what follows from it."""
        return self.outcome.change

    @property
    def changes(self) -> Mapping[str, Any]:
        """What was asked and what follows from it, by name; None for what the change makes unknown."""
        names = [*self.asked, *sorted(self.outcome.changes - self.asked.keys())]
        values = self.change.values
        return {name: values[name].value if name in values else None for name in names}

    @property
    def step_time_change_pct(self) -> tuple[float, float, float] | None:
        """(low, middle, high); None where no change was asked, or what it does is not known."""
        return self.outcome.step_time_change_pct if self.asked else None

    @property
    def method(self) -> str:
        """What the figures rest on, as sentences."""
        return f"{MODEL_BASED} {self.outcome.method}"


def plan(
    start: Setup,
    change: Mapping[str, Any],
    advice: Advised | None = None,
    ran: bool = False,
    along: str | None = None,
) -> Plan:
    """What ``change``, by any names of its parameters, does to ``start``.

    ``advice`` is a review's; without one the window of an SMP v1 pipeline is advised by its model. With ``ran`` the start
    is that of a job that did steps: what such a job refutes is not said of what the change leaves as it was. ``along`` is the
    parameter of the curve; without one it is chosen.
    """
    start = _with_framework(start, change)
    wanted = with_machine(change)
    after = _changed(start, change, "change") if change else start
    asked = _by_names_of_a_plan(start, change)
    along, points, advised = _curve(start, {**wanted, **asked}, asked, advice, along)
    found = problems_of(after)
    if ran:
        known = {(each.id, each.parameter, each.words) for each in problems_of(start)}
        found = tuple(each for each in found if not (each.refutable and (each.id, each.parameter, each.words) in known))
    found_outcome = outcome(start, after)
    return Plan(
        found_outcome,
        asked,
        points,
        along,
        advised,
        findings_of(after, (*found, *senseless_values_of(after), *unknowns_of(after))),
        any(each.rejected for each in found),
        distribution(after),
        measures(after, start) if found_outcome.memory.fits in {"no", "borderline"} else (),
    )


def start_from(
    values: Mapping[str, Any], preset: Preset | None = None, framework: Framework | None = None, given_by: str = "given"
) -> Setup:
    """A start out of ``values``, by any of their names, over those of a preset. Where no name tells otherwise the
    parameters are SMP v1's."""
    if preset is not None:
        base = _from_table(
            setup_from(with_machine(preset.values), framework or "smp1", f"preset {preset.name}"), preset.values
        )
        return _changed(base, values, given_by)
    whole = with_machine(values)
    found = setup_from(whole, framework, given_by)
    is_ddp_of_smp = found.framework == "ddp" and "ddp" in values
    if framework is None and (found.framework is None or is_ddp_of_smp):
        found = setup_from(whole, "smp1", given_by)
    return _from_table(_with_unknown(found, values, given_by), values)


def start_of(
    report: Report,
    corrections: Mapping[str, Any] | None = None,
    given_by: str = "given",
    framework: Framework | None = None,
) -> Setup:
    """The setup of a reviewed job with what was measured of it. ``corrections`` state what the job does not tell, or tells
    wrongly; ``framework`` is its library, likewise."""
    found = setup_of(report.job)
    seen = {
        name: SourcedValue(each.value, each.read_from, came_by=each.came_by) for name, each in report.measured.items()
    }
    found = replace(found, values={**found.values, **seen}, framework=framework or found.framework)
    if not corrections and not framework:
        return found
    corrections = corrections or {}
    return _changed(_with_framework(found, corrections), corrections, given_by)


def advice_of(report: Report) -> Advised | None:
    """The first value that the report recommends for a parameter of a plan, those with a prediction before the others."""
    for predicted in (True, False):
        for finding in report.findings:
            advice = finding.recommendation
            if advice is None or advice.to_value is None or (finding.prediction is not None) != predicted:
                continue
            name = parameters.OTHER_NAMES.get(advice.parameter or "", advice.parameter)
            if name in parameters.CANONICAL:
                return Advised(name, advice.to_value, finding.id)
    return None


def with_machine(values: Mapping[str, Any]) -> dict[str, Any]:
    """``values`` and, for an instance type among them, what the bundled table says of it and they do not."""
    found = dict(values)
    name = next((each for each in values if parameters.plain_name(each) == "instance_type"), None)
    if name is None or not isinstance(values[name], str):
        return found
    for written in (values[name], f"ml.{values[name]}"):
        node = instance_types.lookup(written)
        if node is not None:
            found[name] = written
            facts = {
                "gpus_per_node": node.gpus,
                "gpu_memory_gib": node.gpu_memory_gib,
                "interconnect": node.interconnect,
                "network_gbps": node.network_gbps,
            }
            return {**{fact: value for fact, value in facts.items() if value is not None}, **found}
    return found


def _with_framework(setup: Setup, values: Mapping[str, Any]) -> Setup:
    """Of a setup whose library is not known: the one whose parameters are talked about, SMP v1's if both have them."""
    names = {ALIASES_V1.get(name, name) for name in map(parameters.plain_name, values)}
    if setup.framework is not None or not names & (V1.keys() | V2.keys()):
        return setup
    return replace(setup, framework="smp2" if names & (V2.keys() - V1.keys()) else "smp1")


def _changed(setup: Setup, values: Mapping[str, Any], read_from: str) -> Setup:
    return _with_unknown(_from_table(changed(setup, with_machine(values), read_from), values), values, read_from)


def _from_table(setup: Setup, values: Mapping[str, Any]) -> Setup:
    """``setup`` with the place told of what stands in it by ``with_machine`` alone."""
    added = with_machine(values).keys() - values.keys()
    if not added:
        return setup
    told = {name: SourcedValue(setup.values[name].value, "the table of instance types") for name in added}
    return replace(setup, values={**setup.values, **told})


def _with_unknown(setup: Setup, values: Mapping[str, Any], read_from: str) -> Setup:
    """``setup`` with the names that nothing knows handed to its library, which says so."""
    unknown = {name: value for name, value in values.items() if not is_known(name) and value is not None}
    found = replace(setup, library={**setup.library, **unknown}) if unknown else setup
    # What was said of these in words that say nothing stays, so that it is said.
    senseless = {
        plain: SourcedValue(value, read_from)
        for name, value in values.items()
        if (plain := parameters.plain_name(name)) in _READ and value is not None and not setup.is_given(plain)
    }
    return replace(found, values={**found.values, **senseless}) if senseless else found


def is_known(name: str) -> bool:
    """Whether ``name``, as it was written, is a parameter of a plan under any of its names."""
    plain = parameters.plain_name(name)
    others = parameters.CANONICAL | INTERNAL_V1 | ALIASES_V1.keys()
    return plain in others or plain in parameters.OTHER_NAMES or plain in parameters.SPECIAL


def _by_names_of_a_plan(start: Setup, change: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked under the names of a plan, without what follows from it."""
    found = {}
    for written, value in change.items():
        after = changed(start, {written: value})
        for name, known in after.values.items():
            if known.read_from == "change" and known is not start.values.get(name):
                found[name] = known.value
        for name in start.values.keys() - after.values.keys() if value is None else ():
            found[name] = None
    return found


def _curve(
    start: Setup, change: Mapping[str, Any], asked: Mapping[str, Any], advice: Advised | None, along: str | None
) -> tuple[str | None, tuple[Point, ...], Advised | None]:
    """The parameter of the curve, its points, and which of its values is advised."""
    if along is None and advice and not asked and (points := tuple(curve(start, advice.parameter, [advice.value]))):
        return advice.parameter, points, advice
    along = along or knob(start, asked)
    if along is None:
        return None, (), None
    fitting = advice if advice and advice.parameter == along else None
    values = [each for each in (asked.get(along), fitting.value if fitting else None) if each is not None]
    points = tuple(curve(start, along, values, change))
    if len(points) < 2:
        return along, (), None
    return along, points, fitting or advised_window(points, start.real("gpu_memory_gib"))


def plan_document(plan: Plan) -> dict[str, Any]:
    """The plan: plain JSON types, unknown is null. Without a change what is said of one is that of the start."""
    document: dict[str, Any] = json_types(
        {
            "schema": SCHEMA,
            "start": {
                name: known.value
                for name, known in sorted(plan.start.values.items())
                if known.value is not None and not _is_assumed(plan.start, name)
            },
            "change": dict(plan.changes),
            "prediction": _prediction(plan),
            "curve": [
                {
                    "parameter": point.parameter,
                    "value": point.value,
                    "step_time_relative": point.step_time_relative,
                    "gpu_memory_gib": point.gpu_memory_gib,
                }
                for point in plan.curve
            ],
            "problems": [finding_document(finding) for finding in plan.problems],
            "distribution": dict(plan.distribution),
        }
    )
    return document


def _is_assumed(start: Setup, name: str) -> bool:
    """A plan that does not name its precision means half precision, whatever its library takes by default."""
    return name == "precision" and start.values[name].is_default and not start.is_job


def _prediction(plan: Plan) -> dict[str, Any]:
    found, change = plan.outcome, plan.step_time_change_pct
    before, after = found.bubble_start, found.bubble_change
    return {
        "step_time_change_percent": None if change is None else list(change),
        "bubble_fraction": None if before is None and after is None else {"start": before, "change": after},
        "gpu_memory_gib": _memory(plan),
        "fits": found.memory.fits,
        "method": plan.method,
        "basis": found.basis,
    }


def _memory(plan: Plan) -> dict[str, Any] | None:
    memory = plan.outcome.memory
    if memory.start_gib is None and memory.expected_gib is None and not memory.limit_gib and not memory.components:
        return None
    return {
        "start": memory.start_gib,
        "change": memory.expected_gib,
        "limit": memory.limit_gib,
        "components": dict(memory.components),
    }
