"""Detectron2's CommonMetricPrinter, and maskrcnn-benchmark before it.

``eta: 0:05:22  iter: 19  total_loss: 1.98  loss_cls: 0.6  time: 1.17  data_time: 0.02  lr: 1.6e-05  max_mem: 2725M``:
the time is the mean since the start, in seconds; newer versions print ``last_time:`` beside it, the last iteration
alone, which is what is taken where it stands. maskrcnn-benchmark prints ``time: 0.51 (0.60)``, the median of the last 20
and the mean. Detectron2's iter counts from 0; memory is MiB. Traps: no time in the first iterations; no eta where the
number of iterations is not known. FastReID prints ``epoch/iter: 0/19``.
"""

from monitor.parse.family import Line

GATES = ("total_loss: ", "max_mem: ", "max mem: ")
LINES = (
    Line(
        "detectron",
        r"\biter: (?:\d{1,9}/)?<step>\s(?! ?\|)(?P<rest>.*)",
        more=(r"(?<![\w.])(?:total_)?loss: <loss>", r"\bmax[_ ]mem: <mib>"),
        times=(
            ("step", r"(?<![\w.])last_time: <s>"),
            ("interval", r"(?<![\w.])time: <s> \("),
            ("running-mean", r"(?<![\w.])time: <s>"),
        ),
        needs="loss",
    ),
)
