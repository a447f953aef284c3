"""KPConv for PyTorch.

``e001-i0120 => L=2.162 acc= 12% / t(ms):  12.1 123.4   5.1)``: the epoch, the step within it, the loss; of the three times, means
of the wait for data and of two parts of the step, none is the step's.
"""

from monitor.parse.family import Line

GATES = (" => L=",)
LINES = (Line("kpconv", r"\be<epoch>-i<step> => L=<loss> acc="),)
