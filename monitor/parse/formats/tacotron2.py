"""Tacotron 2 and the many speech models that started from it.

``Train loss 120 0.481233 Grad Norm 0.912304 1.05s/it``: the iteration, its loss, and the seconds that this iteration took.
``Validation loss 500: 0.52`` stands on a line of its own.
"""

from monitor.parse.family import Line

GATES = (" Grad Norm ",)
LINES = (Line("tacotron2", r"\bTrain loss <step> <loss> Grad Norm <number> <s>s/it"),)
