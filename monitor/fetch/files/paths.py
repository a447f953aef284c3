"""Which files do the paths that a user typed mean, and which node does each belong to?"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from monitor.errors import NoData
from monitor.model import natural_order

STDIN = "-"
#: In a folder a file is taken for a log by these endings, or where it has none; ".gz" may follow.
ENDINGS = (".log", ".txt", ".out", ".err")

_NODE_FILE = re.compile(r"algo-([1-9]\d*)(?:-\d+)?(?:\.[A-Za-z0-9.]+)?")
# An export to S3 makes a folder of a stream's name: job-algo-2-1700000000.
_NODE_FOLDER = re.compile(r"algo-([1-9]\d*)(?:-\d+)?|.*-algo-([1-9]\d*)-\d{10,13}")
_WRITE_TEST = "aws-logs-write-test"  # what CloudWatch leaves in the bucket it exports to


@dataclass(frozen=True, slots=True)
class LogFile:
    """One file to read. ``stream`` is its path as the user typed it, a folder's path and the rest joined."""

    stream: str
    node: str


def find_files(paths: Sequence[str]) -> tuple[LogFile, ...]:
    """The files behind the paths, each once; a folder's in the order of their names, algo-2 before algo-10.

    NoData for a path that does not exist, and for a folder in which nothing looks like a log.
    """
    found: dict[str, LogFile] = {}
    for typed in paths:
        for file in _behind(typed):
            where = file.stream if file.stream == STDIN else os.path.realpath(file.stream)
            found.setdefault(where, file)
    return tuple(found.values())


def name_of(paths: Sequence[str]) -> str:
    """What to call the job of these paths: the file's name without endings, or the folder that holds them all."""
    real = [Path(os.path.expanduser(path)).absolute() for path in paths if path != STDIN]  # noqa: PTH111
    if not real:
        return "stdin"
    folders = {path.parent for path in real}
    if len(real) > 1 and len(folders) == 1:
        return shown(folders.pop().name) or "logs"
    path = real[0]
    if path.is_dir():
        return shown(Path(os.path.normpath(path)).name) or "logs"
    name = shown(path.name).removesuffix(".gz")
    return Path(name).stem if Path(name).suffix in ENDINGS else name


def shown(path: str) -> str:
    """A path as it is told and kept, a different one for each: a name need not be UTF-8, which all else is."""
    return path.encode("utf-8", "backslashreplace").decode()


def node_of(name: str, folders: Iterable[str]) -> str:
    """algo-2 for algo-2.log, algo-2-1700000000.log and a file in a folder algo-2 (nearest first); else algo-1."""
    found = _NODE_FILE.fullmatch(name)
    for folder in folders:
        found = found or _NODE_FOLDER.fullmatch(folder)
    number = found and next(filter(None, found.groups()))
    return f"algo-{number}" if number else "algo-1"


def _behind(typed: str) -> Iterator[LogFile]:
    if typed == STDIN:
        yield LogFile(STDIN, "algo-1")
        return
    path = os.path.expanduser(typed)  # noqa: PTH111 - a Path would not keep "./" as it was typed
    try:
        kind = os.stat(path).st_mode  # noqa: PTH116
    except (OSError, ValueError) as error:
        raise NoData(f"There is no file or folder '{typed}'{_why(error)}.", _advice(path)) from error
    if not stat.S_ISDIR(kind):
        yield LogFile(path, node_of(Path(path).name, [Path(path).absolute().parent.name]))
        return
    files = sorted(_logs_in(path), key=lambda file: natural_order(file.stream))
    if not files:
        endings = ", ".join(f"*{ending}" for ending in ENDINGS)
        raise NoData(
            f"The folder '{typed}' contains no log files.",
            f"Looked there and below for {endings}, files without an extension, and the same with .gz: name other files.",
        )
    yield from files


def _logs_in(top: str) -> Iterator[LogFile]:
    own_name = Path(os.path.normpath(Path(top).absolute())).name
    for where, folders, names in os.walk(top, onerror=_unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        below = Path(os.path.relpath(where, top)).parts
        for name in names:
            plain = name.removesuffix(".gz")
            if name == _WRITE_TEST:
                continue
            if not name.startswith(".") and (Path(plain).suffix in ENDINGS or "." not in plain):
                stream = os.path.join(where, name)  # noqa: PTH118
                yield LogFile(stream, node_of(name, [*reversed(below), own_name]))


def _unreadable(error: OSError) -> None:
    reason = (error.strerror or str(error)).lower()
    raise NoData(
        f"The folder '{error.filename}' cannot be read: {reason}.", "Ask for permission to read it."
    ) from error


def _why(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return ""
    return f" that can be used: {(getattr(error, 'strerror', None) or str(error)).lower()}"


def _advice(path: str) -> str:
    if "\0" in path:
        return "Check the spelling."
    nearest = next(folder for folder in Path(path).absolute().parents if folder.is_dir())
    return f"Check the spelling; the nearest folder that exists is '{nearest}'."
