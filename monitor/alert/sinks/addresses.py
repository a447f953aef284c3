"""Where is an address that is a secret? In the environment or in a file, read when it is needed."""

from __future__ import annotations

import os

from monitor.alert.sink_names import Sink, address_trouble
from monitor.errors import BadCall
from monitor.settings import expanded


def address_of(sink: Sink) -> str:
    """The address itself. BadCall says where it should have been, and never what it is."""
    if not sink.held_in:
        return sink.target
    if sink.held_in == "env":
        found = os.environ.get(sink.target, "")
        where = f"The environment variable {sink.target}"
    else:
        where = f"The file {sink.target}"
        try:
            found = expanded(sink.target).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise BadCall(
                f"{where} of {sink.kind}:file cannot be read: {why}.", "Check its path and its permissions."
            ) from None
    if not found.strip():
        raise BadCall(f"{where} is empty or not set.", f"{sink.shown} needs the address in it.")
    if wrong := address_trouble(found.strip()):
        raise BadCall(f"{where} holds no address: {wrong}.", f"{sink.shown} needs one that begins with https://.")
    return found.strip()
