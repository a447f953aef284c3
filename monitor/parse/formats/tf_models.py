"""TensorFlow's model garden: TimeHistory, Orbit's controller, the Estimator hooks, Object Detection API, slim.

- ``TimeHistory: 12.50 seconds, 819.20 examples/second between steps 100 and 200``: the interval names its steps.
- ``BenchmarkMetric: {'global step':200, 'time_taken': 12.5,'examples_per_second': 819.2}``: older; the seconds are of an
  interval that the line does not name.
- ``train | step:    200 | steps/sec:    8.0 | output: {'training_loss': 6.9}`` (Orbit): mean over the inner loop.
- ``Average examples/sec: 800.1 (819.2), step = 200``: since the start, and since the last line, which is taken.
- ``Step 200 per-step time 0.125s loss=0.9`` (Object Detection API 2): mean over the inner loop.
- ``global step 200: loss = 2.30 (0.125 sec/step)`` (slim): the last step alone.

Trap: two loggers, and Orbit's print beside its log, write every line twice.
"""

from monitor.parse.family import Line

GATES = (
    *("TimeHistory: ", "BenchmarkMetric: ", "train | step: ", "Average examples/sec: "),
    *("per-step time ", " sec/step)"),
)
LINES = (
    Line(
        "tf-models",
        r"\bTimeHistory: <s> seconds, <rate> examples/second between steps <first> and <step>",
        unit="examples/s",
        meaning="interval",
    ),
    Line(
        "tf-models",
        r"\bBenchmarkMetric: \{'(?:global step|num_batches)': ?<step>, ?'time_taken': ?<number>,"
        r" ?'examples_per_second': ?<rate>",
        unit="examples/s",
        meaning="interval",
    ),
    Line(
        "tf-models",
        r"\bAverage examples/sec: <number> \(<rate>\), step = <step>",
        unit="examples/s",
        meaning="interval",
    ),
    Line(
        "tf-models",
        r"\btrain \| step: {1,12}<step> \| steps/sec: {1,12}<pace> \| output:(?P<rest>.*)",
        more=(r"'(?:training_|total_)?loss': <loss>",),
        meaning="interval",
    ),
    Line("tf-models", r"\bStep <step> per-step time <s>s(?: loss=<loss>)?", meaning="interval"),
    Line("tf-models-slim", r"\bglobal step <step>: loss = <loss> \(<s> sec/step\)"),
)
