"""MiniMind's trainers, which many home-made language models are copies of: what is left of the epoch, in minutes.

``Epoch:[1/6](200/9303) loss:2.989 lr:0.0008799 epoch_Time:23.0min:``, later ``Epoch:[1/2](100/44160), loss: 6.2871, …,
epoch_time: 120.3min``: whatever its name says it is the time that passed so far, scaled to all steps, less what passed. So it
falls, and over the steps that are left it is the mean of a step since the epoch began.
"""

from monitor.parse.family import Line

GATES = ("epoch_Time:", "epoch_time: ")
LINES = (
    Line(
        "minimind",
        r"Epoch:\s?\[<epoch>/\d{1,6}\]\(<step>/<total>\),? loss:\s?<loss>[, ]",
        more=(r"\bepoch_[Tt]ime:\s?<minutes>min\b",),
        meaning="remaining",
        needs="minutes",
    ),
)
