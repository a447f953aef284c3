"""Log files as a source of one job: which files the paths mean that a user typed, which node each belongs to, and what files can
and cannot show."""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, cast

from monitor.errors import NoData
from monitor.fetch.files.renderings import BrokenTextError, TextKind, chunks, restored, text_kind
from monitor.fetch.instance_types import lookup
from monitor.fetch.metrics.hosts import without_metrics
from monitor.fetch.source import JobQuery, JobQueryResult, gap_of
from monitor.model import ApiBill, Gap, Job, JobSummary, LogPage, Node, Price, RawMetrics, natural_order

STDIN = "-"
#: In a folder a file is taken for a log by these endings, or where it has none; ".gz" may follow.
ENDINGS = (".log", ".txt", ".out", ".err")

_NODE_FILE = re.compile(r"algo-([1-9]\d*)(?:-\d+)?(?:\.[A-Za-z0-9.]+)?")
# An export to S3 makes a folder of a stream's name: job-algo-2-1700000000.
_NODE_FOLDER = re.compile(r"algo-([1-9]\d*)(?:-\d+)?|.*-algo-([1-9]\d*)-\d{10,13}")
#: What CloudWatch leaves in a bucket where it tries whether it may write.
WRITE_TEST = "aws-logs-write-test"


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
            if name == WRITE_TEST:
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


# What is surely in the buffer of a pipe, which cannot be read twice.
_PIPE_BYTES = 4096
_PIECE_BYTES = 1 << 20

# Name of a file -> where it is, or the first bytes of a pipe.
_Files = Mapping[str, Path | bytes]
# What a shell has opened already, as for "<(zcat a.gz)".
_OPENED = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")


@dataclass(frozen=True, slots=True)
class _Readable:
    """A file that holds text; ``once`` is what it is read from where it cannot be opened again (a pipe)."""

    file: LogFile
    kind: TextKind
    once: io.BufferedReader | None = None
    head: bytes = b""
    """Of what is read once: its first bytes."""

    @property
    def can_grow(self) -> bool:
        """Whether what is appended later can be read from where this was left."""
        return self.once is None and not self.kind.is_gzip and self.kind.encoding == "utf-8"


class FilesSource:
    """The PageSource of one job, whose logs are the given files, folders, or "-" for standard input. Needs no AWS.

    NoData for a path that does not exist, for a folder without logs, and where no file at all can be read; one bad
    file among good ones is a gap of the logs.
    """

    gives: Literal["pages"] = "pages"
    clients = lines = None

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = tuple(str(path) for path in paths)
        self._found: tuple[_Readable, ...] | None = None
        self._gaps: tuple[Gap, ...] = ()

    def jobs(self, query: JobQuery) -> tuple[JobSummary, ...]:
        """The one job there is, whatever the query."""
        return (JobSummary(self.job().name, status="", created=None),)

    def find(self, query: JobQuery) -> JobQueryResult:
        return JobQueryResult(self.jobs(query))

    def with_instances(self, summaries: Sequence[JobSummary]) -> tuple[JobSummary, ...]:
        """The rows as they are: only the text of the log tells of instances."""
        return tuple(summaries)

    def job(self, name: str = "") -> Job:
        """The job these files belong to, called after them: nothing but its nodes is known. ``name`` is not used."""
        numbers = {int(each.file.node.removeprefix("algo-")) for each in self._readable()}
        nodes = tuple(Node(f"algo-{number}") for number in sorted(numbers))
        return Job(name=name_of(self._paths), source="logs", nodes=nodes)

    def beginnings(self) -> dict[str, str]:
        """What tells this log from another one of its name. NoData where a file cannot be read any more."""
        try:
            return _beginnings(self._by_name())
        except OSError as error:
            raise NoData(f"The log cannot be read again: {_reason(error)}.", _remedy(error)) from error

    def goes_on(self, known: Mapping[str, str]) -> bool:
        """Whether this log is the one with those beginnings, or what came of it since."""
        try:
            return _go_on(self._by_name(), known)
        except OSError as error:
            raise NoData(f"The log cannot be read again: {_reason(error)}.", _remedy(error)) from error

    def _by_name(self) -> dict[str, Path | bytes]:
        top = os.path.expanduser(self._paths[0])  # noqa: PTH111
        top = top if Path(top).is_dir() else os.path.dirname(top)  # noqa: PTH120
        out: dict[str, Path | bytes] = {}
        for each in self._readable():
            path = each.file.stream
            out[path if each.once else os.path.relpath(path, top or ".")] = each.head if each.once else Path(path)
        return out

    def logs(self, job: Job) -> FileLogs:
        readable = self._readable()
        return FileLogs(readable, self._gaps)

    def metrics(self, job: Job, now: datetime) -> RawMetrics:
        return without_metrics("Log files contain no host metrics.")

    def profiled(self, job: Job) -> None:
        return None

    def endpoint(self) -> str | None:
        return None

    def instance_type(self, name: str) -> Node | None:
        return lookup(name)

    def price(self, instance_type: str, job: Job) -> Price | Gap | None:
        return None

    def bill(self) -> ApiBill:
        return ApiBill()

    def _readable(self) -> tuple[_Readable, ...]:
        """The files that hold text, by a look at their first bytes, taken once."""
        if self._found is None:
            if not self._paths:
                raise NoData("No log file was named.", "Give a file, a folder, or - for standard input.")
            found, troubles = [], []
            for file in find_files(self._paths):
                try:
                    found.append(_inspected(file))
                except NoData as trouble:
                    troubles.append(trouble)
            if not found:
                raise _all_bad(troubles)
            self._gaps = tuple(gap_of("logs", trouble) for trouble in troubles)
            self._found = tuple(found)
        return self._found


