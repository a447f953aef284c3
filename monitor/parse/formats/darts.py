"""DARTS and the architecture searches and trainings made from it: ``train 050 2.104512e+00 21.323529 71.599266``.

The step within the epoch, then means of the epoch so far: loss, and the shares of the best and the best five answers. No
time is printed: that of the lines tells it. ``valid 050 …`` is an evaluation, ``train_acc 30.9`` the epoch's end. NVAE's
``03/04 10:00:51 AM train 100 4321.0`` has the loss alone.
"""

from monitor.parse.family import Line

GATES = ("train ",)
_SHARE = r"\d{1,3}\.\d{6}"
LINES = (
    Line("darts", rf"\btrain <step> (?P<loss>\d\.\d{{6}}e[+-]\d\d) {_SHARE} {_SHARE}\s*$"),
    Line("darts", r"\d\d:\d\d:\d\d [AP]M train <step> (?P<loss>[-+]?\d{1,9}\.\d{1,9})\s*$"),
)
