"""The benchmarks that clusters are tried with: tf_cnn_benchmarks, and Horovod's synthetic ones.

``10<TAB>images/sec: 201.8 +/- 0.4 (jitter = 1.2)<TAB>7.93``: step, mean images/s since the warm-up over all devices, loss.
``Iter #3: 123.4 img/sec per GPU``: images/s of one device over a round of (by default ten) batches; step is the round.
No line tells how long a step took; ``Batch size:  512 global`` in the head of tf_cnn_benchmarks tells how many images it
takes. Trap: ``total images/sec`` and ``Img/sec per GPU: … +-`` are summaries.
"""

from monitor.parse.family import Line

GATES = ("images/sec: ", "img/sec per ")
LINES = (
    Line(
        "tf-benchmarks",
        r"(?<![\w.])<step>\s{1,4}images/sec: <rate> \+/- <number> \(jitter = <number>\)(?:\s{1,4}<loss>)?",
        unit="images/s",
        meaning="running-mean",
    ),
    *(
        Line(
            "tf-benchmarks-horovod",
            rf"\bIter #<step>: <rate> img/sec per {device}\b",
            unit=f"images/s/{device}",
            meaning="interval",
        )
        for device in ("GPU", "CPU", "TPU")
    ),
)
