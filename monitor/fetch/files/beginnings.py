"""Is this the log that was read before, longer by now, or another one of the same name? Known by what its files begin with."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

#: What is surely in the buffer of a pipe, which cannot be read twice.
PIPE_BYTES = 4096
_PIECE_BYTES = 1 << 20

#: Name of a file -> where it is, or the first bytes of a pipe.
Files = Mapping[str, Path | bytes]


def beginnings(files: Files) -> dict[str, str]:
    """Name -> "bytes digest" of all that a file holds now. OSError where one cannot be read."""
    return {
        name: _beginning(file, file.stat().st_size if isinstance(file, Path) else len(file))
        for name, file in files.items()
    }


def go_on(files: Files, known: Mapping[str, str]) -> bool:
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
