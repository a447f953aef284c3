"""RefineDet for PyTorch: the losses of its two modules by their parts, none of which is the whole.

``timer: 0.7831 sec.`` and then ``iter 130010 || ARM_L: 0.4446 ARM_C: 1.4313 ODM_L: 1.3059 ODM_C: 0.6388 ||``.
"""

from monitor.parse.family import Line

GATES = (" || ARM_L",)
LINES = (Line("refinedet", r"\biter\s{1,9}<step> \|\| ARM_L"),)
