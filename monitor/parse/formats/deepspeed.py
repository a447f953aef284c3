"""DeepSpeed's own reports, every steps_per_print steps, from rank 0.

``… [timer.py:264:stop] epoch=0/micro_step=80/global_step=20, RunningAvgSamplesPerSec=51.2, CurrSamplesPerSec=50.7,
MemAllocated=6.01GB, MaxMemAllocated=19.52GB``: samples of all ranks per second in the last step (first releases:
``0/80, SamplesPerSec=51.2``, a mean since the start, its counter one of micro-batches); GB are 2^30 bytes. There is no
time in it. The pipeline engine prints ``steps: 20 loss: 2.31 iter time (s): 0.512 samples/sec: 31.2``, a mean over the
interval. ``step=20, skipped=0, lr=[…], mom=[…]`` says the same step a second time and nothing of its speed, and stands
at startup for step 0; ``time (ms) | fwd: … | bwd: …`` are parts of a step: none of them is a report.
"""

from monitor.parse.family import Line, no_step

GATES = ("SamplesPerSec=", "iter time (s):", ", skipped=", "/global_step=")
_STEP = r"(?:\bglobal_step=|(?<![\w./])\d{1,9}/)<step>, "
_PEAK = (r"\bMaxMemAllocated=<gib>GB",)
LINES = (
    Line("deepspeed", _STEP + "RunningAvgSamplesPerSec=<number>, CurrSamplesPerSec=<rate>", _PEAK, unit="samples/s"),
    Line("deepspeed", _STEP + "SamplesPerSec=<rate>", _PEAK, unit="samples/s", meaning="running-mean"),
    Line(
        "deepspeed",
        r"\bsteps: <step> loss: <loss> [^\n]{0,300}?\biter time \(s\): <s> samples/sec: <rate>",
        unit="samples/s",
        meaning="interval",
    ),
    no_step(r"\bstep=\d{1,12}, skipped=\d|\bglobal_step=\d{1,12}, vm "),
)
