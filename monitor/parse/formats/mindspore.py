"""MindSpore's LossMonitor and TimeMonitor, which its model zoo uses everywhere.

``epoch: 3 step: 100, loss is 2.31`` with the step within the epoch, and at an epoch's end
``epoch time: 5071.2 ms, per step time: 5.07 ms`` (``Train epoch time: …``; without units it is milliseconds, too): the mean
over the epoch, evaluation not included. It says more of the last report before it. Where data is sunk to the device
only the last step of each epoch is reported: then the step is the epoch, as with Keras.
"""

from monitor.parse.family import Line, no_step

GATES = (", loss is ", "per step time: ")
LINES = (
    Line("mindspore", r"\bepoch: <epoch>,? step: <step>, loss is:? <loss>", meaning="running-mean"),
    no_step(r"\b(?:Eval|Evaluate|Predict) [Ee]poch time:\s{1,9}[\d.]{1,30}(?: m?s)?, per step time: "),
    Line(
        "mindspore",
        r"(?:^|\s)[Ee]poch time:\s{1,9}[\d.]{1,30}(?: m?s)?, per step time:\s{1,9}(?:<s> s|<ms>)",
        meaning="of-last",
    ),
)
