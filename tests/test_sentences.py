"""What the program says is said once: no code looks into its own sentences for what they mean.

Whoever needs to know asks the value that the sentence was made from (a code, a kind, a role, a view), since words change.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: The attributes that hold sentences, or parts of them, of this program. (``text`` is a line of a log as often.)
SENTENCES = frozenset(
    {
        "body",
        "caption",
        "detail",
        "doubt",
        "headline",
        "label",
        "memory_method",
        "method",
        "remedy",
        "summary",
        "time_method",
        "title",
        "why",
        "words",
    }
)
_LOOKING = frozenset({"count", "endswith", "find", "index", "rfind", "rindex", "startswith"})
_CUTTING = frozenset(
    {"partition", "removeprefix", "removesuffix", "replace", "rpartition", "rsplit", "split", "splitlines"}
)
_PATTERNS = frozenset({"findall", "finditer", "fullmatch", "match", "search", "split", "sub"})
#: What another service allows is cut off here, and nothing is looked for.
# Rooms that read what others wrote; and sinks, where what another service does not take is cut off, and nothing looked for.
_ELSEWHERE = ("monitor/parse/", "monitor/fetch/", "monitor/alert/sinks/")
# Where the value has no code yet that could be asked: files, with how many places each.
_WITHOUT_A_CODE = {
    "monitor/cli/fleet.py": 1,
    "monitor/diagnose/endings/from_inside.py": 1,
    "monitor/diagnose/endings/from_outside.py": 1,
}


def _is_sentence(node: ast.AST) -> bool:
    """Whether it is one of the attributes, as it is or in another spelling: ``found.title.lower()``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"casefold", "lower"}:
        return _is_sentence(node.func.value)
    if isinstance(node, ast.Attribute) and node.attr == "text":
        return isinstance(node.value, ast.Attribute) and node.value.attr == "recommendation"
    return isinstance(node, ast.Attribute) and node.attr in SENTENCES


def _is_nothing(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value in {None, ""}


def offences(tree: ast.AST) -> Iterator[int]:
    """The lines that compare, search or cut a sentence."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(_is_sentence, sides)) and not any(map(_is_nothing, sides)):
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_text = node.func.attr in _LOOKING | _CUTTING and _is_sentence(node.func.value)
            if of_text or (node.func.attr in _PATTERNS and any(map(_is_sentence, node.args))):
                yield node.lineno
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and _is_sentence(node.value):
            yield node.lineno


def test_no_code_looks_into_the_sentences_of_the_program() -> None:
    found: dict[str, list[int]] = {}
    for path in sorted((*(ROOT / "monitor").rglob("*.py"), *(ROOT / "pages").rglob("*.py"))):
        name = str(path.relative_to(ROOT))
        lines = list(offences(ast.parse(path.read_text(encoding="utf-8"))))
        if not name.startswith(_ELSEWHERE) and len(lines) != _WITHOUT_A_CODE.get(name, 0):
            found[name] = lines
    assert found == {}


@pytest.mark.parametrize(
    ("code", "is_one"),
    [
        ('verdict.headline.startswith("Failed: ")', True),
        ('"but" in verdict.headline', True),
        ('finding.recommendation.text.partition("\\n")', True),
        ('"gpu" in fact.label.lower()', True),
        ('finding.title.partition(" since ")[0]', True),
        ("first.title == verdict.headline", True),
        ("_STEP.search(finding.summary)", True),
        ("finding.summary[:80]", True),
        ('gap.why != ""', False),
        ("finding.summary is None", False),
        ('fact.role == "pace since"', False),
        ('line.text.startswith("step")', False),
        ("f'{finding.title}: {finding.summary}'", False),
    ],
)
def test_what_looking_into_a_sentence_is(code: str, is_one: bool) -> None:
    assert any(offences(ast.parse(code))) == is_one
