"""Keras 2's bar within an epoch, ``  3/102 [>.......] - ETA: 8:18 - loss: 0.6808``: the step, what is left, the loss.

It gives no time, but what is left of the epoch comes down with its steps. Where the bars of whole epochs stand in the same
log, which give their time a step, these are left out.
"""

from monitor.parse.family import Line

GATES = ("] - ETA: ",)
LINES = (
    Line(
        "keras",
        r"(?<![\d/.])(?=\d{1,12}/(?P<bar>\d{1,12}) )<step>/<total> \[[=>.]{1,60}\] - ETA: (?:<hms>|<clock>s)(?= - )",
        more=(r"\bloss: <loss>",),
        meaning="remaining",
        needs="loss",
        many=True,
    ),
)
