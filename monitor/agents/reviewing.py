"""``review``: what is wrong with one job, how sure that is, what to do, and what it would gain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from monitor.agents.account_session import AccountSession
from monitor.agents.quoting import Quotes, ToolAnswer, clipped, fitted, quotes_of
from monitor.agents.shapes import FindingRow, NodeRow, Range
from monitor.archive.document import json_types
from monitor.diagnose.headline import facts, outlook, status_word
from monitor.diagnose.verdict import judge
from monitor.diagnose.words.report import cost_words
from monitor.model import Distribution, Finding, NodeStats, Report
from monitor.review import Progress
from monitor.words import DASH, about_usd, count, duration, percent, phase, step_seconds, usd

CAPS: dict[str, int] = {"brief": 1500, "full": 4000}
Detail = Literal["brief", "full"]
# Of a brief answer; the rest is counted.
_FINDINGS, _NODES, _GAPS = 5, 4, 4
_LONGEST = {"brief": 420, "full": 900}


def review(
    session: AccountSession, job: str, detail: Detail, say: Progress, given_up: Callable[[], bool]
) -> ToolAnswer:
    """The review of a job, its findings in the order of acting."""
    report = session.report(job, say, given_up)
    quotes = quotes_of(report)
    rows = [_finding(each, quotes, _LONGEST[detail]) for each in report.findings]
    most = len(rows) if detail == "full" else min(len(rows), _FINDINGS)
    nodes = [_node(each) for each in report.nodes]
    many = len(nodes) if detail == "full" else min(len(nodes), _NODES)
    data = {"job": job, **_figures(report, quotes)}

    def make(shown: int) -> ToolAnswer:
        # Of many nodes the findings name those that matter.
        kept = nodes[: min(many, 4 * shown + _NODES)]
        out = len(rows) - shown
        following = f'review(job="{job}", detail="full")' if out and detail == "brief" else None
        lines = [*_head(report, quotes), *_findings(rows[:shown], out, following)]
        lines += _nodes(kept, len(nodes))
        if detail == "full":
            lines += _time(report)
        lines += [f"Unknown: {said}" for said in data["unknown"]]
        lines.append(_cost_of_review(report))
        if rows:
            lines.append(f'Next: evidence(job="{job}", finding="{rows[0]["id"]}").')
        told = {**data, "findings": rows[:shown], "nodes": kept, "left_out": out, "next": following}
        return ToolAnswer("\n".join(lines), json_types(told))

    return fitted(make, most, CAPS[detail])


def range_of(found: tuple[float, float, float] | None) -> Range | None:
    return None if found is None else {"low": round(found[0], 2), "mid": round(found[1], 2), "high": round(found[2], 2)}


def verdict_of(report: Report, quotes: Quotes) -> str:
    return quotes.marked(clipped(judge(report).headline, 160))


def _figures(report: Report, quotes: Quotes) -> dict[str, Any]:
    steps, cost = report.steps, report.cost
    # What is not known of the price is said beside the cost.
    missing = [gap.sentence for gap in report.gaps if gap.what != "price"]
    gaps = [quotes.marked(clipped(said, 200)) for said in missing]
    kept = list(dict.fromkeys(gaps))[:_GAPS]
    return {
        "status": report.job.status,
        "level": judge(report).level,
        "verdict": verdict_of(report, quotes),
        "step_median_s": None if steps is None else steps.median_s,
        "steps_done": None if steps is None else steps.done,
        "steps_total": None if steps is None else steps.total,
        "seconds_to_finish": None if steps is None else range_of(steps.seconds_to_finish),
        "cost_usd": cost.usd,
        "overhead_usd": cost.overhead_usd,
        "recoverable_usd": cost.recoverable_usd_per_hour if report.job.is_running else cost.recoverable_usd,
        "unknown": kept,
    }


def _head(report: Report, quotes: Quotes) -> list[str]:
    judged, steps = judge(report), report.steps
    lines = [
        " · ".join([quotes.marked(report.job.name), status_word(report.job.status), *facts(report)]),
        f"Verdict: {judged.level}: {verdict_of(report, quotes)}",
    ]
    if judged.unexplained:
        lines.append(quotes.marked(clipped(judged.detail, 400)))
    if steps is not None:
        done = "" if steps.done is None else f"step {steps.done:,}{f' of {steps.total:,}' if steps.total else ''}, "
        spread = (
            f"median {step_seconds(steps.median_s)} (p10 {step_seconds(steps.p10_s)}, p90 {step_seconds(steps.p90_s)})"
        )
        lines.append(f"Steps: {done}{spread}, on {count(steps.nodes_observed, 'node')}.")
    lines += [quotes.marked(said) for said in (*outlook(report), *cost_words(report)) if said]
    return lines


def _findings(rows: list[FindingRow], out: int, following: str | None) -> list[str]:
    lines = [] if rows else ["No findings."]
    for row in rows:
        lines.append(f"- {row['id']} ({row['severity']}, {row['confidence']} confidence): {row['said']}")
        if row["step"]:
            lines.append(f"  Do: {row['step']}")
        if change := row["step_time_change_percent"]:
            low, mid, high = change["low"], change["mid"], change["high"]
            promise = f" The range {row['range']}." if row["range"] else ""
            lines.append(f"  Predicted step time: {mid:+.0f} % ({low:+.0f} to {high:+.0f}), by a model.{promise}")
    if out:
        lines.append(f"{count(out, 'more finding')}: {following or 'evidence(job, finding) has each by its id'}.")
    return lines


def _finding(finding: Finding, quotes: Quotes, longest: int) -> FindingRow:
    advice, prediction = finding.recommendation, finding.prediction
    step = None if advice is None else quotes.marked(clipped(advice.text, longest))
    return {
        "id": finding.id,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "said": quotes.marked(clipped(finding.summary, longest)),
        "step": step,
        "step_time_change_percent": None if prediction is None else range_of(prediction.step_time_change_percent),
        "range": None if prediction is None else prediction.promise or None,
    }


def _node(stats: NodeStats) -> NodeRow:
    median = None if stats.steps is None else stats.steps.median_s
    return {
        "node": stats.node.name,
        "gpu": _mean(stats.gpu_utilization),
        "gpu_memory": _mean(stats.gpu_memory_utilization),
        "cpu": _mean(stats.cpu_utilization),
        "step_s": None if median is None else round(median, 4),
    }


def _mean(found: Distribution | None) -> float | None:
    return None if found is None else round(found.mean, 1)


def _nodes(rows: list[NodeRow], of: int) -> list[str]:
    if not rows:
        return []
    lines = ["node | GPU % | GPU memory % | CPU % | step s"]
    for row in rows:
        values = (row["gpu"], row["gpu_memory"], row["cpu"], row["step_s"])
        lines.append(" | ".join([row["node"], *(DASH if value is None else f"{value:g}" for value in values)]))
    return [*lines, *([f"{of - len(rows)} more nodes; findings name those that differ."] if of > len(rows) else [])]


def _time(report: Report) -> list[str]:
    spent = [f"{phase(each.name)} {duration(each.seconds)} ({usd(each.cost_usd)})" for each in report.buckets]
    good = [] if report.goodput is None else [f"Goodput {percent(100 * report.goodput)}."]
    return [*([f"Time: {', '.join(spent)}."] if spent else []), *good]


def _cost_of_review(report: Report) -> str:
    calls = sum(report.api.calls.values())
    return (
        f"This review: {count(calls, 'call')} to AWS, {about_usd(report.api.estimated_usd)}."
        if calls
        else "No calls to AWS."
    )
