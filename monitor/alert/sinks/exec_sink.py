"""A program gets the message as JSON on its standard input; it has taken it when it ends with 0."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess

from monitor.alert.message import Message
from monitor.alert.sink_names import Sink
from monitor.alert.sinks import NotSent

LONGEST_S = 30.0


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
    except OSError as error:
        raise NotSent(f"the program cannot be started: {error.strerror}", try_soon=False) from None
    try:
        program.communicate(json.dumps(message.document()).encode(), timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        raise NotSent(f"the program did not finish within {LONGEST_S:.0f} s", try_soon=False) from None
    finally:
        if program.poll() is None:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()
    if program.returncode:
        raise NotSent(f"the program exited with {program.returncode}")
