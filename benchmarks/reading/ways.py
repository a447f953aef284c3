"""One job both ways, at every report: what differs in the end, and what broke on the way?"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from io import StringIO
from typing import Any

import pandas as pd
from rich.console import Console

from benchmarks.account import Running
from benchmarks.reading.served import Served, ServedSource
from monitor.archive.document import as_json, report_document
from monitor.aws.clients import Clients
from monitor.cli.report import print_report
from monitor.export.layout import html, markdown
from monitor.model import Report
from monitor.review import ReportPace, Reviewer

#: A report after every page.
EVERY_PAGE = ReportPace(every_s=0.0, share=1.0)
#: What is of the reading itself.
_OF_THE_READING = {"api", "api_total"}

Say = Callable[[Report], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one job."""

    name: str
    lines: int
    reports: int
    """Made on the way, all looks together."""
    troubles: tuple[str, ...]
    """Exceptions, and the places where the last reports differ."""
    withdrawn: tuple[str, ...] = ()
    """Findings that asked for action while older lines came in, and that were not there in the end."""


def both_ways(
    served: Served,
    aws: Running,
    looks: Sequence[datetime] = (),
    first: Say = lambda report: None,
    pace: ReportPace = EVERY_PAGE,
) -> Outcome:
    """The job at each of the ``looks`` (else at its own moment): one reviewer reads on newest first, another anew from the
    head. ``first`` is told of the first report. Raises nothing."""
    moment = [served.now]
    newest_first = _reviewer(served, moment, pace)
    made, troubles, said, withdrawn = 0, [], set[str](), set[str]()
    for now in looks or (served.now,):
        moment[0] = now
        aws.set_clock(now.timestamp() * 1000)
        last: Report | None = None
        try:
            for last in newest_first.reviews(lambda: moment[0]):
                made += 1
                shown(last)
                troubles += [f"{served.name}: {gap.why}" for gap in last.faults]
                said |= {finding.id for finding in last.warnings}
                if made == 1:
                    first(last)
            whole = _reviewer(served, moment, pace).review(now)
            assert last is not None
            withdrawn |= said - {finding.id for finding in last.findings}
            said = set()
            troubles += [f"{served.name}: {where}" for where in differences(last, whole)]
        except Exception:  # what breaks is what is looked for
            troubles.append(f"{served.name}: {_last_lines(traceback.format_exc())}")
    return Outcome(served.name, served.lines, made, tuple(troubles), tuple(sorted(withdrawn)))


def shown(report: Report) -> None:
    """All that is made of a report for people and programs, but for the dashboard's own; errors pass."""
    print_report(report, Console(file=StringIO(), width=120))
    as_json(report_document(report))
    markdown(report)


def pictured(report: Report) -> None:
    """The report's page with its charts."""
    html(report, report.reviewed_at)


def _reviewer(served: Served, moment: list[datetime], pace: ReportPace) -> Reviewer:
    return Reviewer(ServedSource(served, Clients(), lambda: moment[0]), served.name, pace=pace)


def differences(one: Any, other: Any, where: str = "") -> Iterator[str]:
    """The places where two values differ, down to fields, rows and items."""
    if isinstance(one, pd.DataFrame) and isinstance(other, pd.DataFrame):
        try:
            pd.testing.assert_frame_equal(one, other, check_exact=True)
        except AssertionError as error:
            yield f"{where}: {' '.join(str(error).split())[:300]}"
    elif type(one) is not type(other):
        yield f"{where}: {type(one).__name__} and {type(other).__name__}"
    elif is_dataclass(one):
        for field in fields(one):
            if not (isinstance(one, Report) and field.name in _OF_THE_READING):
                yield from differences(getattr(one, field.name), getattr(other, field.name), f"{where}.{field.name}")
    elif isinstance(one, dict):
        if one.keys() != other.keys():
            yield f"{where}: keys {sorted(one.keys() ^ other.keys(), key=str)}"
        for key in one.keys() & other.keys():
            yield from differences(one[key], other[key], f"{where}[{key!r}]")
    elif isinstance(one, (tuple, list)):
        if len(one) != len(other):
            yield f"{where}: {len(one)} and {len(other)} items"
        for place, pair in enumerate(zip(one, other, strict=False)):
            yield from differences(*pair, f"{where}[{place}]")
    elif one != other and not (one != one and other != other):
        yield f"{where}: {one!r} and {other!r}"[:300]


def _last_lines(trace: str) -> str:
    return " | ".join(line.strip() for line in trace.strip().splitlines()[-5:])
