"""Loss and nothing else, as the BERT sample of the SageMaker model parallel library prints it.

``Loss: 7.482915401458740`` alone on its line, from one rank, once a step: no step number, no time. Only a number with the
full digits of a tensor's item is taken, as a rounded one alone on a line is as often a result of an epoch or a test.
"""

from monitor.parse.family import Line

GATES = ("Loss: ",)
GENERIC = True
LINES = (Line("loss-only", r"^\s*Loss: (?P<loss>\d{1,12}\.\d{8,20}(?:e[-+]?\d{1,3})?|nan|inf)\s*\Z"),)
