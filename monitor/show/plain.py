"""How does text from others get onto a page? As itself: nothing in it becomes markup, a link, an image or an icon."""

from __future__ import annotations

import re

_JOINER = "\u2060"  # invisible and without width
# Options and patterns are to be copied: they stand as code, where no invisible sign gets between.
_OPTION = re.compile(r"(?<![\w`-])(--[a-z][\w-]*(?: '[^'`]{1,400}')?)(?![\w`])")


def advice(text: str) -> str:
    """As ``plain``, for sentences of this program: the command line options in them stand as code."""
    parts = _OPTION.split(" ".join(text.split()))
    return "".join(f"`{part}`" if number % 2 else plain(part, strip=False) for number, part in enumerate(parts))


def plain(text: str, strip: bool = True) -> str:
    """The text such that Markdown shows it as it is: no markup, links, images, icons, formulas or arrows come of it."""
    text = " ".join(text.split()) if strip else text
    escaped = re.sub(r"([\\`*_{}\[\]()#+\-.!|<>~$:&@/^=])", r"\\\1", text)
    # Addresses, mail and arrows are recognized after escapes are resolved; an invisible joiner parts them.
    return re.sub(r"(\\:(?=\\/\\/)|www(?=\\\.)|\\@|\\-(?=\\[->])|\\<(?=\\-))", rf"\1{_JOINER}", escaped)
