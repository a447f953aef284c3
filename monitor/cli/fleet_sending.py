"""A fleet's report to the sinks that alerts have: each window once, however often it is made, and again until it arrives."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from monitor.alert.delivery import check, deliver, key_of
from monitor.alert.ledger import Ledger, durable, ledger_file
from monitor.alert.message import Message, id_of
from monitor.alert.sink_names import sink_of
from monitor.cli.alert_undelivered import not_sent, refusals
from monitor.errors import BadCall, CannotDo
from monitor.export.fleet_markdown import fleet_markdown
from monitor.fleet.report import FleetReport
from monitor.fleet.sections import headline

_RULE = "fleet report"


def send(
    report: FleetReport,
    sinks: Sequence[str],
    ledger: Path | None,
    public_url: str,
    now: datetime,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """The exit code: 3 where a sink has not got it. What could not be sent waits in the ledger for the next call."""
    found = tuple(dict.fromkeys(map(sink_of, sinks)))
    if any(sink.kind == "stdout" for sink in found):
        raise BadCall("The report is printed anyway.", "Leave out --notify stdout.")
    for sink in found:
        check(sink)
    book = Ledger(durable(ledger or ledger_file()))
    message = message_of(report, public_url, now)
    with book.change():
        for sink in found:
            book.add(message, key_of(sink), now.timestamp())
    outcomes = [deliver(book, sink, sleep, what=_RULE) for sink in found]
    troubles = [sentence for outcome in outcomes for sentence in refusals(outcome)]
    troubles += [not_sent(outcome) for outcome in outcomes if outcome.waiting]
    for sentence in troubles:
        print(f"trainwatch: {sentence}", file=sys.stderr)
    return CannotDo.exit_code if troubles else 0


def message_of(report: FleetReport, public_url: str, now: datetime) -> Message:
    """One message a window, archive and kind of owner: whoever makes the report again sends nothing again."""
    first, *others = headline(report)
    window = report.window
    return Message(
        id=id_of("fleet", report.archive, window.start, window.end, report.by),
        kind="report",
        job="",
        status=None,
        rule=_RULE,
        when=f"{window.name} by {report.by}",
        severity="info",
        node=None,
        finding=None,
        since=window.begins.isoformat(),
        at=now.isoformat(),
        value=None,
        limit=None,
        unit="",
        title=f"GPU-hours {window.name}: {first}",
        text="\n".join([*others, "", fleet_markdown(report)]),
        link=f"{public_url}/fleet" if public_url else None,
    )
