"""Trax, successor of Tensor2Tensor (whose own lines are the Estimator's, see ``tf_estimator``).

``Step    200: Ran 100 train steps in 12.34 secs``: the line names both the steps and the seconds since the last one. Trap:
metrics stand on lines of their own, ``Step    200: train CrossEntropyLoss |  9.1`` and ``eval`` alike.
"""

from monitor.parse.family import Line

GATES = (" train steps in ",)
LINES = (Line("trax", r"\bStep\s{1,15}<step>: Ran <over> train steps in <s> secs", meaning="interval"),)
