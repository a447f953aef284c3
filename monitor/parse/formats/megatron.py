"""Megatron-LM and its descendants (Megatron-DeepSpeed, GPT-NeoX, the BLOOM fork, Megatron-Bridge, NeMo's older loop).

`` iteration  20/ 1000 | … | elapsed time per iteration (ms): 1572.7 | … | lm loss: 1.21E+01 | …``: the time is the mean
over the log interval, its unit stands in the key (ms or s); printed by the last rank only, and global. GPT-NeoX puts
``samples/sec: 31.2 |`` in front and writes ``lm_loss:``; the first releases write ``lm loss 6.1E+00 |``. An interval whose
iterations were all skipped has no loss.
"""

from monitor.parse.family import NUMBER, Line

GATES = ("elapsed time per iteration",)
LINES = (
    Line(
        "megatron",
        r"(?s)\biteration\s{1,12}<step>\s{0,9}/\s{0,12}<total>\s{0,9}\|"
        rf".{{0,600}}?elapsed time per iteration \((?P<unit>ms|s)\):\s{{0,9}}(?P<time>{NUMBER})",
        more=(r"(?:lm[ _-]loss|\| (?:total |train )?loss):?\s{1,9}<loss>", r"\bmemory\(GiB\): <gib>"),
        # In this order: of all devices, of one, and what both follow from.
        rates=(
            ("samples/s", r"samples(?: per second|/sec):\s{0,9}<rate>"),
            ("tokens/s/GPU", r"tokens per (?:gpu per second(?: \(tgs\))?|second per (?:gpu|device)):\s{0,9}<rate>"),
            ("TFLOP/s/GPU", r"(?:\(TFLOP/s/GPU\)| TFLOPs):\s{0,9}<rate>"),
        ),
        meaning="interval",
        anywhere=True,
    ),
)
