"""DeePMD-kit.

``DEEPMD INFO    batch     300: total wall time = 4.54 s, eta = 1:02:03``, before ``batch     300 training time 4.41 s, testing
time 0.03 s``: the seconds of all batches since the last report. The losses stand on lines of their own as several
root-mean-square errors, none of which is the loss.
"""

from monitor.parse.family import Line

GATES = (": total wall time = ", " training time ")
LINES = (Line("deepmd", r"\b[Bb]atch\s{1,12}<step>(?:: total wall time = | training time )<s> s\b", meaning="span"),)
