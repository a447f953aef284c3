"""How a message reaches someone: one file per sink, found by its name.

Each has ``send(message, sink)``. It returns when the message has arrived, and else raises ``NotSent`` or ``Refused``, whose
words never hold an address or a secret.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from monitor.alert.message import Message
from monitor.alert.sinks.names import Sink


class NotSent(Exception):
    """A message did not arrive, as far as anybody knows. ``try_soon`` is False where trying at once again is no use."""

    def __init__(self, why: str, try_soon: bool = True, wait_s: float = 0.0) -> None:
        super().__init__(why)
        self.try_soon = try_soon
        self.wait_s = wait_s
        """The receiver asked to be left alone for so long."""


class Refused(Exception):
    """The receiver will not take this message, now or later; it may well take another one."""


def sender(sink: Sink) -> Callable[[Message, Sink], None]:
    """The function that sends to sinks of this kind."""
    # Imported when it is needed: SNS brings boto3.
    send: Callable[[Message, Sink], None] = import_module(f"{__name__}.{sink.kind}_sink").send
    return send
