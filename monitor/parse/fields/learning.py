"""Which learning rate does a line of a step print? However its family sets it: ``lr: 1.5e-4``, ``learning rate: 1.5E-04 |``,
``"learning_rate": 5e-05``, ``lr=[0.001, 0.001]`` (the first group's), ``lr:(1.0e-04,)``, ``train/lr 3e-4``, ``lr(Cosine): 0.05``.

It is told beside the step and never makes a line one, so that all families share this.
"""

from __future__ import annotations

import re

from monitor.parse.numbers import number

# Neither the end of another word ("base_lr", "warmup-lr") nor the beginning of one ("lr_scale").
_NAME = r"(?<![\w.-])(?:lr|LR|[Ll]earning[ _-]?[Rr]ate)(?:\(\w{1,30}\))?"
_VALUE = r"(-?\d{1,15}(?:\.\d{1,20})?(?:[eE][-+]?\d{1,3})?)(?![\w%]|\.\d)"
_RATE = re.compile(rf"{_NAME}[\"']?(?:\s{{0,9}}[:=]\s{{0,9}}|\s{{1,9}})[\[(\"']{{0,3}}{_VALUE}")
# A piece of each spelling, and where the name begins before it: finding it is ten times as quick as the pattern.
_SPELLINGS = (("lr", 0), ("earning", 1), ("LR", 0))


def rate_of(text: str) -> float | None:
    """The learning rate that the text prints, the first in one spelling; None where it prints none."""
    found = _printed(text)
    return number(found[1]) if found else None


def _printed(text: str) -> re.Match[str] | None:
    for piece, before in _SPELLINGS:
        at = text.find(piece)
        while at >= 0:
            if found := _RATE.match(text, max(0, at - before)):
                return found
            at = text.find(piece, at + 1)
    return None
