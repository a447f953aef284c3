"""A file that others see whole: as it was before, or as it is then."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

#: What is being written; one that a killed process left behind is nobody's.
UNFINISHED = ".part"


@contextmanager
def replacing(path: Path, lasting: bool = False, most_bytes: int | None = None) -> Iterator[IO[bytes]]:
    """An empty file beside ``path``, for its owner alone, that takes its place when the block ends without an error.

    ``lasting``: it is on the disk by then, whatever happens to the machine. One of more than ``most_bytes`` is dropped, and
    ``path`` stays as it was. OSError where the folder takes no file.
    """
    handle, beside = tempfile.mkstemp(UNFINISHED, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            if lasting:
                os.fsync(file.fileno())
            size = os.fstat(file.fileno()).st_size
        if most_bytes is None or size <= most_bytes:
            Path(beside).replace(path)
    finally:
        with suppress(FileNotFoundError):
            Path(beside).unlink()
