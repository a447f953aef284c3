"""nanochat and build-nanogpt.

``step 00120/21400 (0.56%) | loss: 4.81 | lrm: 1.00 | dt: 512.30ms | tok/sec: 1,023,400 | mfu: 47.1``, build-nanogpt's as
``step   120 | loss: 4.81 | lr 6e-04 | norm: 1.1 | dt: 338.52ms | tok/sec: 1548700.10`` or with commas between. dt is of
that step, its micro-batches together; the tokens are those of all processes. Validation lines have no dt.
"""

from monitor.parse.family import Line, no_step

GATES = ("dt: ", "| Validation bpb: ")
LINES = (
    Line(
        "nanochat",
        r"\bstep\s+<step>(?:/<total>)?(?:\s+\([\d.]+%\))?\s*[|,]\s*loss: <loss>[^\n]{0,200}?"
        r"\bdt: <ms>\s?ms(?:[ |,]{1,4}tok/sec: <rate>)?",
        unit="tokens/s",
    ),
    no_step(r"\| Validation bpb: "),
)
