"""VITS and the many voices made from it: a list of losses that ends with the step and the learning rate.

``2026-03-04 10:00:12,345<TAB>ljs<TAB>INFO<TAB>[2.31, 2.54, 9.12, 28.4, 1.73, 2.02, 200, 0.0002]``, behind a line that tells
the epoch and its share; RVC prints ``[200, 0.0001]`` and the losses below it, others ``Losses: [2.31, …], step: 200, lr: 0.0001``
(read as names and numbers). The losses of a list have no names, and none is of all.
"""

from monitor.parse.family import Line

GATES = ("\tINFO\t[",)
LINES = (
    Line(
        "vits",
        r"\tINFO\t\[(?:<number>, (?:<number2>, ){0,12})?<step>, (?:0\.0\d{1,20}|\d(?:\.\d{1,20})?e-\d{1,3})\]\s*$",
    ),
)
