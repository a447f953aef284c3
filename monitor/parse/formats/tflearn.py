"""TFLearn: two lines a step, drawn over again and again.

``Training Step: 120  | total loss: 1.68241 | time: 14.760s``, then ``| Adam | epoch: 002 | loss: 1.68241 - acc: 0.1012 -- iter:
02560/05056``: the step of the run, the loss, the seconds since the epoch began; below it the samples of the epoch.
"""

from monitor.parse.family import Line

GATES = ("Training Step: ", " -- iter: ")
LINES = (
    Line("tflearn", r"\bTraining Step: <step>\s{1,9}\| total loss: <loss> \| time: <elapsed>s"),
    Line("", r"\| epoch: \d{1,9} \| .{0,200} -- iter: \d{1,9}/\d{1,9}"),
)
