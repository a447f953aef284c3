"""RAFT, which learns optical flow, and its kin.

``[   100, 0.0000400]    0.7121,    0.8345,    0.9012,    6.2550, ``: the step, the learning rate, and means of accuracies and of
the error over the last 100 steps, without names.
"""

from monitor.parse.family import Line

GATES = ("]    ",)
LINES = (Line("raft", r"^\s{0,9}\[ {0,9}<step>, {1,9}\d\.\d{7}\](?: {1,9}-?\d{1,9}\.\d{4},?){2,12}\s{0,9}$"),)
