"""The finetuning scripts of GPT-2's first year (nshepperd's fork, gpt-2-simple).

``[120 | 96.31] loss=2.91 avg=3.02``: the step, seconds since the loop began, the loss of the step and its moving average.
"""

from monitor.parse.family import Line

GATES = ("] loss=",)
LINES = (Line("gpt-2-simple", r"\[<step> \| <since>\] loss=<loss> avg=", meaning="clock"),)