class FileLogs:
    """The LogReader of files: one after the other, a page in memory at a time.

    A second ``read`` gives what was appended to plain files since; packed files and pipes are read once.
    """

    def __init__(self, files: Sequence[_Readable], gaps: Sequence[Gap] = ()) -> None:
        self._files = tuple(files)
        self._gaps = list(gaps)
        self._lines: dict[str, int] = {}
        self._offsets: dict[str, int] = {}

    @property
    def gaps(self) -> tuple[Gap, ...]:
        return tuple(self._gaps)

    @property
    def numbering(self) -> dict[str, int | None]:
        return {}

    @property
    def progress(self) -> None:
        return None

    def newest(self) -> Iterator[LogPage]:
        yield from ()

    def read(self) -> Iterator[LogPage]:
        for each in self._files:
            yield from restored(self._pages(each))

    def _pages(self, each: _Readable) -> Iterator[LogPage]:
        name = each.file.stream
        if name in self._lines and not each.can_grow:
            return
        before = self._lines.setdefault(name, 0)
        try:
            with nullcontext(each.once) if each.once else Path(name).open("rb") as stream:
                if each.can_grow:
                    stream.seek(self._offsets.setdefault(name, 0))
                for chunk in chunks(stream, each.kind):
                    if each.can_grow:
                        self._offsets[name] += chunk.size
                    page = LogPage(shown(name), each.file.node, before + 1, chunk.data)
                    before += page.count
                    self._lines[name] = before
                    yield page
        except (BrokenTextError, OSError) as error:
            why = f"'{shown(name)}' cannot be read beyond line {before:,}: {_reason(error)}."
            self._gaps.append(Gap("logs", why, "Get the file again."))


def _inspected(file: LogFile) -> _Readable:
    """NoData, one sentence, where the file has nothing to read."""
    stream: io.BufferedReader | None = None
    try:
        if file.stream == STDIN:
            stream = _standard_input()
        elif not stat.S_ISREG(mode := os.stat(file.stream).st_mode):  # noqa: PTH116
            if not (stat.S_ISFIFO(mode) and file.stream.startswith(_OPENED)):
                raise _no_file(file, mode)
            stream = Path(file.stream).open("rb")  # noqa: SIM115 - it is read later, and cannot be opened twice
        with nullcontext(stream) if stream else Path(file.stream).open("rb") as opened:
            seen = text_kind(opened)
    except (BrokenTextError, OSError) as error:
        raise NoData(f"'{shown(file.stream)}' cannot be read: {_reason(error)}.", _remedy(error)) from error
    named = "Standard input" if file.stream == STDIN else f"'{shown(file.stream)}'"
    if seen.is_empty:
        raise NoData(f"{named} is empty.", "Give a file with log lines in it.")
    if seen.kind:
        raise NoData(
            f"{named} is {seen.kind}.",
            "Unpack it and name the log: gzip is the only compressed format that can be read directly.",
        )
    if not seen.is_text:
        raise NoData(f"{named} is not text.", "Give the log itself: of packed files only gzip is read as it is.")
    return _Readable(file, seen, stream, stream.peek(_PIPE_BYTES)[:_PIPE_BYTES] if stream else b"")


def _no_file(file: LogFile, mode: int) -> NoData:
    """Opening a pipe waits until somebody writes into it, and a device may never end."""
    kind = "a named pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
    return NoData(
        f"'{file.stream}' is {kind}, not a file.", "Give a file; what a program writes can be piped in: logs:-."
    )


def _standard_input() -> io.BufferedReader:
    if sys.stdin is None:
        raise NoData("There is no standard input.", "Give a file instead of -.")
    buffer = sys.stdin.buffer
    return buffer if isinstance(buffer, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", buffer))


def _all_bad(troubles: Sequence[NoData]) -> NoData:
    if len(troubles) == 1:
        return troubles[0]
    first = troubles[0]
    return NoData(f"None of the {len(troubles)} files can be read as a log; the first: {first.message}", first.remedy)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return "its gzip data are damaged or end too early"


def _remedy(error: Exception) -> str:
    if isinstance(error, PermissionError):
        return "Ask for permission to read it."
    return "Get the file again." if isinstance(error, BrokenTextError) else "Check the file and its disk."


def _beginnings(files: _Files) -> dict[str, str]:
    """Name -> "bytes digest" of all that a file holds now. OSError where one cannot be read."""
    return {
        name: _beginning(file, file.stat().st_size if isinstance(file, Path) else len(file))
        for name, file in files.items()
    }


def _go_on(files: _Files, known: Mapping[str, str]) -> bool:
    """Whether each file that was known is still there and begins as it did; with none known nobody can tell, so not."""
    return bool(known) and all(
        name in files and _beginning(files[name], int(told.partition(" ")[0])) == told for name, told in known.items()
    )


def _beginning(file: Path | bytes, size: int) -> str:
    """Of fewer bytes than ``size`` where there are fewer."""
    if isinstance(file, bytes):
        return f"{len(file[:size])} {hashlib.sha256(file[:size]).hexdigest()}"
    digest, left = hashlib.sha256(), size
    with file.open("rb") as opened:
        while left and (piece := opened.read(min(left, _PIECE_BYTES))):
            digest.update(piece)
            left -= len(piece)
    return f"{size - left} {digest.hexdigest()}"
