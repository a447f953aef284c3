"""OpenNMT-py and OpenNMT-tf.

``Step 50/100000; acc: 5.1; ppl: 12345.6; xent: 9.4; lr: 0.00001; sents: 3200; bsz: 900/950/64; 1234/2345 tok/s;     12 sec;``
(py): seconds since training began, whole ones; the rates are of source and target since the last report, the target's is
taken. ``Epoch 2, 150/4000; acc: 5.10; ppl: 900.00; xent: 6.8; 3100 src tok/s; 3000 tgt tok/s; 120 s elapsed`` (py before 1.0):
the same, counted within the epoch. ``Step = 100 ; steps/s = 0.61, tokens/s = 30842 (15k source, 15k target) ; Learning rate =
0.0001 ; Loss = 9.1``
(tf): rates since the last report. Trap: py's perplexity and accuracy of the validation stand on lines of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "opennmt"
GATES = (" tok/s;", " s elapsed", " ; Learning rate = ")

_NUMBER = r"(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?)"
_PY = re.compile(
    r"\bStep\s{1,9}(?P<step>\d{1,15})(?:/\s{0,9}(?P<total>\d{1,15}))?; (?P<fields>[^|]{0,200}?)"
    rf"\s{_NUMBER}/\s{{0,9}}(?P<rate>{_NUMBER}) tok/s;\s{{1,9}}(?P<clock>\d{{1,9}}) sec"
)
_OLD = re.compile(
    r"\bEpoch\s{1,9}(?P<epoch>\d{1,9}),\s{1,9}(?P<step>\d{1,15})/\s{0,9}\d{1,15}; (?P<fields>[^|]{0,200}?)"
    rf"\s(?P<rate>{_NUMBER}) tgt tok/s;\s{{1,9}}(?P<clock>\d{{1,9}}) s elapsed"
)
_PY_LOSS = re.compile(rf"\bxent:\s{{1,9}}(?P<loss>-?{_NUMBER}|nan|-?inf)")
_TF = re.compile(r"\bStep = (?P<step>\d{1,15}) ; (?P<fields>.*)")
_TF_STEPS = re.compile(rf"\bsteps/s = (?P<rate>{_NUMBER})")
_TF_TOKENS = re.compile(rf"\b(?:tokens|target words)/s = (?P<rate>{_NUMBER})")
_TF_LOSS = re.compile(rf"\bLoss = (?P<loss>-?{_NUMBER}|nan|-?inf)")


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    if match := _PY.search(text) or _OLD.search(text):
        parts = match.groupdict()
        loss = _PY_LOSS.search(match["fields"])
        yield Reading(
            format=FORMAT,
            step=count(match["step"]),
            total=count(parts.get("total")),
            epoch=count(parts.get("epoch")),
            meaning="clock",
            clock_s=number(match["clock"]),
            clock_tick_s=1.0,
            throughput=number(match["rate"]),
            throughput_unit="tokens/s",
            loss=number(loss["loss"]) if loss else None,
        )
    elif match := _TF.search(text):
        fields = match["fields"]
        steps, tokens, loss = _TF_STEPS.search(fields), _TF_TOKENS.search(fields), _TF_LOSS.search(fields)
        rate = number(steps["rate"]) if steps else None
        if tokens is None and not rate:
            return
        yield Reading(
            format=f"{FORMAT}-tf",
            step=count(match["step"]),
            time_s=duration_s(1.0 / rate) if rate else None,
            meaning="interval",
            throughput=number(tokens["rate"]) if tokens else rate,
            throughput_unit="tokens/s" if tokens else "it/s",
            loss=number(loss["loss"]) if loss else None,
        )
