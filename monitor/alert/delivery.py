"""Sends what the ledger still has for a sink: in order, one process at a time, retried until it arrives."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from monitor.alert.ledger import Ledger, Pending
from monitor.alert.message import id_of
from monitor.alert.sink_names import Sink
from monitor.alert.sinks import NotSent, sender
from monitor.alert.sinks.addresses import address_of
from monitor.errors import BadCall, CannotDo

try:
    import fcntl
except ImportError:  # no such locks there: two processes that send in the same instant may send the same
    fcntl = None  # type: ignore[assignment]

#: Waits between tries in one call; after that the message waits in the ledger.
AT_ONCE_S = (1.0, 4.0)
_FIRST_WAIT_S, _LONGEST_WAIT_S = 15.0, 900.0
# Another process that is sending to the same sink takes what is there for both.
_LOCK_WAIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the messages for one sink."""

    sink: Sink
    sent: int = 0
    waiting: int = 0
    trouble: str = ""


def key_of(sink: Sink) -> str:
    """How the ledger calls a sink: without the secret that may be in its text."""
    return f"{sink.shown} {id_of(sink.text)[:16]}"


def check(sink: Sink) -> None:
    """BadCall where the address that a sink needs is not there."""
    if sink.kind in {"slack", "webhook"}:
        address_of(sink)


def deliver(
    ledger: Ledger,
    sink: Sink,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.time,
    at_once_s: tuple[float, ...] = AT_ONCE_S,
) -> Outcome:
    """Sends what the sink has not got. The first message that cannot be sent ends it: the receiver is down."""
    key, sent, trouble = key_of(sink), 0, ""
    with _alone(ledger, key, sleep) as mine:
        while mine and not trouble:
            waiting = ledger.pending(key, clock())
            if not waiting:
                break
            trouble = _send(ledger, waiting[0], sink, sleep, clock, at_once_s)
            sent += not trouble
    return Outcome(sink, sent, ledger.count_pending(key), trouble)


def _send(
    ledger: Ledger,
    pending: Pending,
    sink: Sink,
    sleep: Callable[[float], None],
    clock: Callable[[], float],
    at_once_s: tuple[float, ...],
) -> str:
    """Sends one message; what was in the way, or nothing."""
    for wait_s in (*at_once_s, None):
        try:
            sender(sink)(pending.message, sink)
        except (NotSent, BadCall) as error:
            again = isinstance(error, NotSent) and error.try_soon and not error.wait_s
            if again and wait_s is not None:
                sleep(wait_s)
                continue
            later_s = min(_FIRST_WAIT_S * 2**pending.tries, _LONGEST_WAIT_S)
            if isinstance(error, NotSent):
                later_s = max(later_s, error.wait_s)
            ledger.failed(pending, clock() + later_s, str(error))
            return str(error)
        ledger.sent(pending, clock())
        return ""
    raise AssertionError("the last try has no wait behind it")


@contextmanager
def _alone(ledger: Ledger, key: str, sleep: Callable[[float], None]) -> Iterator[bool]:
    """True while no other process sends to this sink; a killed one holds nothing. False where another one keeps at it."""
    if fcntl is None or ledger.path is None:
        yield True
        return
    try:
        lock = Path(f"{ledger.path}.{id_of(key)[:12]}.lock").open("a", encoding="utf-8")  # noqa: SIM115 - closed below
    except OSError as error:
        raise CannotDo(
            f"The ledger of alerts {ledger.path} cannot be used: {error.strerror}.",
            "Check the permissions of its folder.",
        ) from None
    with lock:
        yield _locked(lock.fileno(), sleep)


def _locked(handle: int, sleep: Callable[[float], None]) -> bool:
    waited_s, step_s = 0.0, 0.05
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waited_s >= _LOCK_WAIT_S:
                return False
            sleep(step_s)
            waited_s += step_s
            step_s = min(1.0, 1.5 * step_s)
        else:
            return True
