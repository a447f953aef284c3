"""Where text goes out to a terminal: nothing in it is obeyed there, and where it cannot be written nothing ends by that.

What is printed passes an ``Outlet``, which makes it inert: that of argparse, of warnings and of libraries, too. What draws
with codes of its own (colors, a table that stays in its place) makes its text inert first and takes ``Outlet.drawn``. An
outlet notes what it lost: a watch and the sinks of an alert go on, and ``cli.main`` turns exit code 0 into 3, and no other.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from monitor.inert import inert

# For who takes ASCII alone, what this program itself writes often.
_PLAINER = str.maketrans({"–": "-", "·": "-", "…": "...", "×": "x", "→": "->", **dict.fromkeys("▏▎▍▌▋▊▉█", "#")})


class Drawn:
    """A stream of this process that takes any text and raises nothing; None is one that was closed before the start."""

    def __init__(self, inner: TextIO | None) -> None:
        self._inner = inner
        self._lost: Exception | None = None

    @property
    def lost(self) -> Exception | None:
        """Why not all of it was written."""
        return self._lost or getattr(self._inner, "lost", None)

    @property
    def encoding(self) -> str:
        return getattr(self._inner, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        if text:
            self._try(lambda inner: self._write(inner, text))
        return len(text)

    def flush(self) -> None:
        if self._inner is not None:
            self._try(lambda inner: inner.flush())

    def isatty(self) -> bool:
        with suppress(AttributeError, ValueError):
            return cast("TextIO", self._inner).isatty()
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def _write(self, inner: TextIO, text: str) -> None:
        try:
            inner.write(text)
        except UnicodeEncodeError:
            inner.write(text.translate(_PLAINER).encode(self.encoding, "replace").decode(self.encoding))

    def _try(self, do: Callable[[TextIO], object]) -> None:
        if self._lost is not None:
            return
        try:
            if self._inner is None:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            do(self._inner)
        except (OSError, ValueError) as error:
            self._lost = error
            # What still waits in its buffer goes nowhere, so that Python's own last flush has nothing to complain of.
            with suppress(OSError, ValueError, AttributeError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self.fileno())
                os.close(nowhere)


class Outlet:
    """Such a stream that makes inert what is written; ``drawn`` is the stream without that, all else is the stream's."""

    def __init__(self, inner: TextIO | None) -> None:
        self.drawn = Drawn(inner)

    def write(self, text: str) -> int:
        return self.drawn.write(inert(text))

    def writelines(self, lines: Iterable[str]) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.drawn, name)


@contextmanager
def outlets() -> Iterator[None]:
    """Within it standard output and standard error are outlets, of whatever they were before."""
    _occupy()
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", Outlet(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = before


def drawn(stream: TextIO) -> TextIO:
    """Where text goes that is inert already, and may hold codes of this program's own."""
    return cast("TextIO", getattr(stream, "drawn", stream))


def lost_output() -> Exception | None:
    """Why not all of what was printed was written, if so."""
    return getattr(sys.stdout, "lost", None)


def to_stderr(what: object) -> None:
    """Prints a sentence for people beside the results, behind the name of this program."""
    print(f"trainwatch: {what}", file=sys.stderr)


def _occupy() -> None:
    """Opens the standard streams that were closed: else the next file that is opened would take their place."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            with suppress(OSError):
                os.open(os.devnull, os.O_RDWR)
