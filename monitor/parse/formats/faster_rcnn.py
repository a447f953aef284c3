"""The Faster R-CNN for PyTorch that detectors of the first years were copied from.

``[session 1][epoch  1][iter  100/10021] loss: 2.1067, lr: 1.00e-03``, then ``fg/bg=(12/500), time cost: 45.6``: the seconds of
all iterations since the report before.
"""

from monitor.parse.family import Line

GATES = ("[session ", "fg/bg=(")
LINES = (
    Line(
        "faster-rcnn",
        r"\[session \d{1,9}\]\[epoch {1,9}<epoch>\]\[iter {1,9}<step>/\d{1,9}\] loss: <loss>",
        meaning="span",
    ),
    Line("faster-rcnn", r"\bfg/bg=\(\d{1,9}/\d{1,9}\), time cost: <s>", meaning="of-last"),
)
