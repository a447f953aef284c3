"""``watch``: what is new of a running job; waits for a condition, for news, or for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from monitor.agents.account_session import FRESH, AccountSession, Gone
from monitor.agents.quoting import ToolAnswer, clipped, quotes_of
from monitor.agents.reviewing import range_of, verdict_of
from monitor.alert.conditions import AlertRule, Condition, parse
from monitor.alert.evaluate import judge as evaluated
from monitor.archive.document import json_types
from monitor.diagnose.headline import outlook, status_word
from monitor.diagnose.verdict import judge
from monitor.model import Report
from monitor.review import Progress
from monitor.words import duration

#: Between two looks.
PAUSE_S = FRESH.total_seconds() + 1.0
_FINDINGS = 12


def watch(
    session: AccountSession,
    job: str,
    until: str,
    wait_s: float,
    state: str,
    say: Progress,
    given_up: Callable[[], bool],
    sleep: Callable[[float], None] = time.sleep,
) -> ToolAnswer:
    """Looks at a job until ``until`` holds (without one: until something is new), it has ended, or the time is over."""
    when = parse(until) if until else None
    end = time.monotonic() + wait_s
    begun, looks = state, 0
    while True:
        report = session.report(job, say, given_up)
        begun, looks = begun or state_of(report), looks + 1
        if why := _why(report, when, until, begun, time.monotonic() >= end, wait_s):
            return _answer(job, report, why, begun)
        say(f"look {looks}: {judge(report).headline}")
        pause_until = min(end, time.monotonic() + PAUSE_S)
        while (left_s := pause_until - time.monotonic()) > 0:
            if given_up():
                raise Gone
            sleep(min(0.2, left_s))


def state_of(report: Report) -> str:
    """What is known of a job, as words that another call takes: status, level and findings."""
    asks = "+".join(finding.id for finding in report.warnings) or "none"
    return f"{report.job.status}/{judge(report).level}/{asks}"


def _why(report: Report, when: Condition | None, until: str, begun: str, late: bool, wait_s: float) -> str:
    if when is not None:
        verdict = evaluated(report, AlertRule("until", when, until), datetime.now(UTC))
        if verdict.state == "firing":
            return f"the condition holds: {until}"
    if not report.job.is_running:
        return "the job is over"
    if when is None and state_of(report) != begun:
        return "something is new"
    return f"{duration(wait_s)} are over" if late else ""


def _answer(job: str, report: Report, why: str, begun: str) -> ToolAnswer:
    quotes, steps, now = quotes_of(report), report.steps, state_of(report)
    before = set(begun.rpartition("/")[2].split("+"))
    asks = [finding.id for finding in report.warnings][:_FINDINGS]
    new = [name for name in asks if name not in before]
    gone = sorted(before - set(asks) - {"none"})
    lines = [
        f"{quotes.marked(report.job.name)}: {status_word(report.job.status)}; returned because {clipped(why, 160)}.",
        f"Verdict: {judge(report).level}: {verdict_of(report, quotes)}",
    ]
    if steps is not None and steps.done is not None:
        lines.append(f"Step {steps.done:,}{f' of {steps.total:,}' if steps.total else ''}.")
    lines += [quotes.marked(clipped(said, 200)) for said in outlook(report)]
    if new:
        lines.append(f"New: {', '.join(new)}.")
    if gone:
        lines.append(f"No longer: {', '.join(clipped(name, 60) for name in gone[:_FINDINGS])}.")
    if report.job.is_running:
        lines.append(f'Next: watch(job="{job}", state="{now}").')
    else:
        lines.append(f'Next: review(job="{job}").')
    data = {
        "job": job,
        "status": report.job.status,
        "why": why,
        "level": judge(report).level,
        "verdict": verdict_of(report, quotes),
        "findings": asks,
        "steps_done": None if steps is None else steps.done,
        "steps_total": None if steps is None else steps.total,
        "seconds_to_finish": None if steps is None else range_of(steps.seconds_to_finish),
        "state": now,
    }
    return ToolAnswer("\n".join(lines), json_types(data))
