"""MaxText (JAX).

``completed step: 12, seconds: 5.66, TFLOP/s/device: 135.1, Tokens/s/device: 8690.2, total_weights: 196608, loss: 8.1``:
seconds from one dispatch to the next as the host sees it, so step 0 holds the compilation and step 1, at times 2 too,
is far too short; they are given as printed. Throughput is per device. ``Completed eval step: 3, seconds: …`` and
``eval metrics after step: …`` are evaluations.
"""

from monitor.parse.family import Line, no_step

GATES = ("completed step: ", "deactivation step: ", "Completed eval ", "eval metrics after step: ")
LINES = (
    Line(
        "maxtext",
        r"\bcompleted (?:profiler activation/deactivation )?step: <step>,",
        more=(r"(?<=, )seconds: <s>", r"(?<=, )loss: <loss>"),
        rates=(
            ("tokens/s/device", r"(?<=, )Tokens/s(?:/device)?: <rate>"),
            ("TFLOP/s/device", r"(?<=, )TFLOP/s(?:/device)?: <rate>"),
        ),
        needs="s|loss",
    ),
    no_step(r"\bCompleted eval (?:step|after train step)\b|\beval metrics after step: \d"),
)
