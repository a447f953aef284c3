"""How long is an answer for a model, and what of it fits? Whole items are left out, and what is left out is said."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

# What tokenizers of the large models make one piece of, about: some letters of a word, up to three digits, a sign.
_PIECE = re.compile(r"[^\W\d_]+|\d{1,3}|[^\w\s]|_")
_LETTERS = 6
_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool says: ``text`` for a model, ``data`` (plain JSON) for a program. Both say the same."""

    text: str
    data: Mapping[str, Any]

    @property
    def tokens(self) -> int:
        """Of the longer of the two: a client hands one of them to its model."""
        return max(tokens(self.text), tokens(json.dumps(self.data, ensure_ascii=False, separators=(",", ":"))))


def tokens(text: str) -> int:
    """About how many tokens a text is, for any model: a fourth of its characters, or its words and signs if they are more.

    No model's own count: they differ by a fifth, and none comes with this program.
    """
    pieces = sum(math.ceil(len(piece) / _LETTERS) for piece in _PIECE.findall(text))
    return max(math.ceil(len(text) / _PER_TOKEN), pieces)


def fitted(make: Callable[[int], Answer], items: int, cap: int) -> Answer:
    """The answer of ``make`` with as many of the items as fit into so many tokens; it says by itself what is left out."""
    shown, step = items, max(1, items // 8)
    answer = make(shown)
    while shown and answer.tokens > cap:
        shown = max(0, shown - step)
        answer = make(shown)
    while step > 1 and shown < items and (more := make(shown + 1)).tokens <= cap:
        shown, answer = shown + 1, more
    return answer


def clipped(text: str, longest: int) -> str:
    """One line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
