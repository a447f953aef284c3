"""Sockeye.

``[… INFO:sockeye.training] Epoch[0] Batch [150]	Speed: 512.1 samples/sec 13012.2 tokens/sec 2.31 updates/sec	ppl=31.0``,
since release 3 ``E=0 B=150	s/sec=512.10 tok/sec=13012.20 u/sec=2.31	ppl=31.0``: rates over the log interval. Updates
are optimizer steps; the batches counted within the epoch are micro-batches where gradients are accumulated.
``Checkpoint [1] Updates=…`` sums up.
"""

from monitor.parse.family import Line, no_step

GATES = (" updates/sec", " u/sec=", " Updates/sec=")
BEFORE = {"mxnet": "its samples/sec stand in the same words, the updates and the release 3 do not"}
_LOSS = (r"\b(?:cross-entropy|ce|loss)=<loss>",)
LINES = (
    Line(
        "sockeye",
        r"\bEpoch\[<epoch>\] Batch \[<step>\]\s+Speed: [\d.]+ samples/sec [\d.]+ tokens/sec <pace> updates/sec",
        _LOSS,
        meaning="interval",
    ),
    Line("sockeye", r"\bE=<epoch> B=<step>\s+s/sec=[\d.]+ tok/sec=[\d.]+ u/sec=<pace>", _LOSS, meaning="interval"),
    no_step(r"\bCheckpoint \[\d{1,12}\]\s+Updates="),
)
