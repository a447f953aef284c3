"""A program gets the message as JSON on its standard input; it has taken it when it ends with 0, and refuses it with 65."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

from monitor.alert.message import Message
from monitor.alert.sinks import NotSent, Refused
from monitor.alert.sinks.names import Sink
from monitor.errors import BadCall

LONGEST_S = 30.0
#: EX_DATAERR of sysexits.h: what came in cannot be used, today or tomorrow.
REFUSES = 65
# More than the first line of any script.
_HEAD_BYTES = 512


def check(sink: Sink) -> None:
    """BadCall where the program could not be started."""
    name = shlex.split(sink.target)[0]
    found = shutil.which(name)
    if found is None:
        path = Path(name)
        why = "may not be run" if path.is_file() else "is a folder" if path.is_dir() else "is not there"
        raise BadCall(f"The program {name} of exec: {why}.", "Check its path and its rights (chmod +x).")
    if why := _odd_script(Path(found)):
        raise BadCall(f"The program {name} of exec: {why}.", "Its first line names what runs it, such as #!/bin/sh.")


def _odd_script(path: Path) -> str:
    """Why the system would not start a file that may be run; "" where it would, as far as its first line tells."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return ""
    if not head.startswith(b"#!"):
        # Programs of the system itself begin with bytes that are no text.
        is_text = not head or (head[:4].isascii() and head[:4].decode().strip().isprintable())
        return "has no first line that says what runs it" if is_text else ""
    # As the system does it: a carriage return is part of the name.
    words = head[2:].split(b"\n")[0].decode("utf-8", "replace").strip(" \t").split(" ")
    by = words[1] if words[0].endswith("/env") and words[1:] and not words[1].startswith("-") else words[0]
    if Path(words[0]).is_file() and shutil.which(by):
        return ""
    return f"is to be run by {by if by.isprintable() else ascii(by)}, which is not there"


def send(message: Message, sink: Sink) -> None:
    """Runs it without a shell, for half a minute at most; what it prints is not shown."""
    words = shlex.split(sink.target)
    try:
        program = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # A session of its own: Ctrl-C is for the watch, and what it started ends with it.
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its name cannot be used"
        raise NotSent(f"the program cannot be started: {why}", try_soon=False) from None
    try:
        program.communicate(json.dumps(message.document()).encode(), timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        raise NotSent(f"the program did not finish within {LONGEST_S:.0f} s", try_soon=False) from None
    finally:
        if program.poll() is None:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()
    if program.returncode == REFUSES:
        raise Refused(f"the program exited with {REFUSES}")
    if program.returncode:
        raise NotSent(f"the program exited with {program.returncode}")
