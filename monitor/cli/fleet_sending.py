"""A fleet's report to the sinks that alerts have: each window once, however often it is made, and again until it arrives."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from monitor.alert.delivery import checked, deliver, write_down
from monitor.alert.ledger import Ledger, durable, ledger_file
from monitor.cli.alert_undelivered import not_sent, refusals
from monitor.errors import CannotDo
from monitor.fleet.report import FleetReport
from monitor.review.fleet_message import RULE, message_of


def send(
    report: FleetReport,
    sinks: Sequence[str],
    ledger: Path | None,
    public_url: str,
    now: datetime,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """The exit code: 3 where a sink has not got it. What could not be sent waits in the ledger for the next call."""
    found = checked(sinks, "The report is printed anyway.")
    book = Ledger(durable(ledger or ledger_file()))
    write_down(book, message_of(report, public_url, now), found, now.timestamp())
    outcomes = [deliver(book, sink, sleep, what=RULE) for sink in found]
    troubles = [sentence for outcome in outcomes for sentence in refusals(outcome)]
    troubles += [not_sent(outcome) for outcome in outcomes if outcome.waiting]
    for sentence in troubles:
        print(f"trainwatch: {sentence}", file=sys.stderr)
    return CannotDo.exit_code if troubles else 0
