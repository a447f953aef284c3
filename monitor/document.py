"""What is shown of a report, a comparison or a plan, as a tree of a few kinds of node; how it looks is known to one renderer a
form: a terminal (``cli/output.py``), Markdown and HTML (``export/``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Form = Literal["terminal", "markdown", "html"]
ALL: frozenset[Form] = frozenset({"terminal", "markdown", "html"})


@dataclass(frozen=True, slots=True)
class Note:
    """A paragraph. ``level`` is how loud: that of a verdict or a finding, "strong", "quiet", or empty."""

    text: str
    level: str = ""
    label: str = ""
    forms: frozenset[Form] = ALL


@dataclass(frozen=True, slots=True)
class Code:
    """Text to copy, which is never wrapped."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """The first column of a table always stays. ``goes`` is when another goes for want of room: the highest first, those
    with 0 never."""

    title: str
    right: bool = False
    goes: int = 0
    wraps: bool = False
    below: bool = False
    """Where it has no room as a column it stands below the first one, a line of its own."""
    code: bool = False
    """Its cells are what others wrote."""
    bar: bool = False
    """Its cells are shares of the longest bar, for who draws with letters; nobody else shows it."""
    short: str = ""
    """The title where room is dear; else it is the title in capitals."""
    letters: int = 0
    """So many of a cell are shown where room is dear; 0 is all."""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells are text. ``most`` rows are shown where room is dear, of what is called ``rows_are``; 0 is all."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    levels: tuple[str, ...] = ()
    """How loud each row is, as of a note; empty where none is louder."""
    most: int = 0
    rows_are: str = ""


@dataclass(frozen=True, slots=True)
class FactLine:
    """A line behind a finding: what was seen, its value, where and when, and the log's own words."""

    label: str
    value: str
    about: tuple[str, ...]
    line: str


@dataclass(frozen=True, slots=True)
class Facts:
    facts: tuple[FactLine, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """What it shows in words, and a drawn chart, or ``letters``: its lines in so many columns."""

    said: str
    svg: str = ""
    letters: Callable[[int], Sequence[str]] | None = None


@dataclass(frozen=True, slots=True)
class FindingNode:
    """What stands out, how serious it is, and in ``nodes`` the rest."""

    title: str
    level: str
    id: str
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A part, or all, of a document. One with a ``level`` is the answer, or what stands in its way."""

    title: str
    nodes: tuple[Node, ...]
    level: str = ""
    plain: bool = False
    """Where room is dear it has no title."""
    forms: frozenset[Form] = ALL


Node = Note | Code | Table | Facts | Figure | FindingNode | Section


def shown(nodes: Iterable[Node], form: Form) -> Iterator[Node]:
    """Those that the form shows."""
    return (node for node in nodes if not isinstance(node, Note | Section) or form in node.forms)
