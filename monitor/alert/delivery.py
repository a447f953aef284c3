"""Who is notified of what a look at a job brings: the terminal as long as this process runs, others through the ledger. What
it still holds for a sink is sent in order, one process at a time, again and again until it arrives."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from monitor.alert.conditions import AlertRule
from monitor.alert.evaluate import RuleVerdict
from monitor.alert.ledger import COLUMNS, Ledger, Pending, SetAside, durable, trouble_of
from monitor.alert.locks import LockAttempt, taking_turns
from monitor.alert.message import Message, id_of
from monitor.alert.news import AlertContext, news
from monitor.alert.sinks import NotSent, Refused, exec_sink, sender
from monitor.alert.sinks.names import Sink, address_of, sink_of
from monitor.errors import BadCall, CannotDo
from monitor.faults import fault

#: Waits between tries in one call; after that the message waits in the ledger.
AT_ONCE_S = (1.0, 4.0)
_FIRST_WAIT_S, _LONGEST_WAIT_S = 15.0, 900.0
# A message that was tried so often in so long a time stands in the way of the others no longer.
_MOST_TRIES, _LONGEST_S = 20, 7 * 86400.0
# Another process that is sending to the same sink takes what is there for both.
_LOCK_WAIT_S = 60.0


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """What became of the messages for one sink."""

    sink: Sink
    sent: int = 0
    waiting: int = 0
    trouble: str = ""
    refused: tuple[SetAside, ...] = ()
    """What was set aside now."""
    holder: str = ""
    """Who is sending to the sink instead, in words."""


def key_of(sink: Sink) -> str:
    """How the ledger calls a sink: without the secret that may be in its text."""
    return f"{sink.shown} {id_of(sink.text)[:16]}"


def check(sink: Sink) -> None:
    """BadCall where the address or the program that a sink needs is not there."""
    if sink.kind in {"slack", "webhook"}:
        address_of(sink)
    if sink.kind == "exec":
        exec_sink.check(sink)


def checked(texts: Iterable[str], remark: str) -> tuple[Sink, ...]:
    """The sinks of these texts, each once, for a command that prints its result anyway: BadCall with ``remark`` for stdout, and
    where one cannot be used."""
    found = tuple(dict.fromkeys(map(sink_of, texts)))
    if any(sink.kind == "stdout" for sink in found):
        raise BadCall(remark, "Leave out --notify stdout.")
    for sink in found:
        check(sink)
    return found


def write_down(book: Ledger, message: Message, sinks: Iterable[Sink], now_s: float) -> None:
    """Notes that each is to get the message; what was written down before stays as it is."""
    with book.change():
        for sink in sinks:
            book.add(message, key_of(sink), now_s)


def deliver(
    ledger: Ledger,
    sink: Sink,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.time,
    at_once_s: tuple[float, ...] = AT_ONCE_S,
    *,
    what: str = "",
) -> DeliveryResult:
    """Sends what the sink has not got. The first message that cannot be sent now ends it: the receiver is down.

    ``what`` is what other processes are told of this one meanwhile.
    """
    if ledger.path is None:
        return _sent(ledger, sink, LockAttempt(True), sleep, clock, at_once_s)
    lock = Path(f"{ledger.path}.{id_of(key_of(sink))[:12]}.lock")
    try:
        with taking_turns(lock, what, _LOCK_WAIT_S, sleep) as turn:
            return _sent(ledger, sink, turn, sleep, clock, at_once_s)
    except OSError as error:
        raise CannotDo(
            f"The ledger of alerts {ledger.path} cannot be used: {error.strerror}.", "Check the rights of its folder."
        ) from None


def _sent(
    ledger: Ledger,
    sink: Sink,
    turn: LockAttempt,
    sleep: Callable[[float], None],
    clock: Callable[[], float],
    at_once_s: tuple[float, ...],
) -> DeliveryResult:
    key, sent, trouble = key_of(sink), 0, ""
    refused: list[SetAside] = []
    while turn.mine and not trouble:
        waiting = ledger.pending(key, clock())
        if not waiting:
            break
        try:
            trouble = _send(ledger, waiting[0], sink, sleep, clock, at_once_s)
            sent += not trouble
        except Refused as error:
            refused.append(ledger.refuse(waiting[0], clock(), str(error)))
    return DeliveryResult(sink, sent, ledger.count_pending(key), trouble, tuple(refused), turn.holder)


def _send(
    ledger: Ledger,
    pending: Pending,
    sink: Sink,
    sleep: Callable[[float], None],
    clock: Callable[[], float],
    at_once_s: tuple[float, ...],
) -> str:
    """Sends one message; what was in the way for now, or nothing. Refused where it is no use to try again."""
    for wait_s in (*at_once_s, None):
        try:
            sender(sink)(pending.message, sink)
        except (NotSent, BadCall) as error:
            again = isinstance(error, NotSent) and error.try_soon and not error.wait_s
            if again and wait_s is not None:
                sleep(wait_s)
                continue
            if pending.tries >= _MOST_TRIES and clock() - pending.created >= _LONGEST_S:
                raise Refused(f"{error}, tried {pending.tries + 1} times in {_LONGEST_S / 86400:.0f} days") from None
            later_s = min(_FIRST_WAIT_S * 2.0 ** min(pending.tries, 16), _LONGEST_WAIT_S)
            if isinstance(error, NotSent):
                later_s = max(later_s, error.wait_s)
            ledger.failed(pending, clock() + later_s, str(error))
            return str(error)
        except Refused:
            raise
        except Exception as error:  # a bug on one message must not cost the others
            raise Refused(str(fault(error, "Sending an alert"))) from error
        ledger.sent(pending, clock())
        return ""
    raise AssertionError("the last try has no wait behind it")


@dataclass(frozen=True, slots=True)
class Undelivered:
    """What a ledger keeps that reached nobody."""

    refused: tuple[SetAside, ...] = ()
    """Messages that were set aside, the newest first."""
    damaged: tuple[str, ...] = ()
    """Rows that were left out, as "row 7 of deliveries: its message is cut off or changed"."""


def undelivered(path: Path) -> Undelivered:
    """Of that ledger; nothing where there is none yet. CannotDo where it cannot be read."""
    if not path.exists():
        return Undelivered()
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            db.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
            return _seen(db)
    except sqlite3.Error as error:
        raise CannotDo(f"The ledger of alerts {path} cannot be read: {error}.", "Look at its folder.") from error


def _seen(db: sqlite3.Connection) -> Undelivered:
    tables = {row[0] for row in db.execute("select name from sqlite_master")}
    if not {"deliveries", "damaged"} <= tables:
        return Undelivered()  # of an earlier version, which set nothing aside
    names = [*COLUMNS["deliveries"]]
    query = (
        f"select {', '.join(names)} from deliveries where sent is null and refused is not null order by refused desc"
    )
    rows = [dict(zip(names, row, strict=True)) for row in db.execute(query)]
    refused = [SetAside.of_row(row) for row in rows if not trouble_of("deliveries", row)]
    damaged = [f"row {row[0]} of {row[1]}: {row[2]}" for row in db.execute("select place, origin, why from damaged")]
    return Undelivered(tuple(refused), tuple(damaged))


_TERMINAL = "stdout"
_Answer = TypeVar("_Answer")


class RuleSinks:
    """The sinks of some rules. ``sinks`` are of all of them, beside each rule's own; a rule without any prints.

    Made before anything is judged: BadCall where a sink cannot be used, CannotDo where the ledger cannot.
    """

    def __init__(
        self,
        rules: Sequence[AlertRule],
        sinks: Sequence[str],
        ledger: Path | None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        by_rule = {rule.name: _different([*sinks, *rule.notify]) for rule in rules}
        self._printed = {name: (_TERMINAL,) for name, mine in by_rule.items() if not mine or Sink("stdout") in mine}
        self._sent: Mapping[str, tuple[Sink, ...]] = {
            name: tuple(sink for sink in mine if sink.kind != "stdout") for name, mine in by_rule.items()
        }
        self.sinks = _unique(sink for mine in self._sent.values() for sink in mine)
        for sink in self.sinks:
            check(sink)
        self._here = Ledger()
        self.ledger = ledger
        self._ledger = Ledger(durable(ledger)) if self.sinks else None
        if self._ledger is not None:
            self._ledger.forget(clock())
        self._sleep, self._clock = sleep, clock
        self._job = ""
        self.trouble = ""
        """Why the ledger could not be used since the last look; "" where it could."""

    def record(self, context: AlertContext, verdicts: Sequence[RuleVerdict]) -> tuple[Message, ...]:
        """Writes down what is new for the sinks, and gives what is new to be printed.

        A ledger that cannot be used (``trouble``) loses nothing: what is new then is new at the next look, too.
        """
        self.trouble, self._job = "", context.job.name
        if self._ledger is not None:
            sent = [verdict for verdict in verdicts if self._sent[verdict.rule.name]]
            keys = {name: tuple(map(key_of, mine)) for name, mine in self._sent.items()}
            try:
                news(self._ledger, context, sent, keys)
            except CannotDo as error:
                self.trouble = str(error)
        printed = [verdict for verdict in verdicts if verdict.rule.name in self._printed]
        return news(self._here, context, printed, {})

    def deliver(self) -> tuple[DeliveryResult, ...]:
        """Sends what the ledger holds for these sinks, that of earlier processes too."""
        if self._ledger is None:
            return ()
        outcomes, what = [], f"alert on {self._job}"
        for sink in self.sinks:
            try:
                outcomes.append(deliver(self._ledger, sink, self._sleep, self._clock, what=what))
            except CannotDo as error:
                self.trouble = str(error)
        return tuple(outcomes)

    def set_aside(self) -> tuple[SetAside, ...]:
        """What these sinks refused for good, now or before."""
        keys = set(map(key_of, self.sinks))
        return tuple(aside for aside in self._from_ledger(Ledger.set_aside) if aside.sink in keys)

    def damage(self) -> tuple[str, ...]:
        """A sentence for each damaged row of the ledger that nobody was told of."""
        return tuple(self._from_ledger(Ledger.damage))

    def _from_ledger(self, ask: Callable[[Ledger], list[_Answer]]) -> list[_Answer]:
        try:
            return [] if self._ledger is None else ask(self._ledger)
        except CannotDo as error:
            self.trouble = str(error)
            return []


def _different(texts: Sequence[str]) -> tuple[Sink, ...]:
    return _unique(sink_of(text) for text in texts)


def _unique(sinks: Iterable[Sink]) -> tuple[Sink, ...]:
    return tuple(dict.fromkeys(sinks))
