"""Writes the pages of documentation that are made from the code: ``python -m tests.write_docs``."""

from __future__ import annotations

import inspect
from pathlib import Path

from monitor.diagnose.rulebook import Rule, rules

FINDINGS = Path(__file__).parents[1] / "docs" / "findings.md"
SECTIONS = ("What it means", "Why it matters", "What to do", "Source")


def title_of(rule: Rule) -> str:
    """The first line of a rule's manual."""
    return _manual(rule).partition("\n")[0].strip()


def section_of(rule: Rule, name: str) -> str:
    """The text of one section of the manual; empty if it is missing."""
    for paragraph in _manual(rule).split("\n\n"):
        if paragraph.startswith(f"{name}:"):
            return " ".join(paragraph.removeprefix(f"{name}:").split())
    return ""


def _manual(rule: Rule) -> str:
    return inspect.getdoc(rule.check) or ""


def findings_page() -> str:
    """The manual of every rule, in the order in which rules are asked."""
    lines = [
        "# Findings",
        "",
        "Every finding has an id, a severity, evidence, a next step, and what was not checked. This page is generated from",
        "the rules (`python -m tests.write_docs`); a test keeps it up to date.",
    ]
    for rule in rules():
        lines += ["", f"## `{rule.id}`", "", title_of(rule)]
        for section in SECTIONS:
            text = section_of(rule, section)
            lines += ["", f"**{section}.** {text[:1].upper()}{text[1:]}"]
        if rule.silenced_by:
            lines += ["", f"Not reported together with {', '.join(f'`{other}`' for other in rule.silenced_by)}."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FINDINGS.write_text(findings_page(), encoding="utf-8")
