"""Keras 2's bar within an epoch, ``  3/102 [>.......] - ETA: 8:18 - loss: 0.6808``: the step, what is left, the loss.

It gives no time, but what is left of the epoch comes down with its steps. Where the bars of whole epochs stand in the same
log, which give their time a step, these are left out. A bar that was made after it and is copied from script to script ends
with its epoch's mean: ``[Training] 3/10 [===>......] - ETA: 54s  loss: 2.03``, at last ``10/10 [=====] 17.0s/step  loss: 1.97``;
its ``[Evaluating]`` shows no loss.
"""

from monitor.parse.family import Line

GATES = ("] - ETA: ", "s/step  ")
LINES = (
    Line(
        "keras",
        r"(?<![\d/.])(?=\d{1,12}/(?P<bar>\d{1,12}) )<step>/<total> \[[=>.]{1,60}\] "
        r"(?:- ETA: (?:<hms>|<clock>s)(?= - |  )|<number>(?:us|ms|s)/step(?=  ))",
        more=(r"\bloss: <loss>",),
        meaning="remaining",
        needs="loss",
        many=True,
    ),
)
