"""Lines that a reader failed on: each costs itself and is counted; of each reader the first error is kept, to be logged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

_Found = TypeVar("_Found")


class Failed(NamedTuple):
    """One reader's failures."""

    reader: str
    """The module that was reading: "monitor.parse.formats.tqdm"."""
    lines: int
    error: Exception
    """The first, with its traceback."""

    @property
    def name(self) -> str:
        """In a word: "tqdm"."""
        return self.reader.rpartition(".")[2]


class Failures:
    """Collects the failures of readers, by reader."""

    def __init__(self) -> None:
        self._lines: dict[str, int] = {}
        self._first: dict[str, Exception] = {}

    def __iter__(self) -> Iterator[Failed]:
        return (Failed(reader, lines, self._first[reader]) for reader, lines in self._lines.items())

    def add(self, reader: Callable[..., object], error: Exception, lines: int = 1) -> None:
        """So many more lines that a reader failed on; 0 where they were read in another way after all."""
        name = reader.__module__
        self._lines[name] = self._lines.get(name, 0) + lines
        self._first.setdefault(name, error)

    def read(self, reader: Callable[[str], Iterable[_Found]], text: str) -> list[_Found] | None:
        """What a reader finds in ``text``; None where it fails, which is counted."""
        try:
            return list(reader(text))
        except Exception as error:  # readers meet whatever anybody may print
            self.add(reader, error)
            return None
