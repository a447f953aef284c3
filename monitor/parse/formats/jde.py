"""JDE and FairMOT-like trackers, below a head "Epoch Batch box conf id total nTargets time".

``2026-03-04 05:58:59 [INFO]:     0/29      40/165     0.227      2.06        19       158        83      7.12``: the seconds
of the batch; both counters stand before their last.
"""

from monitor.parse.family import Line

GATES = ("[INFO]:    ",)
LINES = (
    Line(
        "jde",
        r"\[INFO\]: {4,9}<epoch>/\d{1,6} {2,12}<step>/<last>(?: {2,12}<number>){3} {2,12}<loss> {2,12}<number> {2,12}<s>\s*$",
    ),
)
