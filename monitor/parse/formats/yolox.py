"""YOLOX.

``epoch: 1/300, iter: 10/1250, gpu mem: 5000Mb, mem: 10.1Gb, iter_time: 0.512s, data_time: 0.010s, total_loss: 10.1, …``:
the time is the mean of an iteration since the last report, in seconds; the iteration counts from 1 and begins again with
each epoch; gpu mem (older: mem) is MiB. Trap: ETA.
"""

from monitor.parse.family import Line

GATES = ("iter_time: ",)
LINES = (
    Line(
        "yolox",
        r"\bepoch: <epoch>/\d{1,9}, iter: <step>/\d{1,15}, (?P<rest>.*)",
        more=(r"\biter_time: <s>s", r"\btotal_loss: <loss>", r"\b(?:gpu )?mem: <mib>Mb"),
        meaning="interval",
        needs="s",
    ),
)
