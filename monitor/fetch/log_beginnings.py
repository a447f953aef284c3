"""Is this the log that was read before, longer by now, or another one of the same name? Known by what its files begin with."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path

_PIECE_BYTES = 1 << 20
# What is surely in the buffer of a pipe that cannot be read twice.
_PIPE_BYTES = 4096

#: Name of a file -> where its bytes are: a path, or the buffer of what is read once.
Files = Mapping[str, Path | io.BufferedReader]


def beginnings(files: Files) -> dict[str, str]:
    """Name -> "bytes digest" of all that a file holds now. OSError where one cannot be read."""
    out = {}
    for name, file in files.items():
        size = file.stat().st_size if isinstance(file, Path) else len(file.peek(_PIPE_BYTES)[:_PIPE_BYTES])
        out[name] = _beginning(file, size)
    return out


def go_on(files: Files, known: Mapping[str, str]) -> bool:
    """Whether each file that was known is still there and begins as it did; with none known nobody can tell, so not."""
    return bool(known) and all(
        name in files and _beginning(files[name], int(told.partition(" ")[0])) == told for name, told in known.items()
    )


def _beginning(file: Path | io.BufferedReader, size: int) -> str:
    """Of fewer bytes than ``size`` where there are fewer."""
    digest, left = hashlib.sha256(), size
    if isinstance(file, Path):
        with file.open("rb") as opened:
            while left and (piece := opened.read(min(left, _PIECE_BYTES))):
                digest.update(piece)
                left -= len(piece)
    else:
        head = file.peek(size)[:size]
        digest.update(head)
        left -= len(head)
    return f"{size - left} {digest.hexdigest()}"
