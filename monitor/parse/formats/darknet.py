"""Darknet, its detector and its classifier.

`` 120: 2.310000, 2.450000 avg loss, 0.001000 rate, 3.912345 seconds, 7680 images, 10.2 hours left``: the iteration's loss and
their smoothed mean, the seconds of this iteration without the wait for its data. The first releases say ``avg,`` and no
hours; the classifier prints the epoch behind the iteration, ``120, 1.870: 0.67, …``. Traps: ``Loaded: 0.000032 seconds``
and the lines of each layer tell other things.
"""

from monitor.parse.family import Line

GATES = (" rate, ",)
LINES = (
    Line(
        "darknet",
        r"(?<![\w.,])<step>(?:, \d{1,9}\.\d{1,6})?: <loss>, <number> avg(?: loss)?, <number> rate, <s> seconds, <count> images\b",
    ),
)
