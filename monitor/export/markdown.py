"""A document as Markdown, for a ticket or a pull request. What AWS, a log or a user wrote stands there as it is, and nothing of
it is markup.

Whatever is put into a document and is no ``Markup`` is made it here. Words with a sign of markup stand as code, the rest as
it reads: in code nothing is a tag, a link, an image, a mention or a formula, whoever shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from monitor.document import Code, Facts, FindingNode, Node, Note, Section, Table, shown
from monitor.inert import inert
from monitor.words import DASH

# Of a word: brackets, back-ticks, bars, tildes, backslashes, numbers of issues, mentions and mail; tags, emphasis,
# entities, addresses, formulas (prices are none), icons, and what templates take for theirs.
_MARKED = re.compile(
    r"[\[\]`|~\\#@]|<[A-Za-z/!?]|\*.|.\*|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|&#?\w+;|://|www\.|(?:mailto|xmpp):|\$(?!\d)|\$.*\$"
    r"|:[\w+-]*[A-Za-z+][\w+-]*:|\{[{%#]|\bgh-\d",
    re.IGNORECASE,
)
# Of a paragraph's first word: a list, a quotation, a line that underlines or parts.
_OPENING = re.compile(r"[-+*=>]+|>.*|\d{1,9}[.)]")
_STOPS = ".,;:"
# What is drawn with letters is so wide.
_WIDTH = 100


class Markup(str):
    """Markdown that stands as it is."""

    __slots__ = ()


def as_text(text: str) -> Markup:
    """Text on one line."""
    out: list[str] = []
    code: list[str] = []
    for place, word in enumerate(text.split()):
        if _MARKED.search(word) or (place == 0 and _OPENING.fullmatch(word)):
            code.append(word)
            continue
        out += [_spans(code), word] if code else [word]
        code = []
    return Markup(" ".join([*out, _spans(code)] if code else out))


def as_code(text: str) -> Markup:
    """One line of text as code, between more back-ticks than stand side by side in it."""
    text = " ".join(text.split())
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    space = " " if len(fence) > 1 else ""
    return Markup(f"{fence}{space}{text}{space}{fence}" if text else "")


def bold(text: str) -> Markup:
    return Markup(f"**{_made(text)}**")


def heading(level: int, text: str) -> Markup:
    return Markup(f"{'#' * level} {_made(text)}")


def item(text: str) -> Markup:
    """Of a list."""
    return Markup(f"- {_made(text)}")


def block(code: str, language: str = "") -> Markup:
    """Lines of code, between more back-ticks than stand side by side in them."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", code)), default=0))
    return Markup(f"{fence}{language}\n{code}\n{fence}")


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[Markup]:
    def line(cells: Sequence[str]) -> Markup:
        return Markup("| " + " | ".join(_made(cell).replace("|", "\\|") for cell in cells) + " |")

    return [line(titles), Markup(f"|{' --- |' * len(titles)}"), *(line(row) for row in rows)]


def document(lines: Iterable[str]) -> str:
    """The whole text, a line or a block each."""
    return inert("".join(f"{_made(line)}\n" for line in lines))


def _made(text: str) -> Markup:
    return text if isinstance(text, Markup) else as_text(text)


def _spans(words: Sequence[str]) -> str:
    """Words side by side as one piece of code; a full stop behind it is the sentence's."""
    text = " ".join(words)
    plain = text.rstrip(_STOPS)
    return f"{as_code(plain)}{text[len(plain) :]}" if plain else as_code(text)


def as_markdown(tree: Section) -> str:
    """The whole document."""
    lines = [heading(1, tree.title), "", *_lines(tree.nodes, 2)]
    return document(lines[:-1])


def _lines(nodes: Iterable[Node], level: int) -> Iterator[str]:
    """The nodes, an empty line after each; headings in them are of this level."""
    for node in shown(nodes, "markdown"):
        if isinstance(node, Note):
            said = f"{node.label}: {node.text}" if node.label else node.text
            yield said if node.level in {"", "quiet"} else bold(said)
        elif isinstance(node, Code):
            yield block(node.text, node.language)
        elif isinstance(node, Table):
            yield from table([column.title for column in node.columns if not column.bar], _rows(node))
        elif isinstance(node, Facts):
            quoted = [item(as_code(fact.line)) for fact in node.facts if fact.line]
            if not quoted:
                continue
            yield from quoted
        elif isinstance(node, Section | FindingNode):
            title = f"{node.level}: {node.title}" if isinstance(node, FindingNode) else node.title
            yield from [heading(level, title), ""] if title else []
            yield from _lines(node.nodes, level + 1)
            continue
        else:
            yield node.said
            yield from ["", block("\n".join(node.letters(_WIDTH)))] if node.letters else []
        yield ""


def _rows(found: Table) -> Iterator[list[str]]:
    for place, row in enumerate(found.rows):
        cells = [
            as_code(cell) if column.code and cell not in {"", DASH} else cell
            for column, cell in zip(found.columns, row, strict=True)
            if not column.bar
        ]
        yield [bold(cells[0]), *cells[1:]] if found.levels and found.levels[place] == "strong" else cells
