"""A document as one HTML page that contains all it shows: no script, no font, no request; light, dark and on paper.

It opens from an e-mail, offline, and under any policy. The template escapes all text.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import takewhile
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from monitor import __version__
from monitor.document import Note, Section, shown

_LEVELS = {
    "critical": "Critical",
    "warning": "Warning",
    "healthy": "Healthy",
    "partial": "Partial data",
    "muted": "Muted",
    "unknown": "Not judged",
}


def as_html(tree: Section, made: str, note: str = "") -> str:
    """The page; ``made`` says when it was made, and ``note`` stands above all."""
    head = list(takewhile(lambda node: isinstance(node, Note), tree.nodes))
    page = _template().render(
        title=tree.title, head=head, rest=tree.nodes[len(head) :], made=made, note=note, version=__version__
    )
    return f"{page}\n"


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "levels": _LEVELS,
        "shown": partial(shown, form="html"),
        "kind_of": lambda node: type(node).__name__,
    }
    return environment.get_template("page.html.j2")
