"""The line of PyTorch's MNIST example, as copied into Horovod's, SageMaker's and very many own scripts.

``Train Epoch: 1 [10240/60000 (17%)]<TAB>Loss: 1.373``: the number counts samples of the epoch and begins again with
each; it says neither how many steps nor how long they took, so there is a loss and no time. Trap: several ranks write
into one line. OpenCLIP adds ``Batch (t): 0.512, 2000.1/s, 250.0/s/gpu``: the mean time of a batch since the last report (in
the first releases the last one's), and samples/s of all GPUs. CosFace puts the iteration behind the bracket and the time of
several in the end: ``…(17%)]1200, Loss: 9.1, Elapsed time: 15.20s(100 iters)``. What copies add is read where its name or
unit says that it is of one step, or a throughput; a mere ``Time: 12.3`` may be a clock, which nothing here could divide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from monitor.parse.family import Line, reader, spelled
from monitor.parse.fields.keys import key_of, measured, unit_of
from monitor.parse.fields.vocabulary import RATE
from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMATS = ("pytorch-mnist", "open-clip")
GATES = ("Train Epoch:",)
_HEAD = r"\bTrain Epoch:\s{0,9}<epoch>\s{1,9}\[\s{0,9}%s/<count>\s{0,3}\(\s{0,3}\d{1,3}(?:\.\d{1,9})?%%\)\]"
_SAMPLES = _HEAD % "<step>" + r"(?P<rest>[^\[]{0,500})"
_LOSS = r"(?i)\bloss[:=]?\s{0,9}<loss>"
LINES = (
    Line(
        "open-clip",
        _SAMPLES,
        more=(_LOSS, r"\bBatch \(t\):?\s{1,4}<s>(?:, <rate>/s)?"),
        unit="samples/s",
        meaning="interval",
        needs="s",
        many=True,
    ),
    Line(
        "pytorch-mnist",
        _HEAD % "<count>" + r"<step>, Loss: <loss>, Elapsed time: <s>s\(<over> iters\)",
        meaning="interval",
        many=True,
    ),
)
_read_line = reader(LINES, __name__)
_COPY = re.compile(spelled(_SAMPLES))
_LOSS_OF_COPY = re.compile(spelled(_LOSS))
_MORE = re.compile(
    r"(?:(?P<name>[A-Za-z][\w/ ]{1,30})[:=]\s{0,4})?(?<![\w.])(?P<value>\d{1,12}(?:\.\d{1,12})?)"
    r"(?:\s?(?P<unit>[A-Za-z]{1,10}(?:/[A-Za-z]{1,10})?))?"
)


def read(text: str) -> Iterable[Reading]:
    """The reports in ``text``."""
    return list(_read_line(text)) or [_copied(match) for match in _COPY.finditer(text)]


def _copied(match: re.Match[str]) -> Reading:
    """A report with the time of a step and the throughput that stand behind its loss."""
    report = Reading("pytorch-mnist", count(match["step"]), epoch=count(match["epoch"]))
    if (loss := _LOSS_OF_COPY.search(match["rest"])) is None:
        return report
    report = report._replace(loss=number(loss["loss"]))
    for more in _MORE.finditer(match["rest"], loss.end()):
        unit = unit_of(more["unit"]) if more["unit"] else None
        key = measured(key_of(more["name"].strip()) if more["name"] else None, unit)
        value = number(more["value"])
        if key is None or not value:
            continue
        if key.what == "rate" and report.time_s is None:
            report = report._replace(
                time_s=duration_s(1.0 / value), meaning=key.meaning, throughput=value, throughput_unit="it/s"
            )
        elif key.what == "time" and key.order < RATE and report.time_s is None:
            report = report._replace(time_s=duration_s(value * (key.factor or 1.0)), meaning=key.meaning)
        elif key.what == "throughput" and key.unit and report.throughput is None:
            report = report._replace(throughput=value * (key.factor or 1.0), throughput_unit=key.unit)
    return report
