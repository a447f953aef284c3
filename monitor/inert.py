"""The characters that a terminal would obey, or hide, instead of showing them. Each has a visible sign in its place.

Log lines, job names, what AWS says, file names and arguments come from anybody. All that this program writes is made inert
where it goes out: see ``monitor.terminal``. Characters are replaced and not sequences, so nothing becomes whole behind it.
"""

from __future__ import annotations

import re

# Controls (C0 but tab and line feed, DEL, C1), what turns the direction of text, what has no width or shows nothing (tags
# too; the selectors of emoji are fine), separators of lines and paragraphs, and halves of characters.
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\ud800-\udfff]"
)
_PICTURES = 0x2400  # of U+0000 to U+001F, in their order
_SIGNS = {0x7F: "\N{SYMBOL FOR DELETE}"}
_REPLACED = "\N{REPLACEMENT CHARACTER}"


def inert(text: str) -> str:
    """The text with a visible sign for each character that a terminal would obey or hide; only lines and tabs are kept."""
    return _OBEYED.sub(_sign, text)


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(_PICTURES + code) if code < 0x20 else _SIGNS.get(code, _REPLACED)
