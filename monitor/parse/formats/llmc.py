"""llm.c, in C, CUDA and Python.

``step   40/9536 | loss 7.62 (+0.1z)| norm 1.2 | lr 4e-05 | 2714.20 ms | 54.4% bf16 MFU | 193100 tok/s``; also
``step 40/74: train loss 4.36 (acc 4.31) (29.5 ms, 138000 tok/s)``, ``step 40: train loss 4.36 (took 812.5 ms)`` and
``iteration 40, loss: 4.36, time: 130.1ms, tok/s: 31000``. Milliseconds of that step; tokens of all processes. ``val
loss 3.9`` stands on a line of its own.
"""

from monitor.parse.family import Line

GATES = ("tok/s", "(took ")
LINES = (
    Line(
        "llm.c",
        r"\bstep\s+<step>(?:/<total>)?\s*[|:]\s*(?:train )?loss\s+<loss>(?P<rest>[^\n]{0,240})",
        more=(r"[(| ]<ms> ms\b(?!/)(?:[^\n]{0,60}?[|,] <rate> tok/s)?",),
        unit="tokens/s",
        needs="ms",
    ),
    Line("llm.c", r"\biteration <step>, loss: <loss>, time: <ms>ms, tok/s: <rate>", unit="tokens/s"),
)
