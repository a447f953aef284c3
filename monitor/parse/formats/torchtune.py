"""torchtune: its bars, and the lines of its metric logger.

``2|410|Loss: 0.8712:  26%|██▌       | 84/326 [02:01<05:50,  1.45s/it]``: epoch, global step and that step's loss stand in
front of a tqdm bar that counts within the epoch. ``Step 410 | loss:0.8712 lr:2e-05 tokens_per_second_per_gpu:1210.5
peak_memory_reserved:31.2``: tokens per second of that step, memory in GiB; no time. Lines that start with val_loss are
a validation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from monitor.parse.family import Line, no_step, reader, spelled
from monitor.parse.formats import tqdm
from monitor.parse.numbers import count, number
from monitor.parse.rows import Reading

FORMATS = ("torchtune",)
GATES = ("|Loss: ", " | loss:", " | val_loss:")
BEFORE = {"tqdm": "it reads the same bars, without the epoch and the step of the run in front"}

_BAR = re.compile(spelled(r"(?<!\d)<epoch>\|<step>\|Loss: <loss>: "))
LINES = (
    Line(
        "torchtune",
        r"\bStep <step> \| loss:<loss>(?= |$)",
        more=(r"(?<= )tokens_per_second_per_gpu:<rate>", r"(?<= )peak_memory_reserved:<gib>"),
        unit="tokens/s/GPU",
    ),
    no_step(r"\bStep \d{1,12} \| val_loss:"),
)
_read_line = reader(LINES, __name__)


def read(text: str) -> Iterable[Reading]:
    """The redraws or the report in ``text``."""
    bar = _BAR.search(text)
    if bar is None:
        return _read_line(text)
    step, epoch, loss = count(bar["step"]), count(bar["epoch"]), number(bar["loss"])
    return [redraw._replace(counter=step, epoch=epoch, loss=loss, bar="Loss") for redraw in tqdm.read(text)]
