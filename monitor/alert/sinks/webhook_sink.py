"""A webhook gets the whole message as JSON."""

from __future__ import annotations

from monitor.alert.message import Message
from monitor.alert.sinks.names import Sink, address_of
from monitor.alert.sinks.posting import post


def send(message: Message, sink: Sink) -> None:
    """POSTs it; the message's id is the Idempotency-Key, and in the JSON."""
    post(address_of(sink), message.document(), message.id)
