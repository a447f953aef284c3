"""BasicSR and the restoration models trained with it (Real-ESRGAN, GFPGAN, SwinIR's KAIR in part).

``[train_x4..][epoch:  2, iter:  12,300, lr:(1.000e-04,)] [eta: 1 day, 2:00:00, time (data): 0.512 (0.010)] l_pix: 2.1e-02``:
the iteration is global, with commas in it; the time is the mean of an iteration since the last report, in seconds, in
brackets behind it the wait for data. Of several losses none is the whole: one alone is taken. Older relatives print
``<epoch:  2, iter:  12,300, lr:1.000e-04> l_pix: 2.1e-02`` without a time. ``Validation …`` has no iteration.
"""

from monitor.parse.family import Line

GATES = ("[epoch:", "<epoch:")
LINES = (
    Line(
        "basicsr",
        r"[\[<]epoch:\s{0,9}\d{1,9}, iter:\s{0,12}(?P<step>\d{1,3}(?:,\d{3}){1,4}|\d{1,12}), lr:(?P<rest>.*)",
        more=(r"\btime \(data\): <s> \(", r"^(?:(?!\bl_).)*\bl_\w{1,40}: <loss>(?!.*\bl_\w{1,40}: )"),
        meaning="interval",
    ),
)
