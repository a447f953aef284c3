"""Lock files that one process holds at a time and that die with it, and small files of the user's that several programs
change at once."""

from __future__ import annotations

import json
import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from monitor.atomic_file import replacing
from monitor.errors import BadCall, CannotDo
from monitor.settings import text_of
from monitor.words import clock

try:
    import fcntl
except ImportError:  # no such locks there: two processes that do a thing in the same instant may both do it
    fcntl = None  # type: ignore[assignment]

# What a holder writes of itself is shorter.
_MOST_BYTES = 2000
_LOCKS = Path("/proc/locks")


@dataclass(frozen=True, slots=True)
class LockAttempt:
    """What came of waiting for a lock."""

    mine: bool
    holder: str = ""
    """Whose it is instead, in words: "process 4711 (alert on gpt2-20b, since 12:03 UTC)", or "another process"."""


@contextmanager
def taking_turns(
    path: Path, what: str, wait_s: float, sleep: Callable[[float], None] = time.sleep
) -> Iterator[LockAttempt]:
    """Holds the lock of a file while the block runs, or says who does. ``what`` is what others are told of the holder.

    OSError where the file cannot be made.
    """
    if fcntl is None:
        yield LockAttempt(True)
        return
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not _acquired(handle, wait_s, sleep):
            yield LockAttempt(False, _holder(handle))
            return
        _write(handle, json.dumps(_self(what)).encode())
        try:
            yield LockAttempt(True)
        finally:
            _write(handle, b"")
    finally:
        os.close(handle)


def process_that_locks(path: Path) -> str:
    """Who holds a lock on any file, as far as this system tells: "process 4711", or "another process"."""
    try:
        seen = path.stat()
        place = f"{os.major(seen.st_dev):02x}:{os.minor(seen.st_dev):02x}:{seen.st_ino}"
        held = re.search(rf"^\d+: \w+ +\w+ +WRITE (\d+) {place} ", _LOCKS.read_text(encoding="ascii"), re.MULTILINE)
    except (OSError, ValueError, AttributeError):
        held = None
    return f"process {held[1]}" if held and int(held[1]) > 0 else "another process"


def _acquired(handle: int, wait_s: float, sleep: Callable[[float], None]) -> bool:
    waited_s, step_s = 0.0, 0.05
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if waited_s >= wait_s:
                return False
            sleep(step_s)
            waited_s += step_s
            step_s = min(1.0, 1.5 * step_s)
        except OSError:
            return True  # a file system without locks
        else:
            return True


def _self(what: str) -> dict[str, object]:
    return {"pid": os.getpid(), "host": socket.gethostname(), "what": what, "since": datetime.now(UTC).isoformat()}


def _write(handle: int, data: bytes) -> None:
    """Who cannot say whose the lock is has it all the same."""
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, data, 0)


def _holder(handle: int) -> str:
    """What the holder wrote; a file that says nothing of the kind was written by something else, or just now."""
    try:
        told = json.loads(os.pread(handle, _MOST_BYTES, 0))
        pid, host, what, since = int(told["pid"]), str(told["host"]), str(told["what"]), str(told["since"])
        begun = clock(datetime.fromisoformat(since))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "another process"
    there = "" if host == socket.gethostname() else f" on {host}"
    doing = f"{what}, since {begun}" if what else f"since {begun}"
    said = f"process {pid}{there} ({doing})"
    return said if said.isprintable() else "another process"


# To read, change and replace a small file takes no second.
_LOCK_WAIT_S = 10.0


def read_text(path: Path, what: str) -> str:
    """The text; "" where there is no file. ``what`` is what an error calls it, as "The saved thresholds"."""
    try:
        return text_of(path)
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadCall(f"{what} in {path} cannot be read: {why}.", "Correct the file, or move it away.") from None


def change(path: Path, what: str, changed: Callable[[str], str]) -> None:
    """Puts ``changed`` of the text in its place; a reader sees the old text or the new one."""
    # A link, as in a folder of dotfiles, stays one.
    path = path.resolve()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with taking_turns(path.with_suffix(".lock"), "", _LOCK_WAIT_S) as turn:
            if not turn.mine:
                raise CannotDo(f"{path} is being changed by {turn.holder}.", "Try again, or end that process.")
            text = read_text(path, what)
            new = changed(text)
            if new != text:
                with replacing(path, lasting=True) as file:
                    file.write(new.encode())
    except OSError as error:
        raise CannotDo(f"{path} cannot be written: {error.strerror}.", "Check the permissions of its folder.") from None
