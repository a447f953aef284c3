"""LightGBM's rounds: the Python package's log_evaluation, and the command line's clock.

``[25]<TAB>train's binary_logloss: 0.483<TAB>valid's auc: 0.69``: a round is a step, counted from 1; no time. ``[LightGBM]
[Info] 0.512345 seconds elapsed, finished iteration 5`` (command line): seconds since training began. The loss is the first
one of the data set "train…". Traps: ``init for col-wise cost 0.000008 seconds``; the best round is printed again where
training stopped early.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, number
from monitor.parse.rows import Reading

FORMAT = "lightgbm"
GATES = ("]\t", "]#011", "train's ", "training's ", "valid's ", "valid_0's ", "seconds elapsed, finished iteration ")

_NUMBER = r"(?:-?\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?|nan|-?inf)"
_ROUND = re.compile(
    rf"(?:^|[\s:>])\[(?P<round>\d{{1,9}})\]"
    rf"(?P<scores>\s{{1,8}}[^\s']{{1,80}}'s (?:train |valid )?[\w@.-]{{1,80}}: {_NUMBER}(?=\s|$).*)"
)
_CLOCK = re.compile(r"\b(?P<clock>\d{1,9}\.\d{1,9}) seconds elapsed, finished iteration (?P<round>\d{1,9})")
_LOSS = re.compile(
    rf"\strain[^\s']{{0,60}}'s (?:\w{{0,30}}logloss|l1|l2|rmse|mape|huber|fair|poisson|quantile|tweedie|gamma):"
    rf" (?P<loss>{_NUMBER})"
)


def read(text: str) -> Iterator[Reading]:
    """The round that ``text`` reports, if it does."""
    if "'s " not in text and "finished iteration" not in text:
        return
    if match := _ROUND.search(text):
        loss = _LOSS.search(match["scores"])
        yield Reading(format=FORMAT, step=count(match["round"]), loss=number(loss["loss"]) if loss else None)
    elif match := _CLOCK.search(text):
        yield Reading(
            format=f"{FORMAT}-cli", step=count(match["round"]), time_s=number(match["clock"]), meaning="clock"
        )
