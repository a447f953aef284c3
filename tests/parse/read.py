"""Reads text as one log stream, the way a source would hand it over."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from monitor.model import LogPage
from monitor.parse.assemble import Parsed, assemble
from monitor.parse.recognise import RawRows, Recogniser


def pages(
    lines: Sequence[str], cuts: Sequence[int] = (), stream: str = "algo-1.log", node: str = "algo-1"
) -> list[LogPage]:
    """The lines as pages, cut before each of the line indexes ``cuts``."""
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(lines)}), len(lines)]
    return [LogPage.of(stream, node, a + 1, lines[a:b]) for a, b in pairwise(edges) if b > a]


def parse(lines: Sequence[str], cuts: Sequence[int] = (), extra: tuple[Recogniser, ...] = ()) -> Parsed:
    """What the lines say, whatever the order of their pages."""
    raw = RawRows(extra)
    for page in reversed(pages(lines, cuts)):
        raw.add(page)
    return assemble(raw.steps, raw.events, strangers=raw.strangers)
