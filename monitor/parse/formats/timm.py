"""timm (pytorch-image-models), train.py.

``Train: 0 [  50/1251 (  4%)]  Loss: 6.91 (6.93)  Time: 0.512s, 2000.00/s  (0.530s, 1932.08/s)  LR: 1.000e-04  Data: …``:
the first time is the last update alone (gradient accumulation included), in seconds, with its samples/s over all
devices; in brackets are the means since the epoch's start. The index counts updates from 0, anew in each epoch.
Trap: ``Test: [   0/48]`` is validation.
"""

from monitor.parse.family import Line

GATES = ("Train: ",)
LINES = (
    Line(
        "timm",
        r"\bTrain: <epoch> \[\s{0,9}<step>/\d{1,15} \(\s{0,3}\d{1,3}%\)\](?P<rest>.*)",
        more=(r"\bTime:\s{0,9}<s>s,\s{0,9}<rate>/s(?:\s{1,4}\(<mean>s)?", r"\bLoss:\s{0,9}<loss>"),
        unit="samples/s",
        needs="s",
    ),
)
