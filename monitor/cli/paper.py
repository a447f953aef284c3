"""What is drawn with colors, and what stays in its place on a terminal: text on it cannot do what its own codes do."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from io import StringIO
from typing import IO, TextIO, TypeVar

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from monitor.inert import inert
from monitor.terminal import drawn, outlets

Shown = TypeVar("Shown")
# Wide enough for a table of nodes where nobody says how wide the paper is.
PIPE_WIDTH = 110
_NARROWEST = 60


class Paper(Console):
    """A console on which text is text: no markup, no emoji, and nothing that a terminal obeys but what this program draws."""

    def __init__(self, file: IO[str], width: int | None = None, force_terminal: bool | None = None) -> None:
        super().__init__(
            file=file, width=width, force_terminal=force_terminal, markup=False, emoji=False, highlight=False
        )

    @classmethod
    def on(cls, stream: TextIO) -> Paper:
        """That of a standard stream."""
        return cls(drawn(stream))

    @classmethod
    def for_result(cls, to_terminal: bool) -> Paper:
        """Written into memory, as wide as the terminal if it goes there; see ``text``."""
        width = cls.on(sys.stdout).width if to_terminal else PIPE_WIDTH
        return cls(StringIO(), max(_NARROWEST, width), to_terminal or None)

    @classmethod
    def drawing(cls, width: int) -> Paper:
        """Written into memory with the codes of its styles, for what draws them elsewhere on a screen."""
        return cls(StringIO(), width, force_terminal=True)

    @property
    def text(self) -> str:
        """What was drawn on one in memory."""
        assert isinstance(self.file, StringIO)
        return self.file.getvalue()

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(inert(segment.text), segment.style)


@contextmanager
def on_screen(shown: AbstractContextManager[Shown]) -> Iterator[Shown]:
    """What stays in its place, such as a bar; lines that are printed meanwhile stand above it.

    Rich prints these, and would take codes in them for styles.
    """
    with shown as found, outlets():
        yield found
