"""The file that ``--output`` names: it gets a whole result or stays as it was, and what cannot be one is told at once."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from monitor.errors import CannotDo

_OTHER = "Name another file with --output."
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


def check(name: str) -> None:
    """CannotDo where no result could be put there. Said before work is put into one."""
    with _telling(name), tempfile.TemporaryFile(dir=_target(name).parent):
        pass


def put(name: str, text: str) -> None:
    """Writes beside the file and renames, so that nobody ever sees half of it. CannotDo where that is refused."""
    with _telling(name):
        target = _target(name)
        beside = target.parent / f".trainwatch-{os.getpid()}-{os.urandom(6).hex()}.part"
        try:
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            # What a name of a file lent to the text may be no UTF-8.
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
                if target.exists():
                    os.chmod(beside, stat.S_IMODE(target.stat().st_mode))  # noqa: PTH101
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)


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
