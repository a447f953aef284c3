"""Alerts for a person at a terminal: verdicts, a line per rule, the firing ones first, and why what is unknown is unknown; and
alerts that did not reach whom they are for: those that wait, and those that were refused for good.

``alert --resend`` sends the refused ones again, once what was in the way is gone.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from monitor.alert.conditions import AlertRule
from monitor.alert.delivery import DeliveryResult, RuleSinks, check, deliver, key_of
from monitor.alert.evaluate import RuleVerdict, value_words, when_words
from monitor.alert.ledger import Ledger, SetAside
from monitor.alert.message import SCHEMA, Message, iso
from monitor.alert.sinks.names import Sink, sink_of
from monitor.cli import output
from monitor.cli.output import Cell, Column, Paper, as_line, on_screen, table
from monitor.errors import BadCall, CannotDo
from monitor.terminal import to_stderr
from monitor.words import DASH, clock, count, instant

#: Of messages, by their kind.
MESSAGE_STYLES = {"firing": "bold red", "resolved": "green", "ended": "yellow"}
STYLES = {"firing": "bold red", "ok": "green", "no data": "yellow"}
_COLUMNS = (
    Column("STATE"),
    Column("RULE", wraps=True),
    Column("NODE", goes=2),
    Column("VALUE"),
    Column("WHEN", goes=1, wraps=True),
)
_ORDER = {"firing": 0, "no data": 1, "ok": 2}


Show = Callable[[Message | Callable[[int], RenderableType]], None]


@contextmanager
def on_watch(form: str) -> Iterator[Show]:
    """How messages and looks are shown: messages as lines of ``form``, ``text`` or ``json``; on a terminal above the last look,
    which stays. A look is what draws it for so many columns; elsewhere nothing is drawn of it."""
    if form == "json" or not sys.stdout.isatty():

        def print_line(what: Message | Callable[[int], RenderableType]) -> None:
            if isinstance(what, Message):
                line = as_line({"type": what.kind, **what.document()}) if form == "json" else message_words(what)
                print(line, flush=True)

        yield print_line
        return
    paper = Paper.on(sys.stdout)
    with on_screen(Live(console=paper, auto_refresh=False, transient=True)) as live:

        def show(what: Message | Callable[[int], RenderableType]) -> None:
            if isinstance(what, Message):
                paper.print(Text(message_words(what), MESSAGE_STYLES[what.kind]))
            else:
                live.update(what(paper.width), refresh=True)

        yield show


def print_verdicts(job: str, verdicts: Sequence[RuleVerdict], now: datetime, paper: Console) -> None:
    paper.print(Text.assemble((job, "bold"), f" · as of {instant(now)}"))
    paper.print(verdict_table(verdicts, paper.width))
    for came_by in dict.fromkeys(verdict.came_by for verdict in verdicts if verdict.came_by):
        paper.print(Text(f"Step times are {came_by}.", "dim"))
    # A lone reason is the sentence on standard error.
    unknown = [verdict for verdict in verdicts if verdict.why]
    alone = len(unknown) == 1 and not any(verdict.firing for verdict in verdicts)
    for verdict in _in_order(verdicts):
        said = verdict.summary or ("" if alone else verdict.why)
        if said:
            paper.print()
            paper.print(Text(verdict.rule.name, "bold"))
            paper.print(Padding(Text(said), (0, 0, 0, 2), expand=False))


def verdict_table(verdicts: Sequence[RuleVerdict], width: int) -> Table:
    """A line a rule."""
    return table(_COLUMNS, [_row(verdict) for verdict in _in_order(verdicts)], width)


def message_words(message: Message) -> str:
    """What a watch says of one message: when, what, and below it the rest."""
    lines = [f"{clock(datetime.fromisoformat(message.at))}  {message.title}", message.text, message.link]
    return "\n".join([lines[0] or "", *(f"           {line}" for line in lines[1:] if line)])


def _row(verdict: RuleVerdict) -> tuple[Cell, ...]:
    critical = ", critical" if verdict.state == "firing" and verdict.rule.severity == "critical" else ""
    worst = verdict.firing[0] if verdict.firing else None
    return (
        Text(f"{verdict.state}{critical}", STYLES[verdict.state]),
        verdict.rule.text,
        _node(verdict),
        value_words(verdict) or DASH,
        when_words(worst.since, worst.until) if worst else "",
    )


def _node(verdict: RuleVerdict) -> str:
    more = len({one.node for one in verdict.firing}) - 1
    return f"{verdict.node or DASH}{f' and {more} more' if more > 0 else ''}"


def _in_order(verdicts: Sequence[RuleVerdict]) -> list[RuleVerdict]:
    return sorted(verdicts, key=lambda verdict: (_ORDER[verdict.state], verdict.rule.severity != "critical"))


# So many messages that were set aside are listed; the others are counted.
_LISTED = 10
RESEND = "alert --resend"


def sentences(sinks: RuleSinks, outcomes: Sequence[DeliveryResult], reported: set[str]) -> Iterator[str]:
    """All that went wrong with one delivery, for standard error. What is in ``reported`` and goes on is not printed again."""
    reported -= {key for key in reported for outcome in outcomes if outcome.sent and key.startswith(outcome.sink.shown)}
    reported &= {
        sinks.trouble,
        *(key for key in reported for sink in sinks.sinks if key.startswith(sink.shown)),
    }
    for outcome in outcomes:
        yield from refusals(outcome)
        key = f"{outcome.sink.shown} {outcome.trouble or outcome.holder}"
        if (outcome.trouble or (outcome.holder and outcome.waiting)) and key not in reported:
            reported.add(key)
            yield not_sent(outcome)
    yield from sinks.damage()
    if sinks.trouble and sinks.trouble not in reported:
        reported.add(sinks.trouble)
        yield sinks.trouble


def not_sent(outcome: DeliveryResult) -> str:
    """What is said of a sink that did not accept its messages, or to which another process is sending."""
    if outcome.holder:
        waiting = count(outcome.waiting, "message waits", "messages wait")
        return f"{outcome.holder} is sending to {outcome.sink.shown}; {waiting} for it, or for the next try."
    waiting = count(outcome.waiting, "message waits", "messages wait")
    return f"{outcome.sink.shown} did not accept an alert ({outcome.trouble}); {waiting} for the next try."


def refusals(outcome: DeliveryResult) -> Iterator[str]:
    """What is said of messages that a sink refused for good, those with the same reason together."""
    for why, found in groupby(sorted(outcome.refused, key=lambda each: each.why), lambda each: each.why):
        first, *more = found
        alerts = f"{1 + len(more)} alerts" if more else "an alert"
        others = f" and {count(len(more), 'other')}" if more else ""
        are, them = ("They are", "them") if more else ("It is", "it")
        yield (
            f"{outcome.sink.shown} did not accept {alerts} and will not ({why.rstrip('.')}): {first.message.title}{others}. "
            f"{are} set aside; {RESEND} sends {them} again."
        )


def print_set_aside(asides: Sequence[SetAside], ledger: Path | None, paper: Console) -> None:
    """The messages that were set aside, if there are any, and how to send them again."""
    if not asides:
        return
    paper.print()
    kept = count(len(asides), "alert that was refused is", "alerts that were refused are")
    again = f"{RESEND} sends {'them' if asides[1:] else 'it'} again:"
    paper.print(Text(f"{kept} set aside in {ledger}; {again}", "yellow"), soft_wrap=True)
    for aside in asides[-_LISTED:]:
        at = instant(datetime.fromtimestamp(aside.at, UTC))
        paper.print(Padding(Text(f"{aside.message.id[:8]}  {aside.message.title}"), (0, 0, 0, 2), expand=False))
        paper.print(Padding(Text(f"{aside.shown}: {aside.why}, {at}", "dim"), (0, 0, 0, 12), expand=False))
    if len(asides) > _LISTED:
        paper.print(Text(f"  and {len(asides) - _LISTED} more"))


def undelivered(outcomes: Sequence[DeliveryResult], asides: Sequence[SetAside]) -> dict[str, Any]:
    """The same for machines."""
    return {
        "not_sent": sum(outcome.waiting for outcome in outcomes),
        "set_aside": [set_aside_document(aside) for aside in asides],
    }


def set_aside_document(aside: SetAside) -> dict[str, Any]:
    """One message that was refused for good."""
    at = iso(datetime.fromtimestamp(aside.at, UTC))
    message = aside.message
    return {
        "id": message.id,
        "sink": aside.shown,
        "job": message.job,
        "title": message.title,
        "why": aside.why,
        "at": at,
    }


def run_resend(arguments: argparse.Namespace, rules: Sequence[AlertRule], path: Path) -> int:
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
        to_stderr(sentence)
    return CannotDo.exit_code if any(outcome.waiting or outcome.refused for outcome in outcomes) else 0


def _sinks(arguments: argparse.Namespace, rules: Sequence[AlertRule]) -> tuple[Sink, ...]:
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
    arguments: argparse.Namespace, ledger: Path, outcomes: Sequence[DeliveryResult], asides: Sequence[SetAside]
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
