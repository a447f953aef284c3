"""What must a place be able to do to store an archive? A folder can, and a bucket (``monitor.aws.bucket``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


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
