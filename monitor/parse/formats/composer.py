"""MosaicML Composer and llm-foundry: a block of metrics, its head and what stands in the lines below it.

``[batch=1200/4800]:`` and then ``Train loss/train/total: 2.31``, ``Train throughput/batches_per_sec: 0.41`` (the mean of the
last 100 batches), ``Train memory/peak_reserved_mem: 51.3`` (10^9 bytes): the head gives the step, each line below it is
one that says more of the report before it; some logs keep the block together as one record. ``[epoch=2][batch=31/196]:``
counts within an epoch. ``time/batch`` inside the block is one behind its head, the other ``time/…`` are sums since the
start; ``[Eval batch=…`` is an evaluation; heads that count tokens or samples, ``[token=…``, give no step. Releases of 2022
repeat the head before each metric: the line of the loss is the report.
"""

from monitor.parse.family import Line, no_step

GATES = (
    *("[batch=", "[Eval batch=", "Train loss/train/total:", "Train loss/train:"),
    *("Train throughput/batches_per_sec:", "Train memory/peak_reserved_mem:"),
)
# Within an epoch the number behind the slash is the epoch's length, not the plan.
_HEAD = r"(?:\[epoch=<epoch>\]\[batch=<step>(?:/\d{1,12})?|\[batch=<step2>(?:/<total>)?)\]:?[ \t]*"
_FIGURES = (
    r'\bloss/train(?:/total)?"?:\s*<loss>',
    r"\bTrain throughput/batches_per_sec:\s*<pace>",
    r"\bTrain memory/peak_reserved_mem:\s*<gb>",
)
LINES = (
    Line("composer", _HEAD + r"(?=\n|\Z)", _FIGURES, meaning="smoothed"),
    Line("composer", _HEAD, _FIGURES, meaning="smoothed", needs="loss"),
    Line("composer", r"^\s*(?=Train (?:loss|throughput|memory)/)", _FIGURES, meaning="of-last", needs="loss|pace|gb"),
    no_step(r"\[batch=\d{1,12}(?:/\d{1,12})?\]|\[Eval batch="),
)
