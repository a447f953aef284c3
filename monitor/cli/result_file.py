"""The file that ``--output`` names gets a whole result or stays as it was, and what cannot be one is told at once. A pipe or a
device that takes text (``/dev/null``, ``/dev/stdout``, ``>(gzip > report.gz)``) is written to as it is.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from monitor.choices import LOGS
from monitor.errors import BadCall, CannotDo

try:
    import fcntl
except ImportError:  # no such locks there: what a killed process left is known by its age alone
    fcntl = None  # type: ignore[assignment]

_OTHER = "Name another file with --output."
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFBLK: "a block device",
    stat.S_IFSOCK: "a socket",
}
_OWN = re.compile(r"/dev/(?P<name>stdout|stderr)|(?:/dev|/proc/self)/fd/(?P<number>\d{1,9})")
# No write takes so long; and with no locks to ask, a day.
_LEFT_S, _LEFT_UNASKED_S = 600.0, 86_400.0


def check_output(arguments: argparse.Namespace) -> None:
    """CannotDo where the file that --output names could not take a result: told before any work is done."""
    if getattr(arguments, "output", None) is None:
        return
    check(arguments.output)
    for path in _read(arguments):
        with suppress(OSError, ValueError):
            if Path(path).expanduser().samefile(arguments.output):
                raise BadCall(
                    f"--output {arguments.output} is a file that the command reads.", "Name another file with --output."
                )


def _read(arguments: argparse.Namespace) -> Iterator[str]:
    """The files that a call names to be read: a result must not take their place."""
    jobs = [getattr(arguments, "job", None), *getattr(arguments, "more", ()), *getattr(arguments, "jobs", ())]
    yield from (job.removeprefix(LOGS) for job in jobs if job and job.startswith(LOGS))
    yield from getattr(arguments, "logs", None) or ()
    yield from filter(None, (getattr(arguments, name, None) for name in ("rules", "ledger")))


def check(name: str) -> None:
    """CannotDo where no result could be put there. Said before work is put into one."""
    with _telling(name):
        if _flows(name):
            if _own(name) is None and not os.access(name, os.W_OK):
                raise PermissionError(13, "Permission denied")
            return
        with tempfile.TemporaryFile(dir=_target(name).parent):
            pass


def put(name: str, text: str) -> None:
    """Writes beside the file and renames, so that nobody ever sees half of it. CannotDo where that is refused.

    Into a pipe or a device it writes straight; whoever stops reading there has had enough, and that is no error.
    """
    with _telling(name):
        if _flows(name):
            with suppress(BrokenPipeError), _writing(_opened(name)) as file:
                file.write(text)
            return
        target = _target(name)
        marked = f".trainwatch-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:12]}-"
        _sweep(target.parent, marked)
        beside = target.parent / f"{marked}{os.getpid()}-{os.urandom(6).hex()}.part"
        try:
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            with _writing(handle) as file:
                _lock(handle)
                if target.exists():
                    os.chmod(beside, stat.S_IMODE(target.stat().st_mode))  # noqa: PTH101
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)


def _writing(handle: int) -> TextIO:
    # What a name of a file lent to the text may be no UTF-8.
    return os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="")


def _own(name: str) -> int | None:
    """The number of the open file of this process that is meant, if one is."""
    found = _OWN.fullmatch(name)
    if found is None:
        return None
    return int(found["number"]) if found["number"] else {"stdout": 1, "stderr": 2}[found["name"]]


def _flows(name: str) -> bool:
    """Whether text is written to it as it is: a file that is open already, a pipe, a device such as a terminal."""
    if (number := _own(name)) is not None:
        mode = os.fstat(number).st_mode
        return not (stat.S_ISDIR(mode) or stat.S_ISBLK(mode))
    try:
        mode = os.stat(name).st_mode  # noqa: PTH116
    except FileNotFoundError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def _opened(name: str) -> int:
    number = _own(name)
    # Opened by its name, a pipe that nobody reads any more would be waited for, and a file would be written from its start.
    return os.open(name, os.O_WRONLY | getattr(os, "O_NOCTTY", 0)) if number is None else os.dup(number)


def _sweep(folder: Path, marked: str) -> None:
    """Removes what processes that were killed left beside this file; never what one still writes: it holds a lock on it."""
    with suppress(OSError):
        for path in folder.glob(f"{marked}*.part"):
            with suppress(OSError):
                seen = path.lstat()
                age_s = time.time() - seen.st_mtime
                if not stat.S_ISREG(seen.st_mode) or age_s < _LEFT_S:
                    continue
                handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
                try:
                    if _lock(handle) or age_s > _LEFT_UNASKED_S:
                        path.unlink()
                finally:
                    os.close(handle)


def _lock(handle: int) -> bool:
    """Takes the lock of an open file until that is closed, or the process dies; False where there are no locks.

    BlockingIOError where another process has it.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def _target(name: str) -> Path:
    """Where the file is: a link stays one. CannotDo for what is no plain file, OSError for what may not be changed."""
    if not name:
        raise CannotDo("--output names no file.", _OTHER)
    # "~" was the shell's to replace.
    target = Path(name).resolve()
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        if name.endswith(("/", os.sep)):
            raise CannotDo(f"{name} cannot be written: it is a folder.", _OTHER) from None
        return target
    if kind := _KINDS.get(stat.S_IFMT(mode)):
        without = " Without --output the result goes to standard output." if kind != "a folder" else ""
        raise CannotDo(f"{name} cannot be written: it is {kind}.", f"{_OTHER}{without}")
    if not os.access(target, os.W_OK):
        raise PermissionError(13, "Permission denied")
    return target


@contextmanager
def _telling(name: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or "it is no name of a file"
        raise CannotDo(f"{name} cannot be written: {why}.", _OTHER) from None
