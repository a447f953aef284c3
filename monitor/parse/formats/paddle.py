"""PaddlePaddle's trainers: PaddleClas, PaddleDetection, PaddleOCR, PaddleSeg, PaddleNLP.

- ``[Train][Epoch 1/300][Iter: 10/1251]lr(Cosine): 0.05, CELoss: 6.9, loss: 6.9, batch_cost: 0.35s, …, ips: 182.8 samples/s``
- ``Epoch: [0] [  20/1250] learning_rate: 0.0003 loss: 10.1 eta: 1:23:45 batch_cost: 1.2345 … ips: 6.48 images/s``
- ``epoch: [1/500], global_step: 10, lr: 0.001, loss: 7.6, …, avg_batch_cost: 0.89 s, …, ips: 17.9 samples/s``
- ``[TRAIN] epoch: 1, iter: 10/80000, loss: 1.2, lr: 0.01, batch_cost: 0.35, reader_cost: 0.01, ips: 11.2 samples/sec | ETA``
- ``iter: 20, lr: 0.0001, 'loss': '29.5', eta: 5:10:47, batch_cost: 15.5 sec, ips: 0.51 images/sec`` (PaddleDetection 0.x) and
  ``[Pass 0, train batch 10]  loss 21.5, …, batch_cost 0.13 sec, …, ips 976.3 images/sec`` (the old model zoo)
- ``global step 10, epoch: 1, batch: 9, loss: 0.5, speed: 5.20 step/s``

- ``TrainerInternal.cpp:165]  Batch=1000 samples=128000 AvgCost=9.88 CurrentCost=9.88 Eval: …`` (paddle_trainer of old): no time

The time of a batch is the mean since the last report, in seconds; ips is of ONE device; the step begins again with each
epoch in the first two. Traps: evaluation prints batch_cost, too.
"""

from monitor.parse.family import Line

GATES = ("batch_cost", " step/s", " AvgCost=")
LINES = (
    Line(
        "paddle-trainer",
        r"TrainerInternal\.cpp:\d{1,5}\]\s{1,3}(?:Pass=<epoch> )?Batch=<step> samples=<count> AvgCost=<loss>",
    ),
    Line(
        "paddle",
        r"\[Train\]\[Epoch <epoch>/\d{1,9}\]\[Iter: ?<step>/\d{1,15}\]"
        r"|\bEpoch: \[<epoch2>\] \[\s{0,12}<step2>/\d{1,15}\]"
        r"|\bepoch: \[<epoch3>/\d{1,9}\], (?:global_step|iter): <step3>,"
        r"|\[TRAIN\] epoch[:=] ?<epoch4>, iter[:=] ?<step4>/<total>,"
        r"|\biter: <step5>, lr: "
        r"|\[Pass <epoch6>, train batch <step6>\]"
        r"|\bglobal step <step7>, epoch: <epoch7>,",
        more=(
            r"\b(?:avg_)?batch_cost[:= ] ?<s>",
            r"\bspeed: <pace> step/s",
            r"(?<![\w.])loss'?[:= ] ?'?<loss>",
            r"\bmax_mem_reserved: <mib> MB",
        ),
        rates=(
            *(
                (f"{what}/s", rf"\bips[:= ] ?<rate> {what}/s")
                for what in ("images", "samples", "tokens", "sequences", "sentences")
            ),
            ("samples/s", r"\bips[:= ] ?<rate>"),
        ),
        meaning="interval",
        needs="s|pace",
    ),
)
