"""How is a small file of the user's changed by several programs at once? Read, changed and replaced while nobody else does."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from monitor.alert.locks import taking_turns
from monitor.errors import BadCall, CannotDo
from monitor.settings import text_of

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
                _replace(path, new)
    except OSError as error:
        raise CannotDo(f"{path} cannot be written: {error.strerror}.", "Check the permissions of its folder.") from None


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
