"""Who is notified of what a look at a job brings: the terminal as long as this process runs, others through the
ledger."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from monitor.alert.conditions import Rule
from monitor.alert.delivery import Outcome, check, deliver, key_of
from monitor.alert.evaluate import Verdict
from monitor.alert.ledger import Ledger, SetAside, durable
from monitor.alert.message import Message
from monitor.alert.news import Look, news
from monitor.alert.sinks.names import Sink, sink_of
from monitor.errors import CannotDo

_TERMINAL = "stdout"
_Answer = TypeVar("_Answer")


class Telling:
    """The sinks of some rules. ``sinks`` are of all of them, beside each rule's own; a rule without any prints.

    Made before anything is judged: BadCall where a sink cannot be used, CannotDo where the ledger cannot.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
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

    def hear(self, look: Look, verdicts: Sequence[Verdict]) -> tuple[Message, ...]:
        """Writes down what is new for the sinks, and gives what is new to be printed.

        A ledger that cannot be used (``trouble``) loses nothing: what is new then is new at the next look, too.
        """
        self.trouble, self._job = "", look.job.name
        if self._ledger is not None:
            sent = [verdict for verdict in verdicts if self._sent[verdict.rule.name]]
            keys = {name: tuple(map(key_of, mine)) for name, mine in self._sent.items()}
            try:
                news(self._ledger, look, sent, keys)
            except CannotDo as error:
                self.trouble = str(error)
        printed = [verdict for verdict in verdicts if verdict.rule.name in self._printed]
        return news(self._here, look, printed, {})

    def deliver(self) -> tuple[Outcome, ...]:
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
        return tuple(aside for aside in self._asked(Ledger.set_aside) if aside.sink in keys)

    def damage(self) -> tuple[str, ...]:
        """A sentence for each damaged row of the ledger that nobody was told of."""
        return tuple(self._asked(Ledger.damage))

    def _asked(self, ask: Callable[[Ledger], list[_Answer]]) -> list[_Answer]:
        try:
            return [] if self._ledger is None else ask(self._ledger)
        except CannotDo as error:
            self.trouble = str(error)
            return []


def _different(texts: Sequence[str]) -> tuple[Sink, ...]:
    return _unique(sink_of(text) for text in texts)


def _unique(sinks: Iterable[Sink]) -> tuple[Sink, ...]:
    return tuple(dict.fromkeys(sinks))
