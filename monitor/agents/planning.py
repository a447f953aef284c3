"""``plan``: what another model-parallel configuration would do to step time and memory, and whether the library takes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from monitor.agents.account_session import AccountSession
from monitor.agents.quoting import Quotes, ToolAnswer, clipped, fitted, quotes_of
from monitor.agents.reviewing import range_of
from monitor.agents.shapes import Problem
from monitor.archive.document import as_line
from monitor.errors import BadCall
from monitor.predict.presets import PRESETS, preset
from monitor.predict.spread import promise_words
from monitor.review import Progress
from monitor.review.planning import Plan, advice_of, plan, plan_document, start_from, start_of

CAP = 2000
_FITS = {"yes": "fits", "borderline": "is borderline", "no": "does not fit", "unknown": "is not known to fit"}


def planned(
    session: AccountSession,
    job: str,
    preset_name: str,
    start: Mapping[str, Any],
    change: Mapping[str, Any],
    say: Progress,
    given_up: Callable[[], bool],
) -> ToolAnswer:
    """The plan that starts from a job, a preset, or values."""
    quotes, found = _plan(session, job, preset_name, start, change, say, given_up)
    document = plan_document(found)
    document |= {part: _marked(document[part], quotes) for part in ("start", "distribution")}
    prediction = document["prediction"]
    memory = prediction["gpu_memory_gib"] or {}
    problems: list[Problem] = [
        {"id": each.id, "severity": each.severity, "said": quotes.marked(clipped(each.summary, 400))}
        for each in found.problems
    ]
    advised = found.advised and f"{found.advised.parameter}={found.advised.value}"
    lines = [
        _headline(found),
        f"Change: {as_line(document['change'])}" if document["change"] else "No change was asked.",
    ]
    if memory:
        gib = [
            f"{name} {memory[name]:.1f} GiB" for name in ("start", "change", "limit") if memory.get(name) is not None
        ]
        lines.append(f"GPU memory: {', '.join(gib)}; it {_FITS[prediction['fits']]}.")
    if advised:
        lines.append(f"Advised: {advised}.")
    return _answer(found, document, lines, problems)


def _marked(value: Any, quotes: Quotes) -> Any:
    """What the owner of the job named and wrote in it, told apart from ours."""
    if isinstance(value, dict):
        return {quotes.marked(name): _marked(inner, quotes) for name, inner in value.items()}
    if isinstance(value, list):
        return [_marked(inner, quotes) for inner in value]
    return quotes.marked(value) if isinstance(value, str) else value


def _answer(found: Plan, document: Mapping[str, Any], lines: list[str], problems: list[Problem]) -> ToolAnswer:
    prediction, memory = document["prediction"], document["prediction"]["gpu_memory_gib"] or {}

    def make(shown: int) -> ToolAnswer:
        out = len(problems) - shown
        said = [*lines, *(f"- {each['id']} ({each['severity']}): {each['said']}" for each in problems[:shown])]
        if out:
            said.append(f"{out} more risks and unknowns are left out; give the parameters they lack in start.")
        distribution = json.dumps(document["distribution"], ensure_ascii=False)  # the signs of a quotation stay
        said += [f"distribution={distribution}", clipped(document["prediction"]["method"], 300)]
        data = {
            "start": document["start"],
            "change": document["change"],
            "step_time_change_percent": range_of(found.step_time_change_pct),
            "gpu_memory_gib": memory.get("change") if memory.get("change") is not None else memory.get("start"),
            "gpu_memory_limit_gib": memory.get("limit"),
            "fits": prediction["fits"],
            "rejected": found.is_rejected,
            "problems": problems[:shown],
            "distribution": document["distribution"],
            "left_out": out,
            "next": None,
        }
        return ToolAnswer("\n".join(said), data)

    return fitted(make, len(problems), CAP)


def _plan(
    session: AccountSession,
    job: str,
    preset_name: str,
    start: Mapping[str, Any],
    change: Mapping[str, Any],
    say: Progress,
    given_up: Callable[[], bool],
) -> tuple[Quotes, Plan]:
    if job and preset_name:
        raise BadCall("Both a job and a preset were given.", "Start from one of them.")
    if job:
        report = session.report(job, say, given_up)
        begun = start_of(report, start, "given")
        return quotes_of(report), plan(begun, change, advice_of(report), ran=len(report.run.steps) > 0)
    chosen = preset(preset_name) if preset_name else None
    names = ", ".join(each.name for each in PRESETS)
    if preset_name and chosen is None:
        raise BadCall(f"There is no preset {clipped(preset_name, 60)}.", f"Presets: {names}.")
    if chosen is None and not start:
        raise BadCall("There is nothing to start from.", f"Give a job, a preset ({names}), or parameters in start.")
    library = start_from({**start, **change}).framework
    return Quotes(()), plan(start_from(start, chosen, library), change)


def _headline(found: Plan) -> str:
    if found.is_rejected:
        return "The library rejects this configuration: see the problems."
    change = found.step_time_change_pct
    if change is None:
        return "Step time: not predicted." if found.asked else "The start, as far as it is known."
    promise = f" The range {promise_words(found.outcome.time.promise)}." if change[2] - change[0] >= 0.05 else ""
    return f"Step time {change[1]:+.0f} % ({change[0]:+.0f} to {change[2]:+.0f}), model-based, not measured.{promise}"
