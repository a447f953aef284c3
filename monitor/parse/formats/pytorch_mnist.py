"""The line of PyTorch's MNIST example, as copied into Horovod's, SageMaker's and very many own scripts.

``Train Epoch: 1 [10240/60000 (17%)]<TAB>Loss: 1.373``: the number counts samples of the epoch and begins again with
each; it says neither how many steps nor how long they took, so there is a loss and no time. Trap: several ranks write
into one line. OpenCLIP adds ``Batch (t): 0.512, 2000.1/s, 250.0/s/gpu``: the mean time of a batch since the last report (in
the first releases the last one's), and samples/s of all GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "pytorch-mnist"
GATES = ("Train Epoch:",)

_LINE = re.compile(
    r"\bTrain Epoch:\s{0,9}(?P<epoch>\d{1,9})\s{1,9}\[\s{0,9}(?P<step>\d{1,15})/\d{1,15}\s{0,3}"
    r"\(\s{0,3}\d{1,3}(?:\.\d{1,9})?%\)\]"
    r"(?P<rest>[^\[]{0,500})"
)
_LOSS = re.compile(r"(?i)\bloss[:=]?\s{0,9}(?P<loss>-?(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?|nan|inf))")
_BATCH = re.compile(r"\bBatch \(t\):?\s{1,4}(?P<time>\d{1,9}(?:\.\d{1,9})?)(?:, (?P<rate>\d[\d.e+]{0,20})/s)?")


def read(text: str) -> Iterator[Reading]:
    """The reports in ``text``."""
    for match in _LINE.finditer(text):
        rest = match["rest"]
        loss, batch = _LOSS.search(rest), _BATCH.search(rest) if "Batch (t)" in rest else None
        rate = number(batch["rate"]) if batch else None
        yield Reading(
            format="open-clip" if batch else FORMAT,
            step=count(match["step"]),
            epoch=count(match["epoch"]),
            time_s=duration_s(number(batch["time"])) if batch else None,
            meaning="interval" if batch else "step",
            throughput=rate,
            throughput_unit="" if rate is None else "samples/s",
            loss=number(loss["loss"]) if loss else None,
        )
