"""``alert --resend``: alerts that a receiver refused are sent again, once what was in the way is gone."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from monitor.alert.conditions import Rule
from monitor.alert.delivery import Outcome, check, deliver, key_of
from monitor.alert.document import SCHEMA
from monitor.alert.ledger import Ledger, SetAside
from monitor.alert.sinks.names import Sink, sink_of
from monitor.cli import output
from monitor.cli.alert_undelivered import not_sent, print_set_aside, refusals, undelivered
from monitor.errors import BadCall, CannotDo
from monitor.words import count


def run_resend(arguments: argparse.Namespace, rules: Sequence[Rule], path: Path) -> int:
    """Sends again what was set aside for the sinks of the call (with ids: these messages, to these sinks), and lists the rest."""
    sinks = _sinks(arguments, rules)
    ledger, now = Ledger(path), time.time()
    ledger.forget(now)
    chosen = _named(ledger.set_aside(), arguments.resend, path)
    if arguments.resend and not sinks:
        raise BadCall("--resend was given an alert and nobody to send it to.", "Name the sink with --notify.")
    keys = {key_of(sink) for sink in sinks}
    for aside in chosen:
        if arguments.resend or aside.sink in keys:
            ledger.try_again(aside, sorted(keys) if arguments.resend else [aside.sink], now)
    outcomes = [deliver(ledger, sink, what="alert --resend") for sink in sinks]
    asides = ledger.set_aside()
    _print(arguments, path, outcomes, asides)
    troubles = [*ledger.damage(), *(sentence for outcome in outcomes for sentence in refusals(outcome))]
    troubles += [not_sent(outcome) for outcome in outcomes if outcome.waiting]
    for sentence in troubles:
        print(f"trainwatch: {sentence}", file=sys.stderr)
    return CannotDo.exit_code if any(outcome.waiting or outcome.refused for outcome in outcomes) else 0


def _sinks(arguments: argparse.Namespace, rules: Sequence[Rule]) -> tuple[Sink, ...]:
    texts = [*arguments.notify, *(text for rule in rules for text in rule.notify)]
    found = tuple(dict.fromkeys(sink for sink in map(sink_of, texts) if sink.kind != "stdout"))
    for sink in found:
        check(sink)
    return found


def _named(asides: Sequence[SetAside], ids: Sequence[str], ledger: Path) -> list[SetAside]:
    """All of them where no id is given; an id may be cut as long as it is one message's alone."""
    chosen: list[SetAside] = []
    for id in ids:
        found = [aside for aside in asides if aside.message.id.startswith(id)]
        if not found:
            raise BadCall(f"No alert {id} is set aside in {ledger}.", "alert --resend without an id lists them.")
        if len({aside.message.id for aside in found}) > 1:
            raise BadCall(f"{len(found)} alerts begin with {id}.", "Write more of the id.")
        chosen += found[:1]
    return chosen if ids else [*asides]


def _print(
    arguments: argparse.Namespace, ledger: Path, outcomes: Sequence[Outcome], asides: Sequence[SetAside]
) -> None:
    sent = sum(outcome.sent for outcome in outcomes)
    if arguments.format == "json":
        document = {"schema": SCHEMA, "sent": sent, **undelivered(outcomes, asides)}
        output.deliver(arguments, output.as_json(document))
        return
    paper = output.paper_for(arguments)
    if outcomes or not asides:
        nothing = "Nothing was sent." if asides else f"Nothing to send in {ledger}."
        paper.print(Text(f"{count(sent, 'alert')} sent." if sent else nothing), soft_wrap=True)
    print_set_aside(asides, ledger, paper)
    if asides and not outcomes:
        paper.print(Text("Name the sinks they are for with --notify, or --rules: their addresses are not kept."))
    output.deliver(arguments, paper)
