"""MXNet: the Speedometer callback, gluon's examples, GluonCV, and the MNIST and ImageNet examples with Horovod.

``Epoch[0] Batch [20-40]<TAB>Speed: 1234.56 samples/sec<TAB>accuracy=0.5`` (older: ``Batch [40]``),
``[Epoch 0][Batch 99], LR: 1E-3, Speed: 12.3 samples/sec, ObjLoss=…``, ``[Epoch 0 Batch 100] Training: accuracy=0.79,
4686.9 samples/s``: samples/s over the batches since the last report. ``Epoch[0]<TAB>Speed=44506.84 samples/s<TAB>Time
cost=5.39`` is the mean of a whole epoch over all ranks, its cost the seconds of that EPOCH; step is then the epoch's
number. No line tells how long a step took. Traps: batches without a speed are printed by every rank; GluonCV's
``[Epoch 0] speed: … time cost: …`` sums up what the batches said.
"""

from monitor.parse.family import Line

GATES = ("samples/s",)
LINES = (
    Line(
        "mxnet",
        r"\[?(?:Epoch|Iter) ?\[?<epoch>\]?\s{0,3}(?:Rank ?\[<rank>\]\s{0,3})?\[?Batch ?\[?(?:\d{1,15}-)?<step>\]"
        r"(?:/\[\d{1,15}\])?(?P<rest>[^\[]{0,600})",
        more=(r"(?:\bSpeed: {0,3}|, )<rate> samples/s", r"(?<![\w-])(?:loss|cross-entropy)=<loss>"),
        unit="samples/s",
        meaning="interval",
        needs="rate",
        many=True,
    ),
    Line(
        "mxnet-epoch",
        r"\bEpoch\[(?P<epoch><step>)\]\s{1,9}Speed[=:]\s{0,3}<rate> samples/s",
        unit="samples/s",
        meaning="interval",
    ),
)
