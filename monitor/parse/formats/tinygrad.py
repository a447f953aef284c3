"""tinygrad's training examples.

``  53  221.74 ms run,    2.22 ms python,  219.52 ms CL,  803.39 loss, 0.0008 LR, 4.66 GB used,   3042.49 GFLOPS``: the step
leads without a name; "run" is the whole step, what follows are parts of it. GB are 10^9 bytes.
"""

from monitor.parse.family import Line

GATES = (" ms run, ",)
LINES = (
    Line(
        "tinygrad",
        r"(?:^|\s)<step>\s{1,9}<ms> ms run, (?P<rest>[^\n]{0,400})",
        more=(r", {1,9}<loss> loss\b", r", {1,9}<gb> GB used\b"),
    ),
)
