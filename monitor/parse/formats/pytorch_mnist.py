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
from collections.abc import Iterator

from monitor.parse.keys import Key, key_of, measured, unit_of
from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading
from monitor.parse.vocabulary import RATE

FORMATS = ("pytorch-mnist", "open-clip")
GATES = ("Train Epoch:",)

_LINE = re.compile(
    r"\bTrain Epoch:\s{0,9}(?P<epoch>\d{1,9})\s{1,9}\[\s{0,9}(?P<step>\d{1,15})/\d{1,15}\s{0,3}"
    r"\(\s{0,3}\d{1,3}(?:\.\d{1,9})?%\)\]"
    r"(?P<rest>[^\[]{0,500})"
)
_LOSS = re.compile(r"(?i)\bloss[:=]?\s{0,9}(?P<loss>-?(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?|nan|inf))")
_BATCH = re.compile(r"\bBatch \(t\):?\s{1,4}(?P<time>\d{1,9}(?:\.\d{1,9})?)(?:, (?P<rate>\d[\d.e+]{0,20})/s)?")

_ITERATIONS = re.compile(
    r"(?P<step>\d{1,12}), Loss: [-\d.a-z+]{1,30}, Elapsed time: (?P<time>[\d.]{1,20})s\((?P<each>\d{1,9}) iters\)"
)
_MORE = re.compile(
    r"(?P<name>[A-Za-z][\w/ ]{1,30})[:=]\s{0,4}(?P<value>\d{1,12}(?:\.\d{1,12})?)"
    r"(?:\s?(?P<unit>[A-Za-z]{1,10}(?:/[A-Za-z]{1,10})?))?"
)


def read(text: str) -> Iterator[Reading]:
    """The reports in ``text``."""
    for match in _LINE.finditer(text):
        rest = match["rest"]
        loss = _LOSS.search(rest)
        report = Reading(
            format=FORMATS[0],
            step=count(match["step"]),
            epoch=count(match["epoch"]),
            loss=number(loss["loss"]) if loss else None,
        )
        if "Batch (t)" in rest and (batch := _BATCH.search(rest)):
            rate = number(batch["rate"])
            yield report._replace(
                format="open-clip",
                time_s=duration_s(number(batch["time"])),
                meaning="interval",
                throughput=rate,
                throughput_unit="" if rate is None else "samples/s",
            )
        elif "iters)" in rest and (several := _ITERATIONS.match(rest)):
            time, each = number(several["time"]), count(several["each"])
            yield report._replace(
                step=count(several["step"]),
                time_s=duration_s(time / each) if time and each else None,
                meaning="interval",
            )
        else:
            yield _with_more(report, rest[loss.end() :]) if loss else report


def _with_more(report: Reading, rest: str) -> Reading:
    """The report with the time of a step and the throughput that stand behind its loss."""
    for match in _MORE.finditer(rest):
        key, value = _key(match["name"].strip(), match["unit"] or ""), number(match["value"])
        if key is None or not value:
            continue
        if key.what == "time" and key.order < RATE and report.time_s is None:
            report = report._replace(time_s=duration_s(value * (key.factor or 1.0)), meaning=key.meaning)
        elif key.what == "throughput" and key.unit and report.throughput is None:
            report = report._replace(throughput=value * (key.factor or 1.0), throughput_unit=key.unit)
    return report


def _key(name: str, unit: str) -> Key | None:
    return measured(key_of(name), unit_of(unit) if unit else None)
