"""Writes the pages of documentation that are made from the code: ``python -m tests.write_docs``."""

from __future__ import annotations

from pathlib import Path

from monitor.diagnose.rule import SECTIONS
from monitor.diagnose.rulebook import rules

FINDINGS = Path(__file__).parents[1] / "docs" / "findings.md"


def findings_page() -> str:
    """The manual of every rule, in the order in which rules are asked."""
    lines = [
        "# Findings",
        "",
        "Every finding has an id, a severity, evidence, a next step, and what was not checked. This page is generated from",
        "the rules (`python -m tests.write_docs`); a test keeps it up to date.",
    ]
    for rule in rules():
        lines += ["", f"## `{rule.id}`", "", rule.title]
        for section in SECTIONS:
            text = rule.section(section)
            lines += ["", f"**{section}.** {text[:1].upper()}{text[1:]}"]
        if rule.silenced_by:
            lines += ["", f"Not reported together with {', '.join(f'`{other}`' for other in rule.silenced_by)}."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FINDINGS.write_text(findings_page(), encoding="utf-8")
