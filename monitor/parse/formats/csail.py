"""MIT CSAIL's semantic segmentation and the audio-visual trainers made from it.

``Epoch: [17][240/588], Time: 3.58, Data: 0.09, lr_sound: 0.001, loss: 0.4451``: the time of an iteration and the part of
it that data took are means since the epoch's begin, in seconds.
"""

from monitor.parse.family import Line

GATES = ("], Time: ",)
LINES = (
    Line(
        "csail",
        r"\bEpoch: \[<epoch>\]\[<step>/\d{1,15}\], Time: <s>, Data: <number>",
        more=(r"(?i)(?<![\w.])loss: <loss>",),
        meaning="running-mean",
    ),
)
