"""PaddlePaddle's trainers: PaddleClas, PaddleDetection, PaddleOCR, PaddleSeg, PaddleNLP.

- ``[Train][Epoch 1/300][Iter: 10/1251]lr(Cosine): 0.05, CELoss: 6.9, loss: 6.9, batch_cost: 0.35s, …, ips: 182.8 samples/s``
- ``Epoch: [0] [  20/1250] learning_rate: 0.0003 loss: 10.1 eta: 1:23:45 batch_cost: 1.2345 … ips: 6.48 images/s``
- ``epoch: [1/500], global_step: 10, lr: 0.001, loss: 7.6, …, avg_batch_cost: 0.89 s, …, ips: 17.9 samples/s``
- ``[TRAIN] epoch: 1, iter: 10/80000, loss: 1.2, lr: 0.01, batch_cost: 0.35, reader_cost: 0.01, ips: 11.2 samples/sec | ETA``
- ``iter: 20, lr: 0.0001, 'loss': '29.5', eta: 5:10:47, batch_cost: 15.5 sec, ips: 0.51 images/sec`` (PaddleDetection 0.x) and
  ``[Pass 0, train batch 10]  loss 21.5, …, batch_cost 0.13 sec, …, ips 976.3 images/sec`` (the old model zoo)
- ``global step 10, epoch: 1, batch: 9, loss: 0.5, speed: 5.20 step/s``

The time of a batch is the mean since the last report, in seconds; ips is of ONE device; the step begins again with each
epoch in the first two. Traps: evaluation prints batch_cost, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "paddle"
GATES = ("batch_cost", " step/s")

_NUMBER = r"(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?)"
_HEAD = re.compile(
    r"\[Train\]\[Epoch (?P<epoch1>\d{1,9})/\d{1,9}\]\[Iter: ?(?P<step1>\d{1,15})/\d{1,15}\]"
    r"|\bEpoch: \[(?P<epoch2>\d{1,9})\] \[\s{0,12}(?P<step2>\d{1,15})/\d{1,15}\]"
    r"|\bepoch: \[(?P<epoch3>\d{1,9})/\d{1,9}\], (?:global_step|iter): (?P<step3>\d{1,15}),"
    r"|\[TRAIN\] epoch[:=] ?(?P<epoch4>\d{1,9}), iter[:=] ?(?P<step4>\d{1,15})/(?P<total4>\d{1,15}),"
    r"|\biter: (?P<step6>\d{1,15}), lr: "
    r"|\[Pass (?P<epoch7>\d{1,9}), train batch (?P<step7>\d{1,15})\]"
    r"|\bglobal step (?P<step5>\d{1,15}), epoch: (?P<epoch5>\d{1,9}),"
)
_TIME = re.compile(rf"\b(?:avg_)?batch_cost[:= ] ?(?P<time>{_NUMBER})")
_STEPS = re.compile(rf"\bspeed: (?P<rate>{_NUMBER}) step/s")
_IPS = re.compile(rf"\bips[:= ] ?(?P<rate>{_NUMBER})(?: (?P<what>images|samples|tokens|sequences|sentences)/s)?")
_LOSS = re.compile(rf"(?<![\w.])loss'?[:= ] ?'?(?P<loss>-?{_NUMBER}|nan|-?inf)")
_MEMORY = re.compile(rf"\bmax_mem_reserved: (?P<mib>{_NUMBER}) MB")


def read(text: str) -> Iterator[Reading]:
    """The report of training in ``text``, if there is one."""
    match = _HEAD.search(text)
    if match is None:
        return
    rest = text[match.end() :]
    time, steps, ips = _TIME.search(rest), _STEPS.search(rest), _IPS.search(rest)
    found = {name.rstrip("1234567"): value for name, value in match.groupdict().items() if value is not None}
    rate = number(steps["rate"]) if steps else None
    if time is None and not rate:
        return
    loss, memory = _LOSS.search(rest), _MEMORY.search(rest)
    mib = number(memory["mib"]) if memory else None
    yield Reading(
        format=FORMAT,
        step=count(found["step"]),
        epoch=count(found.get("epoch")),
        total=count(found.get("total")),
        time_s=duration_s(number(time["time"]) if time else 1.0 / rate if rate else None),
        meaning="interval",
        throughput=number(ips["rate"]) if ips else rate,
        throughput_unit=f"{ips['what'] or 'samples'}/s" if ips else "it/s" if rate else "",
        loss=number(loss["loss"]) if loss else None,
        gpu_memory_gib=mib / 1024 if mib else None,
    )
