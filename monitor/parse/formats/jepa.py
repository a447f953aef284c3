"""I-JEPA and V-JEPA, and what was made of them: the means since the epoch began.

``[1,    10] loss: 0.453 masks: 44.2 160.0 [wd: 4.00e-02] [lr: 2.00e-04] [mem: 2.50e+04] (1182.4 ms)``: epoch from 1, step of
the epoch from 0, MiB of one GPU at the most. V-JEPA prints ``[gpu: 1181.0 ms][wall: 1291.0 ms]``, its second version
``[iter: 1291.0 ms] [gpu: 1181.0 ms] [data: 9.0 ms]``: the step with the wait for its data, and the GPU's part of it.
"""

from monitor.parse.family import Line

GATES = (" [mem: ",)
BEFORE = {"pytorch_cifar": "it knows the epoch, the step and the loss alone"}
_HEAD = r"\[<epoch>,\s{1,8}<step>\] loss: <loss>[ ,|][^\n]{1,600}\[mem: <mib>\] "
LINES = (
    Line("jepa", rf"{_HEAD}\(<ms> ms\)", meaning="running-mean"),
    Line("jepa", rf"{_HEAD}(?:\[gpu: [\d.]{{1,15}} ms\])?\[(?:wall|iter): <ms> ms\]", meaning="running-mean"),
)
