"""``alert --all-accounts --watch``: looks at all running jobs of many accounts again and again, until Ctrl-C.

Jobs that begin are looked at from then on, those that end are judged once their last figures are there. An account that could
not be read, and a sink that takes nothing, are said once, and tried again at each look.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from rich.live import Live
from rich.text import Text

from monitor.alert.conditions import Rule
from monitor.alert.delivery import Outcome
from monitor.alert.ledger import SetAside
from monitor.alert.message import Message
from monitor.alert.telling import Telling
from monitor.aws.calls import metered
from monitor.cli.accounts import say_missing
from monitor.cli.alert_across import CROSSED, NOT_DONE, Desk, Judged, summary
from monitor.cli.alert_text import MESSAGE_STYLES, message_words
from monitor.cli.alert_undelivered import print_set_aside, sentences, undelivered
from monitor.cli.alert_watch import SHORTEST_S
from monitor.cli.durations import seconds_of
from monitor.cli.output import as_json, as_line, deliver, paper_for, progress
from monitor.cli.paper import Paper, on_screen
from monitor.review.across import Missing
from monitor.terminal import lost_output
from monitor.words import about_usd, clock, count

Now = Callable[[], datetime]
Sleep = Callable[[float], None]


@dataclass
class _Seen:
    """What a watch has seen so far."""

    judged: list[Judged]
    missing: tuple[Missing, ...]
    at: datetime
    fired: int = 0
    """Messages of thresholds that were crossed, printed or sent."""
    messages: list[Message] = field(default_factory=list)
    outcomes: tuple[Outcome, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    calls: int = 0
    usd: float = 0.0


def run(
    arguments: argparse.Namespace,
    rules: tuple[Rule, ...],
    telling: Telling,
    sleep: Sleep = time.sleep,
    now: Now = lambda: datetime.now(UTC),
) -> int:
    """Watches until nobody reads it any more; 1 where a threshold was crossed. 3 where no account at all can be read first."""
    interval_s = max(SHORTEST_S, seconds_of("--interval", arguments.interval))
    desk = Desk(arguments, rules)
    seen: _Seen | None = None
    told: set[str] = set()
    named: set[str] = set()
    try:
        with metered() as tally, _screen(arguments) as show:
            while True:
                if seen is None:
                    with progress(arguments, "listing jobs") as say:
                        judged, missing = desk.look(now(), say)
                    if len(missing) == len(desk.pairs):
                        say_missing(missing, len(desk.pairs))
                        return NOT_DONE
                else:
                    judged, missing = desk.look(now(), lambda text: None)
                before = seen or _Seen([], (), now())
                new = desk.tell(telling, judged)
                bill = tally.bill()
                seen = _Seen(
                    judged,
                    missing,
                    now(),
                    before.fired + sum(message.kind == "firing" for message in new),
                    [*before.messages, *new],
                    telling.deliver(),
                    telling.set_aside(),
                    sum(bill.calls.values()),
                    bill.estimated_usd,
                )
                _complain(seen, telling, named, told)
                for message in new:
                    show(message, desk)
                show(seen, desk)
                # What it would say from now on reaches nobody; sinks are told to the end.
                if lost_output() is not None and not telling.sinks:
                    break
                sleep(interval_s)
    except KeyboardInterrupt:
        if seen is not None:
            _summary(arguments, desk, seen, telling)
        raise
    _summary(arguments, desk, seen, telling)
    return CROSSED if seen.fired else 0


def _complain(seen: _Seen, telling: Telling, named: set[str], told: set[str]) -> None:
    """What went wrong in this look, each once as long as it goes on."""
    missing = {f"{one.where}: {one.error}" for one in seen.missing}
    unknown = {f"{one.name} of {one.where}: {one.verdicts[0].why}" for one in seen.judged if one.report is None}
    for sentence in sorted((missing | unknown) - named):
        print(f"trainwatch: {sentence}", file=sys.stderr)
    named.intersection_update(missing | unknown)
    named |= missing | unknown
    for sentence in sentences(telling, seen.outcomes, told):
        print(f"trainwatch: {sentence}", file=sys.stderr)


@contextmanager
def _screen(arguments: argparse.Namespace) -> Iterator[Callable[[Message | _Seen, Desk], None]]:
    """How a message or a look is shown: as lines, as JSON lines or, on a terminal, above a line that stays."""
    in_place = arguments.format == "text" and sys.stdout.isatty()
    if not in_place:
        yield lambda what, desk: _line(what, arguments.format)
        return
    paper = Paper.on(sys.stdout)
    with on_screen(Live(console=paper, auto_refresh=False, transient=True)) as live:

        def show(what: Message | _Seen, desk: Desk) -> None:
            if isinstance(what, Message):
                paper.print(Text(message_words(what), MESSAGE_STYLES[what.kind]))
            else:
                live.update(Text(f"{_heading(what, desk)} Ctrl-C ends it.", "dim"), refresh=True)

        yield show


def _line(what: Message | _Seen, form: str) -> None:
    if isinstance(what, Message):
        print(as_line({"type": what.kind, **what.document()}) if form == "json" else message_words(what), flush=True)


def _heading(seen: _Seen, desk: Desk) -> str:
    asked = len(desk.pairs)
    said = summary(seen.judged, asked - len(seen.missing), asked)
    return f"{said}; as of {clock(seen.at)}, {count(seen.calls, 'AWS call')}, {about_usd(seen.usd)}."


def _summary(arguments: argparse.Namespace, desk: Desk, seen: _Seen, telling: Telling) -> None:
    """What was said in all."""
    if arguments.format == "json":
        document = {
            "type": "summary",
            "jobs": len(seen.judged),
            "alerts": [each.document() for each in seen.messages],
            "not_read": [str(one.where) for one in seen.missing],
            "calls": seen.calls,
            "usd": seen.usd,
            **undelivered(seen.outcomes, seen.set_aside),
        }
        if arguments.output is None:
            print(as_line(document), flush=True)
        else:
            deliver(arguments, as_json(document))
        return
    paper = paper_for(arguments)
    paper.print()
    paper.print(Text(f"Watch stopped. {_heading(seen, desk)}", "bold"))
    paper.print(Text(f"{count(seen.fired, 'alert')}." if seen.fired else "No alert."))
    print_set_aside(seen.set_aside, telling.ledger, paper)
    deliver(arguments, paper)
