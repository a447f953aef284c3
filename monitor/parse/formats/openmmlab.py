"""OpenMMLab's trainers: mmcv's TextLoggerHook and mmengine's LogProcessor (MMDetection, MMSegmentation, MMPose …).

``Epoch [1][20/80]<TAB>lr: 1.0e-02, eta: 1 day, 0:10:35, time: 0.61, data_time: 0.2, memory: 2962, loss: 1.4`` (mmcv),
``Epoch(train)  [1][20/80]  lr: 1.0e-02  eta: 0:10:35  time: 0.61  …`` (mmengine), ``Iter [50/20000]`` and
``Iter(train) [50/20000]`` where iterations are counted. The time is the mean of an iteration over the log interval, in
seconds; memory is MiB. Traps: an eta of more than a day holds a comma; the step of an Epoch line begins again with each
epoch; lines of ``(val)`` and ``(test)`` look alike.
"""

from monitor.parse.family import Line, no_step

GATES = ("data_time: ",)
LINES = (
    *(
        Line(
            "openmmlab",
            head + r"\](?P<rest>\s.*)",
            more=(r"(?<![\w.])time: <s>(?=[,\s]|$)", r"(?<![\w.])memory: <mib>(?=[,\s]|$)", r"(?<![\w.])loss: <loss>"),
            meaning="interval",
            needs="s",
        )
        for head in (
            r"\bEpoch(?:\(train\))?[ \t]{0,20}\[\s{0,9}<epoch>\]\[\s{0,9}<step>/\d{1,15}",
            r"\bIter(?:\(train\))?[ \t]{0,20}\[\s{0,9}<step>/<total>",
        )
    ),
    no_step(r"\b(?:Epoch|Iter)\((?:val|test)\)"),
)
