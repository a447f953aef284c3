"""The benchmarks that clusters are tried with: tf_cnn_benchmarks, and Horovod's synthetic ones.

``10<TAB>images/sec: 201.8 +/- 0.4 (jitter = 1.2)<TAB>7.93``: step, mean images/s since the warm-up over all devices, loss.
``Iter #3: 123.4 img/sec per GPU``: images/s of one device over a round of (by default ten) batches; step is the round.
No line tells how long a step took. Trap: ``total images/sec`` and ``Img/sec per GPU: … +-`` are summaries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, number
from monitor.parse.rows import Reading

FORMAT = "tf-benchmarks"
GATES = ("images/sec: ", "img/sec per ")

_NUMBER = r"(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?)"
_CNN = re.compile(
    rf"(?<![\w.])(?P<step>\d{{1,15}})\s{{1,4}}images/sec: (?P<rate>{_NUMBER}) \+/- {_NUMBER} \(jitter = {_NUMBER}\)"
    rf"(?:\s{{1,4}}(?P<loss>-?{_NUMBER}|nan|-?inf))?"
)
_HOROVOD = re.compile(rf"\bIter #(?P<step>\d{{1,15}}): (?P<rate>{_NUMBER}) img/sec per (?P<device>GPU|CPU|TPU)\b")


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    if match := _CNN.search(text):
        yield Reading(
            format=FORMAT,
            step=count(match["step"]),
            meaning="running-mean",
            throughput=number(match["rate"]),
            throughput_unit="images/s",
            loss=number(match["loss"]),
        )
    elif match := _HOROVOD.search(text):
        yield Reading(
            format=f"{FORMAT}-horovod",
            step=count(match["step"]),
            meaning="interval",
            throughput=number(match["rate"]),
            throughput_unit=f"images/s/{match['device']}",
        )
