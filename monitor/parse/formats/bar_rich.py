"""Lightning's RichProgressBar: a bar of the rich library, not tqdm's.

``Epoch 3/9  ━━━━━━━━╸━━━━━━━━━━━━ 38/48 0:00:02 • 0:00:01 19.31it/s v_num: 0.000 train_loss: 0.310``: batches of the epoch,
the time since the epoch began, an estimate, the rate over the last 30 seconds and whatever the module logged. The rate
never turns over to seconds and has two decimals: where it is rounded to 0.00 the time is the mean since the epoch
began. It is handed on as a tqdm bar. Traps: bars of ``Validation``, ``Sanity Checking`` and ``Testing`` look alike; a total
that is not known is ``--``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import clock_s, count, duration_s, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "tqdm"
GATES = ("• ",)

_BAR = re.compile(
    r"(?P<what>[^\n━╸╺]{0,60})(?<![━╸╺-])[━╸╺-]{1,400} {1,9}(?P<step>\d{1,15})/(?P<total>\d{1,15}|--) {1,9}"
    r"(?P<clock>(?:\d{1,4} days?, )?\d{1,4}:\d\d:\d\d) • {1,9}(?:(?:\d{1,4} days?, )?[-\d]{1,4}:[-\d]\d?-?:[-\d]\d?-? {1,9})?"
    r"(?P<rate>\d{1,9}\.\d\d)it/s(?P<rest>[^━\n]{0,600})"
)
_EPOCH = re.compile(r"\bEpoch (?P<epoch>\d{1,9})")
_LOSS = re.compile(
    r"(?<![\w/.-])(?:train[_/])?loss(?:_step)?: (?P<loss>[-+]?(?:\d[\d.]{0,30}(?:[eE][-+]?\d{1,3})?|nan|inf))"
)


def read(text: str) -> Iterator[Reading]:
    """The redraws of training bars in ``text``."""
    if "it/s" not in text:
        return
    for match in _BAR.finditer(text):
        epoch = _EPOCH.search(match["what"])
        if epoch is None:
            yield NO_STEP
            continue
        step, rate, clock = count(match["step"]), number(match["rate"]), clock_s(match["clock"])
        loss = _LOSS.search(match["rest"])
        mean_s = clock / step if step and clock else None
        yield Reading(
            format=FORMAT,
            step=step,
            total=count(match["total"]),
            epoch=count(epoch["epoch"]),
            time_s=duration_s(1.0 / rate if rate else mean_s),
            meaning="smoothed" if rate else "running-mean",
            clock_s=clock,
            clock_tick_s=1.0,
            throughput=rate or None,
            throughput_unit="it/s" if rate else "",
            loss=number(loss["loss"]) if loss else None,
            bar="Epoch rich",
        )
