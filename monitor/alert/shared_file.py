"""How is a small file of the user's changed by several programs at once? Read, changed and replaced while nobody else does."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from monitor.errors import BadCall, CannotDo

try:
    import fcntl
except ImportError:  # no such locks there: two that save in the same instant may lose one
    fcntl = None  # type: ignore[assignment]


def read_text(path: Path, what: str) -> str:
    """The text; "" where there is no file. ``what`` is what an error calls it, as "The saved thresholds"."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise BadCall(f"{what} in {path} cannot be read: {why}.", "Correct the file or move it elsewhere.") from None


def change(path: Path, what: str, changed: Callable[[str], str]) -> None:
    """Puts ``changed`` of the text in its place; a reader sees the old text or the new one."""
    # A link, as in a folder of dotfiles, stays one.
    path = path.resolve()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path):
            text = read_text(path, what)
            new = changed(text)
            if new != text:
                _replace(path, new)
    except OSError as error:
        raise CannotDo(f"{path} cannot be written: {error.strerror}.", "Check the permissions of its folder.") from None


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.with_suffix(".lock").open("a", encoding="utf-8") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _replace(path: Path, text: str) -> None:
    handle, beside = tempfile.mkstemp(".part", dir=path.parent)
    try:
        # Made for its owner alone: what it holds may be a secret.
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(beside).replace(path)
    finally:
        Path(beside).unlink(missing_ok=True)
