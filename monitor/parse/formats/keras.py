"""Keras 2 and 3 (tf.keras too): the progress bar (verbose=1) and the line an epoch (verbose=2).

``40/40 ━━━━━ 4s 101ms/step - accuracy: 0.52 - loss: 0.82 - val_loss: 0.7`` (Keras 3), ``19/19 [=====] - 2s 105ms/step -
loss: 0.4`` (Keras 2, closing redraw), ``500/500 - 121s - loss: 2.4 - 121s/epoch - 242ms/step`` and ``40/40 - 4s -
101ms/step - loss: 0.8`` (verbose=2). The time a step, in us, ms or s, is the mean since the epoch's start: a bar leaves
the first step out, the closing redraw and verbose=2 hold validation and saving too. ``87us/sample`` is a rate in samples.
Before TensorFlow 2.4 verbose=2 gave the seconds of the epoch alone, ``500/500 - 121s - loss: 2.4``, and 500 may be samples: a
loss and no time; ``- 121s - loss: 2.4`` tells of an epoch and no step. The counter begins again with each epoch, whose number
the line does not name. Traps: Keras 2's redraws in progress (``- ETA: 4s``) give no time; a duration in front of the time a step is an
ETA in progress and the epoch's seconds at its end; ``predict`` draws the same bar but no metrics; ``evaluate`` cannot be
told from ``fit`` by its line, but by its number of batches, which is handed on as the bar's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "keras"
GATES = ("s/step", "s/sample", "s - loss: ")

_HEAD = re.compile(
    r"(?<![\d/.])(?P<step>\d{1,12})/(?P<total>\d{1,12}|Unknown)\s{1,3}(?:\[[=>.]{1,60}\]\s|[━╸╺─]{1,80}\s)?(?:- )?"
    r"(?P<spent>\d{1,8}s|\d{1,3}(?::\d\d){1,2})(?= )"
)
_TIME = re.compile(r"(?:^|\s)(?P<time>\d{1,9})(?P<unit>us|ms|s)/(?P<per>step|sample)\b")
_METRIC = re.compile(r" - [A-Za-z][\w./-]{0,80}: (?:-?\d|nan|-?inf)")
_LOSS = re.compile(r" - loss: (?P<loss>-?(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?|nan|inf))")
_EPOCH_ONLY = re.compile(r"\s{0,40}(?P<step>\d{1,12})/(?P<total>\d{1,12}) - \d{1,8}s(?= - loss: )")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def read(text: str) -> Iterator[Reading]:
    """The redraws and epoch lines in ``text`` that give a time, or an epoch's loss."""
    if "s/step" not in text and "s/sample" not in text:
        epoch = _EPOCH_ONLY.match(text)
        loss = _LOSS.search(text, epoch.end()) if epoch else None
        if epoch and loss:
            yield Reading(
                format=FORMAT,
                step=count(epoch["step"]),
                meaning="running-mean",
                loss=number(loss["loss"]),
                bar=epoch["total"],
            )
        return
    heads = list(_HEAD.finditer(text))
    for place, head in enumerate(heads):
        rest = text[head.end() : heads[place + 1].start() if place + 1 < len(heads) else None]
        time = _TIME.search(rest)
        if time is None or not _METRIC.search(rest):
            continue
        printed = number(time["time"])
        each_s = None if printed is None else duration_s(printed * _SECONDS[time["unit"]])
        by_step = time["per"] == "step"
        loss = _LOSS.search(rest)
        yield Reading(
            format=FORMAT,
            step=count(head["step"]),
            time_s=each_s if by_step else None,
            meaning="running-mean",
            throughput=1.0 / each_s if each_s and not by_step else None,
            throughput_unit="samples/s" if each_s and not by_step else "",
            loss=number(loss["loss"]) if loss else None,
            bar="" if head["total"] == "Unknown" else head["total"],
        )
