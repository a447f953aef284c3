"""ParlAI: ``10:00:10 | time:123s total_exs:640 total_steps:20 epochs:0.12 time_left:1234s``, and a table of figures below.

Seconds since the training began, examples and steps so far; older versions count no steps, and report none here.
"""

from monitor.parse.family import Line

GATES = ("total_exs:",)
LINES = (Line("parlai", r"\btime:<since>s total_exs:\d{1,15} total_steps:<step> epochs:", meaning="clock"),)
