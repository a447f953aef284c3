"""``evidence``: the figures and lines behind a finding, or lines of a job's log, a page at a time."""

from __future__ import annotations

from collections.abc import Callable

from monitor.agents.desk import Desk
from monitor.agents.log_lines import numbered_lines, of_events, of_pages, timed_lines
from monitor.agents.quoting import Answer, Quotes, clipped, fitted, quote, quotes_of
from monitor.agents.shapes import CAP, TELLS, Fact, fact_line, iso
from monitor.archive.document import plain
from monitor.errors import BadCall
from monitor.model import Evidence, Report
from monitor.review import Progress

MOST_LINES = 200
_OF_AN_ARCHIVE = (
    "An archive keeps no log: these are the lines that its report rests on. CloudWatch may still have all of them."
)


def evidence(
    desk: Desk,
    job: str,
    finding: str,
    find: str,
    node: str,
    at: str,
    limit: int,
    cursor: str,
    say: Progress,
    given_up: Callable[[], bool],
) -> Answer:
    """What is behind a finding where one is named, else lines: those with ``find``, those around ``at``, else the newest."""
    if finding and not (find or at):
        return _of_finding(desk, job, finding, limit, cursor, say, given_up)
    return _lines(desk, job, find, node, at, cursor, limit, say, given_up)


def _of_finding(
    desk: Desk, job: str, name: str, limit: int, cursor: str, say: Progress, given_up: Callable[[], bool]
) -> Answer:
    report = desk.report(job, say, given_up)
    finding = next((each for each in report.findings if each.id == name), None)
    if finding is None:
        ids = ", ".join(each.id for each in report.findings) or "none"
        raise BadCall(f"The review of {job} has no finding {clipped(name, 60)}.", f"It has: {ids}.")
    if cursor and not cursor.isdecimal():
        raise BadCall(f"{clipped(cursor, 60)} is no cursor of a finding.", "Leave it out to begin with its first fact.")
    quotes = quotes_of(report)
    first = int(cursor or 0)
    lines = _ids(report)
    facts = [_fact(each, lines, quotes) for each in finding.evidence[first:]]
    most = min(len(facts), limit)
    head = [
        f"{finding.id} ({finding.severity}, {finding.confidence} confidence): {quotes.marked(clipped(finding.summary, 900))}"
    ]
    if finding.recommendation:
        head.append(f"Do: {quotes.marked(clipped(finding.recommendation.whole, 900))}")
    if finding.recommendation and finding.recommendation.source:
        head.append(f"Source: {clipped(finding.recommendation.source, 200)}")
    head += [f"Not checked: {clipped(each, 200)}" for each in finding.not_checked]
    places = [place for fact in facts if (place := fact["id"] or fact["time"])]
    foot = [f'Lines around it: evidence(job="{job}", at="{places[0]}").'] if places else []

    def make(shown: int) -> Answer:
        out = len(facts) - shown
        following = f"{first + shown}" if out else None
        lines = [
            *head,
            *([TELLS] if any(each["quoted"] for each in facts[:shown]) else []),
            *map(fact_line, facts[:shown]),
        ]
        if following:
            lines.append(f'{out} more facts: cursor="{following}".')
        return Answer(
            "\n".join([*lines, *foot]),
            plain({"job": job, "facts": facts[:shown], "left_out": out, "next": following}),
        )

    return fitted(make, most, CAP)


def _ids(report: Report) -> dict[str, str]:
    """Text of a line -> its id, where lines have numbers and no times by which they are read."""
    if report.job.source != "logs" and not report.archive:
        return {}
    return {line.text: line.id for line in reversed([*of_events(report)])}


def _fact(each: Evidence, ids: dict[str, str], quotes: Quotes) -> Fact:
    value = each.value
    shown = (
        None if value is None else quote(value, 120) if isinstance(value, str) else f"{value:.6g} {each.unit}".strip()
    )
    return {
        "id": ids.get(each.line or ""),
        "time": None if each.start is None else iso(each.start),
        "node": each.node,
        "what": quotes.marked(each.label),
        "value": shown,
        "quoted": None if each.line is None else quote(each.line),
    }


def _lines(
    desk: Desk,
    name: str,
    find: str,
    node: str,
    at: str,
    cursor: str,
    limit: int,
    say: Progress,
    given_up: Callable[[], bool],
) -> Answer:
    source, job_name = desk.source(name)
    if source.lines is not None:
        return timed_lines(source.lines, source.job(job_name), find, node, at, cursor, limit)
    if source.gives == "pages":
        return numbered_lines(of_pages(source, job_name), name, find, node, at, cursor, limit)
    kept = of_events(desk.report(name, say, given_up))
    return numbered_lines(kept, name, find, node, at, cursor, limit, _OF_AN_ARCHIVE)
