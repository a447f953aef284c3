"""DeepFaceLab.

``[10:12:13][#001234][0512ms][1.2345][1.4567]``: the iteration, its milliseconds, the losses of the two faces.
"""

from monitor.parse.family import Line

GATES = ("ms][",)
LINES = (Line("deepfacelab", r"\]\[#<step>\]\[<ms>ms\]\[<loss>\]"),)
