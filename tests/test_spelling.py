"""One spelling, American, in everything that people read: documentation, docstrings, and the texts in the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for top in ("monitor", "pages", "benchmarks") for path in (ROOT / top).rglob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "monitor").rglob("*.j2"))]

_STEMS = (
    "capital|categor|character|emphas|final|general|initial|maxim|minim|normal|optim|organ|real|recogn|serial|special|"
    "summar|synchron|token|util|visual"
)
BRITISH = re.compile(
    r"\b(?:\w*(?:behaviour|colour|favour|flavour|honour|humour|labour|neighbour|rumour)\w*"
    rf"|\w*(?:{_STEMS})is(?:e|ed|es|er|ers|ing|ation|ations)"
    r"|(?:analys|catalys|paralys)(?:e|ed|er|ers|ing)|\w*(?:catalogue|licence|defence|offence|pretence)s?"
    r"|\w*(?:cancell|labell|modell|travell|signall|totall|fuell|channell|levell)(?:ed|ing)"
    r"|(?:centre|fibre|litre|metre|theatre)[sd]?|gr[e]y\w*|judgement\w*|acknowledgement\w*|programmes?|whilst|amongst"
    r"|towards|afterwards|learnt|spelt|burnt|ageing|artefacts?|fulfil|enrol|instalments?|practis(?:e|ed|ing))\b",
    re.IGNORECASE,
)
# What is quoted is somebody else's: code in backticks, blocks of code, and the wrong name in an example.
_QUOTED = re.compile(r"```.*?```|``.*?``|`[^`]*`", re.DOTALL)


def british(text: str) -> list[str]:
    """The words of a text that are spelled otherwise; identifiers and what is quoted may be."""
    return [
        found[0] for found in BRITISH.finditer(_QUOTED.sub("", text)) if "_" not in found[0] and not found[0].isupper()
    ]


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of each literal with more than one word; patterns, which have backslashes, are no texts."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        if " " in text.strip() and "\\" not in text:
            yield node.lineno, text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The colours of neighbouring lanes are grey.", ["colours", "neighbouring", "grey"]),
        ("None was recognised; its behaviour is modelled.", ["recognised", "behaviour", "modelled"]),
        ("A canceled job, analyzed toward the center; four tires, a metering device, realism.", []),
        ("`colour` and shard_optimiser_state are names.", []),
    ],
)  # fmt: skip
def test_words_are_told_apart(text: str, found: list[str]) -> None:
    assert british(text) == found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_documentation_is_in_american_spelling(path: Path) -> None:
    assert british(path.read_text(encoding="utf-8")) == []


def test_texts_and_docstrings_are_in_american_spelling() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}": words
        for path in SOURCES
        for line, text in texts(path)
        if (words := british(text))
    }
    assert not found
