"""Flower, of federated learning: a round is a step of the server.

``INFO :      fit progress: (2, 2.967, {'accuracy': 0.10}, 292.55)``: the round, the loss of the model that all have made, its
measures, and the seconds since the first round began.
"""

from monitor.parse.family import Line

GATES = ("fit progress: (",)
LINES = (Line("flower", r"\bfit progress: \(<step>, <loss>, \{[^{}]{0,2000}\}, <s>\)", meaning="clock"),)
