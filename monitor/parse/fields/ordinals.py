"""Counts whose names stand around or behind them, put in front: "第 3 轮" is epoch 3, "100th iteration" is iteration 100, "3/20
epochs" epoch 3; and what is counted where an agent plays: "Ep. 12 | reward 3.5" is episode 12.
"""

from __future__ import annotations

import re

from monitor.parse.fields.languages import in_english

_AROUND = re.compile(r"第\s?(?P<count>\d{1,9})\s?个?\s?(?P<name>步|轮|次|批|epoch|step|iter(?:ation)?|batch)(?![a-z])")
_NAMES = {"步": "step", "轮": "epoch", "次": "iteration", "批": "batch"}
_BEHIND = re.compile(
    r"(?i)(?<![\w.])(?P<count>\d{1,9})-?(?:st|nd|rd|th)[ -](?P<name>epoch|(?:mini-?)?batch|iter(?:ation)?|step|update)\b(?!s)"
)
_EPOCHS_BEHIND = re.compile(r"(?<![\w./-])(?P<count>\d{1,6} ?/ ?\d{1,6}) epochs?\b(?!-)")
# Beside what an agent gains its episodes are counted, and not epochs.
_EP = re.compile(r"(?<![A-Za-z_])(?:ep|Ep|EP)\.?(?=(?: ?[:#=\[]| )\W{0,3}\d)")
_GAINS = re.compile(r"(?i)reward|\breturns?\b|_return|epsilon|(?<![a-z])(?:ep|mean|avg)?_?(?:rew|ret)(?![a-z])")
_SCORES = re.compile(r"(?i)(?!.*(?:loss|acc|f1|val)).*\bscore\b")
# What the environment counts is the step where nothing else is counted beside a gain.
_OF_ENVIRONMENT = re.compile(
    r"(?i)(?<![a-z])(?:(?:num|total|n)[ _])?(?:env(?:ironment)?[ _]steps?|time[ _]?steps?|frames?)(?=\W{1,4}\d)"
)
_COUNTED = re.compile(
    r"(?i)(?<![a-z])(?:ep\.?|episodes?|epochs?|it|itrs?|iter\w*|upds?|updates?|rollout|game)['\" :=#\[]{1,4}\d"
)
# "loss 为 2.3"
_IS = re.compile(r"(?<=[A-Za-z])\s?[为是](?=\s?\d)")


def named_first(text: str) -> str:
    """``text`` with those names in front of their counts, in English, and with the signs that ASCII has."""
    if not text.isascii():
        if "第" in text:
            text = _AROUND.sub(lambda match: f"{_NAMES.get(match['name'], match['name'])} {match['count']} ", text)
        text = _IS.sub(":", in_english(text))
    if "rew" in text or "Rew" in text or "ret" in text or "Ret" in text or "psilon" in text or "core" in text:
        text = _of_games(text)
    if " epoch" in text and "/" in text:
        text = _EPOCHS_BEHIND.sub(r"epoch \g<count>", text)
    return _BEHIND.sub(r"\g<name> \g<count>", text) if "th" in text or "st " in text or "d " in text else text


def _of_games(text: str) -> str:
    gains = _GAINS.search(text) is not None
    if gains or _SCORES.match(text) is not None:
        text = _EP.sub("episode", text)
    return _OF_ENVIRONMENT.sub("step", text) if gains and _COUNTED.search(text) is None else text
