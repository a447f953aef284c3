"""What a place must be able to do to store an archive, and which one a user means by ``archive:PATH``.

PATH is an archive's root where a job stands in it alone; else its last part is the job and the rest the root. A name
without a slash is a job in the user's own archive, unless it is the folder of an archive; any file of a job will do, too.

A bucket can store one (``monitor.aws.bucket``), and a folder of this machine: there, files appear whole, survive a power
failure, and are private to their owner. It is up to the owner who else may read them: permissions that a file or a folder
was given stay as they are.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

from monitor.archive.layout import RUNS
from monitor.errors import BadCall, CannotDo, NoData
from monitor.settings import expanded


class Store(Protocol):
    """Files by their path below the archive's root. Each is there as a whole or not at all."""

    @property
    def label(self) -> str:
        """As the user names it: a folder, or ``s3://bucket/prefix``."""
        ...

    @property
    def is_far(self) -> bool:
        """Whether each call takes so long that many should be under way at once."""
        ...

    def make_ready(self) -> None:
        """Raises CannotDo or one of its kind where nothing could be written, before work is put into what to write."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Puts the file in its place, in one move, over one that is there. CannotDo where that is refused."""
        ...

    def read(self, path: str) -> bytes | None:
        """The file, or None where there is none. CannotDo where it cannot be read."""
        ...

    def remove(self, path: str) -> None:
        """Takes the file away, if it is there. CannotDo, or another error, where that is refused."""
        ...

    def holds(self, prefix: str) -> bool:
        """Whether any file's path begins with ``prefix``, which ends in a slash."""
        ...

    def listed(self, prefix: str) -> Mapping[str, str]:
        """Path -> a stamp that another file there would not have, of all files below ``prefix``."""
        ...


# Engines that read folders pass over names that begin with a dot.
_UNFINISHED = ".unfinished-"
_ABANDONED_S = 3600.0


class FolderStore:
    """The Store in a folder, which need not exist yet. Any number of processes may share it."""

    is_far = False

    def __init__(self, folder: str | Path) -> None:
        self._folder = expanded(str(folder))
        self.label = str(folder)

    def make_ready(self) -> None:
        with self._telling("written"):
            _make(self._folder)
            with tempfile.TemporaryFile(dir=self._folder):
                pass

    def write(self, path: str, data: bytes) -> None:
        target = self._folder / path
        with self._telling("written"):
            _make(target.parent)
            _sweep(target.parent)
            beside = target.parent / f"{_UNFINISHED}{os.getpid()}-{os.urandom(6).hex()}"
            try:
                with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _rights(target)), "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                beside.replace(target)
            finally:
                beside.unlink(missing_ok=True)
            _settle(target.parent)

    def read(self, path: str) -> bytes | None:
        with self._telling("read"):
            try:
                return (self._folder / path).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def remove(self, path: str) -> None:
        with self._telling("written"):
            (self._folder / path).unlink(missing_ok=True)

    def holds(self, prefix: str) -> bool:
        with self._telling("read"):
            return next(_files(str(self._folder / prefix)), None) is not None

    def listed(self, prefix: str) -> dict[str, str]:
        below = str(self._folder / prefix)
        with self._telling("read"):
            found = ((entry.path[len(below) + 1 :], entry.stat()) for entry in _files(below))
            return {prefix + path.replace(os.sep, "/"): f"{seen.st_mtime_ns} {seen.st_size}" for path, seen in found}

    @contextmanager
    def _telling(self, done: str) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:  # a name with a NUL in it
            why = (getattr(error, "strerror", None) or str(error)).rstrip(".")
            remedy = "Name another folder, or free some space." if done == "written" else "Check the right to read it."
            raise CannotDo(f"The archive {self.label} cannot be {done}: {why}.", remedy) from error


def _files(folder: str) -> Iterator[os.DirEntry[str]]:
    """All files below, but unfinished ones; none where there is no such folder."""
    waiting = [folder]
    while waiting:
        try:
            found = os.scandir(waiting.pop())
        except (FileNotFoundError, NotADirectoryError):
            continue
        with found:
            for entry in found:
                if entry.is_dir():
                    waiting.append(entry.path)
                elif not entry.name.startswith("."):
                    yield entry


def _make(folder: Path) -> None:
    """The folder and those above it that are not there yet: what a log says may be nobody else's business."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _rights(target: Path) -> int:
    """Those of the file that is replaced, if there is one."""
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        return 0o600


def _sweep(folder: Path) -> None:
    """Takes away what a writer that was killed has left."""
    for entry in folder.glob(f"{_UNFINISHED}*"):
        with suppress(FileNotFoundError):
            if time.time() - entry.stat().st_mtime > _ABANDONED_S:
                entry.unlink()


def _settle(folder: Path) -> None:
    """The new name, too, is on the disk."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_S3 = "s3://"
# What a shell completes to.
_FILE = re.compile(r"(?P<root>.+)/\w+/region=[^/]*/month=[^/]*/job=(?P<job>[^/]+)(?:/.*)?")
# A bucket's address with a slash too few would be made a folder.
_CUT_ADDRESS = re.compile(r"(?i)s3:/?")
# An ARN has a slash of its own.
_LAST = re.compile(r"(?P<root>.*?)/?(?P<job>arn:aws[^/]*:training-job/[^/]+|[^/]+)")


def store_of(address: str, region: str | None = None, profile: str | None = None) -> Store:
    """The place of that address, which need not hold anything yet."""
    if not address.strip():
        raise BadCall("No archive was named.", "Name a folder, or s3://bucket/prefix.")
    if address.startswith(_S3):
        # Imported late: a folder needs no AWS.
        from monitor.aws.bucket import BucketStore
        from monitor.aws.clients import Clients

        return BucketStore(address, Clients(region, profile))
    if "://" in address or _CUT_ADDRESS.match(address):
        raise BadCall(f"Archives cannot be at {address}.", "Name a folder, or s3://bucket/prefix.")
    return FolderStore(address)


def opened(path: str, own_root: str, region: str | None = None, profile: str | None = None) -> tuple[Store, str | None]:
    """(archive, job in it or None) of a PATH; NoData where no archive stands there. ``own_root`` is the user's own."""
    store = store_of(path, region, profile)
    if store.holds(RUNS):
        return store, None
    if match := _FILE.fullmatch(path):
        return store_of(match["root"], region, profile), unquote(match["job"])
    match = _LAST.fullmatch(path.rstrip("/"))
    if match is None:
        raise no_archive(path)
    root = match["root"] or ("/" if path.startswith("/") else own_root)
    if not root or (path.startswith(_S3) and not root.startswith(_S3)):
        raise no_archive(path)
    within = store_of(root, region, profile)
    if within.holds(RUNS):
        return within, match["job"]
    raise no_archive(path, "" if match["root"] else own_root)


def no_archive(path: str, nor_at: str = "") -> NoData:
    """What is said of a PATH where there is no archive."""
    return NoData(
        f"There is no archive at {path}{f', nor one of your own at {nor_at}' if nor_at else ''}.",
        "Name the folder or s3:// address that `archive --to` wrote to, and the job: archive:FOLDER/JOB.",
    )


def no_jobs(address: str) -> NoData:
    """What is said of the address of an archive that holds no job at all: where it is a folder, whether that is there."""
    remedy = "Name the folder or s3:// address that `archive --to` or `nightly --archive` wrote to"
    if address.startswith(_S3) or expanded(address).exists():
        return NoData(f"There are no archived jobs in {address}.", f"{remedy}, or archive some jobs there first.")
    return NoData(f"The folder {address} is not there.", f"{remedy}.")
