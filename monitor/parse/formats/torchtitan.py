"""torchtitan, its forks and its relative lingua.

``step: 40  loss:  7.3201  grad_norm:  2.1  memory: 41.20GiB(51.9%)  tps: 6,210  tflops: 310.2  mfu: 31.37%``: tokens per
second and GPU over the log interval (``wps`` in the first releases), the peak of the memory reserved; no time, as the
line does not say how many tokens a step has. lingua, and torchtitan in its first weeks, print ``iter: 0.31``, the seconds of
the last iteration. Each rank that logs prints the same numbers; ``validate step: 40`` is a validation.
"""

from monitor.parse.family import Line, no_step

GATES = ("GiB(", "wps: ", "  iter: ")
LINES = (
    no_step(r"validat(?:e|ion) step:"),
    Line(
        "torchtitan",
        r"\bstep:\s{0,8}<step>\s+(?=\w+:\s)",
        more=(r"(?<=\s)loss:\s+<loss>", r"(?<=\s)memory:\s+<gib>", r"(?<=\s)(?:tps|wps):\s+<rate>"),
        times=(("step", r"(?<=\s)iter:\s+<s>"),),
        unit="tokens/s/GPU",
        meaning="interval",
        needs="loss rate|s",
    ),
)
