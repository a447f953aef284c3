"""Which learning rate does a line of a step print? However its family sets it: ``lr: 1.5e-4``, ``learning rate: 1.5E-04 |``,
``"learning_rate": 5e-05``, ``lr=[0.001, 0.001]`` (the first group's), ``lr:(1.0e-04,)``, ``train/lr 3e-4``, ``lr(Cosine): 0.05``.

It is told beside the step and never makes a line one, so that all families share this.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from monitor.parse.columns import NUMBER, Floats, numbers
from monitor.parse.numbers import number

# Neither the end of another word ("base_lr", "warmup-lr") nor the beginning of one ("lr_scale").
_NAME = r"(?<![\w.-])(?:lr|LR|[Ll]earning[ _-]?[Rr]ate)(?:\(\w{1,30}\))?"
_VALUE = re.compile(rf"({NUMBER})(?![\w%]|\.\d)")
_RATE = re.compile(rf"{_NAME}[\"']?(?:\s{{0,9}}[:=]\s{{0,9}}|\s{{1,9}})[\[(\"']{{0,3}}{_VALUE.pattern}")
# A piece of each spelling, and where the name begins before it: finding it is ten times as quick as the pattern.
_SPELLINGS = (("lr", 0), ("earning", 1), ("LR", 0))


def told(text: str) -> bool:
    """Whether a learning rate may stand in the text; quick."""
    return any(piece in text for piece, _ in _SPELLINGS)


def rate_of(text: str) -> float | None:
    """The learning rate that the text prints, the first in one spelling; None where it prints none."""
    found = _printed(text)
    return number(found[1]) if found else None


def rates_of(texts: Sequence[str]) -> Floats:
    """The same of many texts, NaN where one prints none."""
    out, beginning = [], "\0"
    for text in texts:
        # Lines of one kind set it alike.
        at = text.find(beginning)
        found = _VALUE.match(text, at + len(beginning)) if at >= 0 else None
        if found is None and (found := _printed(text)) is not None and found.start():
            # With the sign before the name, so that it is no part of a longer one.
            beginning = text[found.start() - 1 : found.start(1)]
        out.append(found[1] if found else "nan")
    return numbers(out)


def _printed(text: str) -> re.Match[str] | None:
    for piece, before in _SPELLINGS:
        at = text.find(piece)
        while at >= 0:
            if found := _RATE.match(text, max(0, at - before)):
                return found
            at = text.find(piece, at + 1)
    return None
