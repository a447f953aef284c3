"""How do problems in a setup become findings? In one way, for the review of a job and for a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from monitor.model import Confidence, Evidence, Finding, Recommendation
from monitor.predict.problems.problem import Problem
from monitor.predict.problems.rules import UNKNOWN
from monitor.predict.setup import FRAMEWORK_NAMES, Setup

_TITLES: Mapping[str, str] = {
    "batch-not-divisible": "Batch not divisible by microbatches",
    "tensor-parallel-across-nodes": "Tensor parallelism across nodes",
    "tensor-parallel-degree": "Tensor-parallel degree is not a power of two",
    "prescaled-batch-off": "prescaled_batch is off",
    "pipeline-inside-node": "Pipeline stages share a node",
}


def finding_of(setup: Setup, problems: Sequence[Problem], not_checked: tuple[str, ...] = ()) -> Finding:
    """One finding of problems of one id, at least one."""
    first = problems[0]
    said = " ".join(each.words for each in problems)
    if len(problems) > 1:
        title = _counted(setup, problems)
        said = f"{title}: {said}"
    else:
        title = _title(setup, first)
    return Finding(
        first.id,
        first.severity,
        _confidence(setup, problems),
        title,
        said,
        tuple(_evidence(each) for each in problems),
        first.recommendation
        if len(problems) == 1
        else Recommendation(
            first.recommendation.text,
            further=tuple(each.recommendation.text for each in problems[1:]),
            source="; ".join(dict.fromkeys(each.source for each in problems)),
        ),
        not_checked=not_checked,
    )


def findings_of(setup: Setup, problems: Sequence[Problem]) -> tuple[Finding, ...]:
    """A finding for each problem, so that each has its own remedy."""
    return tuple(finding_of(setup, (each,)) for each in problems)


def _title(setup: Setup, problem: Problem) -> str:
    if problem.id in _TITLES:
        return _TITLES[problem.id]
    if problem.id == UNKNOWN:
        return f"{problem.parameter} is not known"
    if problem.parameter in setup.unread:
        return f"{problem.parameter} could not be read"
    if not problem.source:
        return f"{problem.parameter} makes no sense"
    if problem.severity == "info":
        return f"{problem.parameter} is in doubt"
    library = _library(setup)
    return f"{library[:1].upper()}{library[1:]} {'rejects' if problem.rejected else 'ignores'} {problem.parameter}"


def _counted(setup: Setup, problems: Sequence[Problem]) -> str:
    count, rejected = len(problems), sum(1 for each in problems if each.rejected)
    what = "rejects" if rejected == count else "ignores" if not rejected else "rejects or ignores"
    return f"{count} settings that {_library(setup)} {what}"


def _library(setup: Setup) -> str:
    return FRAMEWORK_NAMES.get(setup.framework or "", "the library")


def _evidence(each: Problem) -> Evidence:
    place = f" ({each.read_from})" if each.read_from else ""
    value = each.value
    if value is not None and (not isinstance(value, int | float) or isinstance(value, bool)):
        value = str(value)
    return Evidence(f"{each.parameter}{place}", value)


def _confidence(setup: Setup, problems: Sequence[Problem]) -> Confidence:
    """High where the values were given to the library or printed by it; what a script may have set otherwise is less so."""
    told = all(setup.is_given(each.parameter) or each.parameter in setup.library for each in problems)
    return "high" if told else "medium"
