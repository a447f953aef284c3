"""DeepXDE's table: ``1100      [2.99e-04, 4.43e-07]    [1.92e-04, 4.43e-07]    [5.65e-04]``.

The step, then the parts of the training's loss, of the test's, and the metrics; where the training's loss has one part it is
the loss. No time is printed: that of the lines tells it.
"""

from monitor.parse.family import NUMBER, Line

GATES = ("]    [",)
_PARTS = rf"\[(?:{NUMBER}(?:, {NUMBER}){{0,40}})?\]"
_REST = rf"\s{{4,}}{_PARTS}\s{{4,}}{_PARTS}\s*$"
LINES = (
    Line("deepxde", rf"^<step>\s{{2,}}\[<loss>\]{_REST}"),
    Line("deepxde", rf"^<step>\s{{2,}}{_PARTS}{_REST}"),
)
