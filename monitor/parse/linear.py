"""Patterns from outside, compiled on RE2: its time is linear in the text, so that no pattern can hang the program."""

from __future__ import annotations

import re

import re2

#: What ``compiled`` raises for a pattern that RE2 does not take.
Refused = re2.error


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern on RE2, with the interface of ``re``. Refused where it is none or needs more than linear time."""
    options = re2.Options()
    options.log_errors = False
    found: re.Pattern[str] = re2.compile(pattern, options)
    return found
