"""Where is an address that is a secret? In the environment or in a file, read when it is needed."""

from __future__ import annotations

import os
from pathlib import Path

from monitor.alert.sink_names import Sink, is_address
from monitor.errors import BadCall


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
            found = Path(sink.target).expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not text"
            raise BadCall(
                f"{where} of {sink.kind}:file cannot be read: {why}.", "Check its path and its permissions."
            ) from None
    if not found.strip():
        raise BadCall(f"{where} is empty or not set.", f"{sink.shown} reads the address from it.")
    if not is_address(found.strip()):
        raise BadCall(f"{where} does not contain an address.", f"{sink.shown} needs one that begins with https://.")
    return found.strip()
