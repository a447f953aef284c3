"""Counts whose names stand around or behind them, put in front: "第 3 轮" is epoch 3, "100th iteration" is iteration 100."""

from __future__ import annotations

import re

from monitor.parse.fields.languages import in_english

_AROUND = re.compile(r"第\s?(?P<count>\d{1,9})\s?个?\s?(?P<name>步|轮|次|批|epoch|step|iter(?:ation)?|batch)(?![a-z])")
_NAMES = {"步": "step", "轮": "epoch", "次": "iteration", "批": "batch"}
_BEHIND = re.compile(
    r"(?i)(?<![\w.])(?P<count>\d{1,9})(?:st|nd|rd|th)[ -](?P<name>epoch|(?:mini-?)?batch|iter(?:ation)?|step|update)\b(?!s)"
)
# "loss 为 2.3"
_IS = re.compile(r"(?<=[A-Za-z])\s?[为是](?=\s?\d)")


def named_first(text: str) -> str:
    """``text`` with those names in front of their counts, in English, and with the signs that ASCII has."""
    if not text.isascii():
        if "第" in text:
            text = _AROUND.sub(lambda match: f"{_NAMES.get(match['name'], match['name'])} {match['count']} ", text)
        text = _IS.sub(":", in_english(text))
    return _BEHIND.sub(r"\g<name> \g<count>", text) if "th" in text or "st " in text or "d " in text else text
