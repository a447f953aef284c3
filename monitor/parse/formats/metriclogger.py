"""torchvision's MetricLogger and the many trainers that took it over (DETR, DeiT, MAE, DINO, BLIP, LAVIS …).

``Epoch: [0]  [  20/500]  eta: 1:49:41  loss: 0.9 (1.1)  time: 0.5415  data: 0.4872  max mem: 10412``: the time is the
mean of the last 20 iterations in seconds, whatever the print interval; of "value (mean)" the first is the recent one;
the index counts from 0 and begins again with each epoch; max mem is MiB. Traps: evaluation prints the same fields
under a header of its own, so only headers that speak of an epoch or of training count; the line "Total time" is a
summary.
"""

from monitor.parse.family import Line, no_step

GATES = ("]  eta: ", "] eta: ", "]\teta: ", "]#011eta: ")
_AT = r"\[\s{0,12}%s/\d{1,15}\]\s{1,4}eta: (?P<rest>.*)"
_FIGURES = (
    r"(?<![\w.])time: <s>",
    r"(?<![\w.])(?:total_)?loss: <loss>",
    r"(?<![\w.])img/s: <rate>",
    r"\bmax mem: <mib>",
)
LINES = (
    # Headers are the trainer's own words; what is evaluated says so.
    no_step(
        r"(?i:\b(?:test|eval|valid|val\b|infer|generat|predict))[^\n]{0,47}?" + _AT % "<count>" + r"(?<![\w.])time: "
    ),
    Line(
        "metriclogger",
        r"(?i:epoch):?\s{0,3}\[?\s{0,6}<epoch>[^\n]{0,40}?" + _AT % "<step>",
        _FIGURES,
        unit="images/s",
        meaning="smoothed",
        needs="s",
    ),
    Line(
        "metriclogger",
        r"(?i:epoch|train)[^\n]{0,47}?" + _AT % "<step>",
        _FIGURES,
        unit="images/s",
        meaning="smoothed",
        needs="s",
    ),
)
