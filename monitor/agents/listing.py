"""``jobs``: which jobs there are, and which needs somebody first."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Literal

from monitor.agents.account_session import AccountSession, Gone
from monitor.agents.quoting import ToolAnswer, clipped, fitted, quote, quotes_of
from monitor.agents.shapes import JobRow
from monitor.archive.document import json_types
from monitor.diagnose.headline import status_word
from monitor.diagnose.stakes import stakes_usd
from monitor.diagnose.verdict import Level, by_urgency, judge, urgency_key_of
from monitor.errors import BadCall, TrainwatchError
from monitor.fetch.source import JobQuery, job_query
from monitor.inert import inert
from monitor.model import RUNNING_STATUSES, JobSummary, Report
from monitor.review import Progress
from monitor.words import usd

CAP = 3000
#: Reviews that are not done by then are left for the next call.
ENOUGH_S = 40.0
_AT_ONCE = 4
_LONGEST = 110
_HEAD = "job | status | instances | created | verdict | could save | finding"

Status = Literal["all", "running", "completed", "failed", "stopped"]
Sort = Literal["worst", "newest"]


def jobs(
    session: AccountSession,
    status: Status,
    name_contains: str,
    since: str,
    sort: Sort,
    limit: int,
    cursor: str,
    say: Progress,
    given_up: Callable[[], bool],
) -> ToolAnswer:
    """One page of the list; the jobs of a page are reviewed where ``sort`` is by what is wrong with them."""
    now = datetime.now(UTC)
    wanted = None if status == "all" else status
    query = job_query(wanted, name_contains or None, since or None, now, limit)
    found, more = _listed(
        session, JobQuery(query.status, query.name_contains, query.created_after, limit, _before(cursor))
    )
    told = _reviewed(session, by_urgency(found, now), say, given_up) if sort == "worst" else {}
    rows = [_row(job, told.get(job.name), session) for job in _ordered(found, told)]
    last = min((job.created for job in found if job.created), default=None)
    following = json_types(last) if more else None
    remedies = {each.remedy: None for each in told.values() if isinstance(each, TrainwatchError) and each.remedy}
    waiting = sum(row["level"] is None for row in rows) if sort == "worst" else 0

    def make(shown: int) -> ToolAnswer:
        out = len(rows) - shown
        lines = [_HEAD, *(_line(row) for row in rows[:shown])] if rows else ["No training job matches."]
        if out:
            lines.append(f"{out} more on this page are left out: ask with limit={shown}, then go on with its cursor.")
        if waiting:
            lines.append(f"{waiting} not reviewed yet: ask again, or review(job=…).")
        lines += [inert(clipped(remedy, 200)) for remedy in [*remedies][:2]]
        if following and not out:
            lines.append(f'Older jobs match: cursor="{following}".')
        if rows:
            lines.append(f'Next: review(job="{rows[0]["name"]}").')
        data = {"jobs": rows[:shown], "left_out": out, "next": following if not out else None}
        return ToolAnswer("\n".join(lines), data)

    return fitted(make, len(rows), CAP)


def _before(cursor: str) -> datetime | None:
    if not cursor:
        return None
    try:
        return datetime.fromisoformat(cursor)
    except ValueError:
        raise BadCall(
            f"{clipped(cursor, 60)} is no cursor of jobs.", "Leave it out to begin with the newest."
        ) from None


def _listed(session: AccountSession, query: JobQuery) -> tuple[tuple[JobSummary, ...], bool]:
    """(the jobs, whether older ones match)."""
    found = session.account().find(query)
    return found.jobs, found.more


def _reviewed(
    session: AccountSession, found: list[JobSummary], say: Progress, given_up: Callable[[], bool]
) -> dict[str, Report | TrainwatchError]:
    """The jobs that could be reviewed in time, or why not; a few at once, the most urgent first."""
    told: dict[str, Report | TrainwatchError] = {}
    until = time.monotonic() + ENOUGH_S

    def late() -> bool:
        return given_up() or time.monotonic() > until

    def review(job: JobSummary) -> None:
        if late():
            return
        try:
            told[job.name] = session.report(job.name, given_up=late)
        except Gone:
            return
        except TrainwatchError as error:
            told[job.name] = error
        say(f"{len(told)} of {len(found)} jobs reviewed")

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="review") as pool:
        for done in [pool.submit(review, job) for job in found]:
            done.result()
    return told


def _ordered(found: tuple[JobSummary, ...], reviews: dict[str, Report | TrainwatchError]) -> list[JobSummary]:
    def rank(job: JobSummary) -> tuple[float, ...]:
        report = reviews.get(job.name)
        return urgency_key_of(job, report if isinstance(report, Report) else None)

    return sorted(found, key=rank) if reviews else list(found)


def _row(job: JobSummary, review: Report | TrainwatchError | None, session: AccountSession) -> JobRow:
    level: Level | None = None
    verdict = finding = saved = cost = None
    if isinstance(review, Report):
        judged = judge(review)
        level, verdict = judged.level, quotes_of(review).marked(clipped(judged.headline, _LONGEST))
        finding = review.warnings[0].id if review.warnings else None
        saved, cost = stakes_usd(review), review.cost.usd
    elif isinstance(review, TrainwatchError):
        level, verdict = "unknown", f"Review failed: {inert(clipped(review.message, _LONGEST))}"
    elif session.cache is not None and (
        kept := session.cache.verdicts.of(session.account().endpoint(), job.name, job.created)
    ):
        level, verdict, finding = (kept.level, quote(kept.headline, _LONGEST), kept.finding)  # type: ignore[assignment]
    count = "" if job.instance_count is None else f"{job.instance_count} x "
    row: JobRow = json_types(
        {
            "name": job.name,
            "status": job.status,
            "instances": f"{count}{job.instance_type or 'unknown type'}",
            "created": job.created,
            "level": level,
            "verdict": verdict,
            "finding": finding,
            "recoverable_usd": saved,
            "cost_usd": cost,
        }
    )
    return row


def _line(row: JobRow) -> str:
    verdict = "not reviewed" if row["level"] is None else f"{row['level']}: {row['verdict']}"
    runs = row["status"] in RUNNING_STATUSES
    saved = "?" if row["recoverable_usd"] is None else f"{usd(row['recoverable_usd'])}{'/h' if runs else ''}"
    cells = (
        row["name"],
        status_word(row["status"]),
        row["instances"],
        (row["created"] or "?")[:16],
        verdict,
        saved,
        row["finding"] or "-",
    )
    return " | ".join(cells)
