"""What becomes of an error of this program itself. Its traceback goes to a file, and the user is told what failed and where
to read why.

The file is ``$XDG_STATE_HOME/trainwatch/trainwatch.log`` (``~/.local/state`` otherwise) or, where that cannot be written,
one in the folder for temporary files. It is its owner's alone, holds no secrets, and has two parts of a MiB at most.
"""

from __future__ import annotations

import os
import platform
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, TypeVar

from monitor import __version__
from monitor.diagnose.headline import instances, launcher, status_word
from monitor.diagnose.words.report import quoted
from monitor.errors import Fault
from monitor.inert import inert
from monitor.masking import without_secrets
from monitor.model import Gap, Job, Report, Run
from monitor.words import count, phase

try:
    import fcntl
except ImportError:  # no such locks there: of two programs that fill the file in the same instant one may lose its past
    fcntl = None  # type: ignore[assignment]

Made = TypeVar("Made")
Instead = TypeVar("Instead")

MOST_BYTES = 1 << 20
# One entry; a traceback of endless recursion is cut by Python itself.
_ENTRY_BYTES = 64 << 10
# A page that draws itself every few seconds fails every few seconds: the same is written once in this time.
_AGAIN_S = 600.0
_NAME = "trainwatch.log"
_TRIES, _TRY_S = 20, 0.05
_SAID = 160
_FRAMES = 6
_PACKAGE = Path(__file__).parent

_lock = threading.Lock()
_written: dict[tuple[str, ...], tuple[float, Path]] = {}
_hung: set[Path] = set()


def fault(error: BaseException, part: str, shape: Sequence[str] = ()) -> Fault:
    """The error as the user is told of it, once it is logged; one that is a Fault already stays the same.

    ``part`` is what failed, in words that name no job ("The review", "Chart of the step times"); ``shape`` is that of the
    job, as ``shape_of`` gives it. Never raises.
    """
    if isinstance(error, Fault):
        return error
    copied = _report(error, part, shape)
    path = _log(error, part, copied)
    kind, said = type(error).__name__, quoted(str(error))
    said = f"{said[:_SAID]}…" if len(said) > _SAID else said
    message = f"{part} failed because of an error in Trainwatch itself ({f'{kind}: {said}' if said else kind})."
    remedy = f"Its traceback is in {path}." if path else "It could not be logged."
    return Fault(message, remedy, str(path or ""), copied)


def gap(error: Exception, part: str, shape: Sequence[str] = ()) -> Gap:
    """What a part that failed leaves open; the error is logged."""
    found = fault(error, part, shape)
    return Gap("program", found.message, found.remedy, transient=True)


def attempt(report: Report, part: str, make: Callable[[], Made], otherwise: Callable[[str], Instead]) -> Made | Instead:
    """A part of what is made of a report; where making it fails, the error is logged and ``otherwise`` is told in a line."""
    try:
        return make()
    except Exception as error:
        return otherwise(str(fault(error, part, shape_of_report(report))))


def shape_of(job: Job | None, run: Run | None = None) -> tuple[str, ...]:
    """What a job looks like, without any name: status, instances, launcher, how much was read of it."""
    if job is None:
        return ()
    out = [status_word(job.status), job.secondary_status or "", instances(job), launcher(job), f"source {job.source}"]
    if run is not None:
        logs = run.logs
        out += [
            f"{count(logs.lines, 'line')} of {count(logs.streams, 'stream')}{'' if logs.complete else ', more to come'}",
            f"{count(len(run.steps), 'step report')}",
            f"{count(len(run.events), 'event')}",
            f"{count(len(run.metrics), 'metric value')} every {run.metrics_period_s} s",
            *(["gaps: " + ", ".join(each.what for each in run.gaps)] if run.gaps else []),
        ]
    return tuple(part for part in out if part)


def shape_of_report(report: Report | None) -> tuple[str, ...]:
    """As ``shape_of``; with the phase that the job is in."""
    if report is None:
        return ()
    last = [f"last phase {phase(report.phases[-1].name)}"] if report.phases else []
    return (*shape_of(report.job, report.run), *last)


def _report(error: BaseException, part: str, shape: Sequence[str]) -> str:
    """What can be passed on: the types of the errors and where they arose, and no word of their messages."""
    lines = [
        f"Trainwatch {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}",
        f"Failed: {part}",
        *([f"Job: {'; '.join(shape)}"] if shape else []),
    ]
    for each in _chain(error):
        lines.append(f"{'Error' if each is error else 'Caused by'}: {type(each).__module__}.{type(each).__qualname__}")
        lines += [f"  {place}" for place in _frames(each)[-_FRAMES:]]
    return "\n".join(lines)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came of."""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        yield following
        seen.add(id(following))
        following = following.__cause__ or (None if following.__suppress_context__ else following.__context__)


def _frames(error: BaseException) -> list[str]:
    """``monitor/analyze/journal.py:88 in _lines``: the frames within this program, outermost first."""
    out = []
    for frame in traceback.extract_tb(error.__traceback__):
        path = Path(frame.filename)
        if path.is_relative_to(_PACKAGE):
            out.append(f"{path.relative_to(_PACKAGE.parent).as_posix()}:{frame.lineno} in {frame.name}")
    return out


def _log(error: BaseException, part: str, copied: str) -> Path | None:
    """The file that the traceback is in; None where no file can be written."""
    which = (part, type(error).__name__, *_frames(error))
    with _lock:
        told = _written.get(which)
        if told is not None and time.monotonic() - told[0] < _AGAIN_S and told[1].exists():
            return told[1]
        trace = "".join(traceback.format_exception(error))
        entry = inert(without_secrets(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC\n{copied}\n{trace}\n")).encode()
        for folder in _folders():
            try:
                path = _append(folder, entry[:_ENTRY_BYTES])
            except OSError:
                continue
            if len(_written) > 1000:
                _written.clear()
            _written[which] = (time.monotonic(), path)
            return path
    return None


def _folders() -> Iterator[Path]:
    with suppress(RuntimeError):  # nobody's home
        yield Path(os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()) / "trainwatch"
    user = os.getuid() if hasattr(os, "getuid") else 0
    yield Path(tempfile.gettempdir()) / f"trainwatch-{user}"


def _append(folder: Path, entry: bytes) -> Path:
    """Writes the entry behind the others; OSError where the folder does not take it."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if hasattr(os, "getuid") and folder.stat().st_uid not in {os.getuid(), 0}:
        raise PermissionError("the folder belongs to another user")
    path = folder / _NAME
    with _alone(folder) as alone:
        if path.exists() and path.stat().st_size + len(entry) > MOST_BYTES:
            if not alone:
                raise BlockingIOError("the file is full, and another process keeps its lock")
            path.replace(path.with_suffix(".log.1"))
        # A link in a folder that all can write to may lead anywhere.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            file.write(entry)
    return path


@contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    """Whether nobody else has the log's lock while the block runs. A holder that hangs is waited for once, for a second."""
    flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(folder / f"{_NAME}.lock", flags, 0o600), "wb") as lock:
        tries = 1 if folder in _hung else _TRIES
        alone = fcntl is None or any(_taken(lock, last=number == tries) for number in range(1, tries + 1))
        (_hung.discard if alone else _hung.add)(folder)
        yield alone


def _taken(lock: BinaryIO, last: bool) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if not last:
            time.sleep(_TRY_S)
        return False
    return True
