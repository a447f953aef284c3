"""A page of log lines to raw rows: each line by itself, with no memory of any other line.

The rank map, the configuration and the base of every difference are at the head of a log, and pages come in any order. So
what relates lines to one another is done in ``monitor.parse.assemble`` over all rows: the order of pages, how they are cut,
late lines and restarts cannot matter.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass, field

from monitor.model import LogPage
from monitor.parse.events import epoch_lines
from monitor.parse.events.event_rows import EventRows
from monitor.parse.examples import Examples
from monitor.parse.failed import Failures
from monitor.parse.formats import keyvalue
from monitor.parse.lines.envelope import fragments
from monitor.parse.lines.stamps import stamp
from monitor.parse.lines.wrapped import unwrapped
from monitor.parse.lines.written_out import written_out
from monitor.parse.pages.gates import Recogniser, families
from monitor.parse.pages.line_shapes import LineShapes
from monitor.parse.pages.page_rows import read_page
from monitor.parse.pages.shapes import Shapes
from monitor.parse.strangers.collection import Strangers
from monitor.parse.table import Rows

__all__ = ["RawRows", "Recogniser", "families"]

# What stands further back is no time at the head of a line.
_LONGEST_STAMP = 32


@dataclass
class RawRows:
    """All rows recognized so far; ``add`` takes pages of any stream in any order."""

    extra: tuple[Recogniser, ...] = ()
    """Recognizers that the user gave: asked first."""
    further: tuple[Recogniser, ...] = ()
    """Recognizers that the job brought along: asked last."""
    steps: Rows = field(default_factory=Rows)
    events: EventRows = field(default_factory=EventRows)
    lines: int = 0
    last_ms: int | None = None
    """Time of the newest line, where the source has times."""
    streams: set[str] = field(default_factory=set)
    examples: Examples = field(default_factory=Examples)
    """Lines that hold steps."""
    known: LineShapes = field(default_factory=LineShapes)
    """What was learned of the lines by their shapes."""
    shapes: Shapes = field(default_factory=Shapes)
    failures: Failures = field(default_factory=Failures)
    """Lines that a reader failed on."""
    strangers: Strangers | None = field(default_factory=Strangers)
    """What may be learned of lines that no reader knows; None where nothing is to be."""

    def add(self, page: LogPage) -> None:
        """Reads one page."""
        self.streams.add(page.stream)
        newest = page.times_ms[-1] if page.times_ms else None
        if newest is not None:
            self.last_ms = newest if self.last_ms is None else max(self.last_ms, newest)
        self.events.add_page(page)
        self.lines += page.count
        page = written_out(unwrapped(page, _is_whole))
        # Rows make no cycles; looking for some among thousands of new tuples takes a fifth of the time.
        collecting = gc.isenabled()
        gc.disable()
        try:
            read_page(page, self.steps, self.events, self.failures, self.examples, self.known, self.extra, self.further)
        finally:
            if collecting:
                gc.enable()
        if not self.steps:
            try:
                self.shapes.add(page)
            except Exception as error:  # an example less to show
                self.failures.add(Shapes.add, error, lines=0)
        if self.strangers is not None:
            try:
                self.strangers.add(page, self.steps)
            except Exception as error:  # a format less to learn
                self.failures.add(Strangers.add, error, lines=0)


def _is_whole(line: str) -> bool:
    """It begins with a time, or tells a step or an epoch by itself."""
    if stamp(line[:_LONGEST_STAMP]) is not None or epoch_lines.read(line) is not None:
        return True
    return any(reading.step is not None for piece in fragments(line) for reading in keyvalue.read(piece.text))
