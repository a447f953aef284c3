"""Deeplearning4j's ScoreIterationListener.

``… ScoreIterationListener - Score at iteration 100 is 1.3935213258387884``: the score is the loss of that iteration; no time.
"""

from monitor.parse.family import Line

GATES = ("Score at iteration ",)
LINES = (Line("dl4j", r"\bScore at iteration <step> is <loss>"),)
