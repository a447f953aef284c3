"""Who is notified of what a look at a job brings: the terminal as long as this process runs, others through the
ledger."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from monitor.alert.conditions import Rule
from monitor.alert.delivery import Outcome, check, deliver, key_of
from monitor.alert.ledger import Ledger
from monitor.alert.message import Message
from monitor.alert.news import Look, news
from monitor.alert.sink_names import Sink, sink_of
from monitor.alert.verdict import Verdict

_TERMINAL = "stdout"


class Telling:
    """The sinks of some rules. ``sinks`` are of all of them, beside each rule's own; a rule without any prints.

    Made before anything is judged: BadCall where a sink cannot be used, CannotDo where the ledger cannot.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        sinks: Sequence[str],
        ledger: Path,
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
        self._ledger = Ledger(ledger) if self.sinks else None
        if self._ledger is not None:
            self._ledger.forget(clock())
        self._sleep, self._clock = sleep, clock

    def hear(self, look: Look, verdicts: Sequence[Verdict]) -> tuple[Message, ...]:
        """Writes down what is new for the sinks, and gives what is new to be printed."""
        if self._ledger is not None:
            sent = [verdict for verdict in verdicts if self._sent[verdict.rule.name]]
            keys = {name: tuple(map(key_of, mine)) for name, mine in self._sent.items()}
            news(self._ledger, look, sent, keys)
        printed = [verdict for verdict in verdicts if verdict.rule.name in self._printed]
        return news(self._here, look, printed, {})

    def deliver(self) -> tuple[Outcome, ...]:
        """Sends what the ledger holds for these sinks, that of earlier processes too."""
        if self._ledger is None:
            return ()
        return tuple(deliver(self._ledger, sink, self._sleep, self._clock) for sink in self.sinks)


def _different(texts: Sequence[str]) -> tuple[Sink, ...]:
    return _unique(sink_of(text) for text in texts)


def _unique(sinks: Iterable[Sink]) -> tuple[Sink, ...]:
    return tuple(dict.fromkeys(sinks))
