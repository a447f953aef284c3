"""AWS's training examples for Trainium (neuronx-distributed, the BERT and Llama tutorials).

``LOG Fri Jan  2 10:00:00 2026 - (0, 12) step_loss : 8.1234 learning_rate : 1.00e-04 throughput : 12.34 grad-norm : 1.2``:
epoch and global step; sequences of all workers per second, a moving average over the last (by default ten) steps. There
is no time in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, number
from monitor.parse.rows import Reading

FORMAT = "neuron"
GATES = (") step_loss : ",)

_NUMBER = r"-?\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?|nan|-?inf"
_LINE = re.compile(
    rf"\(\d{{1,9}}, (?P<step>\d{{1,12}})\) step_loss : (?P<loss>{_NUMBER}) "
    rf"(?:learning_rate : \S{{1,30}} throughput : (?P<rate>{_NUMBER}))?"
)


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    match = _LINE.search(text)
    if match is None:
        return
    # The first steps have none yet.
    rate = number(match["rate"]) or None
    yield Reading(
        format=FORMAT,
        step=count(match["step"]),
        meaning="smoothed",
        throughput=rate,
        throughput_unit="" if rate is None else "sequences/s",
        loss=number(match["loss"]),
    )
