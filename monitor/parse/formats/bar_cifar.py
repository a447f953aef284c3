"""The progress bar of pytorch-cifar, copied into many scripts.

`` [=====>....]  Step: 82ms | Tot: 1m23s | Loss: 1.806 | Acc: 32.240% (16120/50000)``, then, written over its middle,
`` 120/391 ``: what the LAST step took, what the epoch did so far (a unit and the next smaller one), and means of the epoch.
``Step:`` is a time and no counter. The bar of the test set looks alike. It is handed on as a tqdm bar. Where a screen was
copied, each epoch's last redraw is left, with the count in its middle: `` [==== 391/391 ===>]  Step: 82ms | Tot: 45s885ms``;
the last batch is often a smaller one, so there the time is the epoch's over its steps.

Torch's xlua, where the bar comes from, has the times the other way round, and means of the last steps:
`` [==== 120/391 .....]  ETA: 22s | Step: 82ms``, and ``Tot: 32s | Step: 82ms`` at the end.
"""

from monitor.parse.family import Line

GATES = (" | Tot: ", " | Step: ")
_TIME = r"(?:\d{1,9}(?:ms|[Dhms])){1,2}"
LINES = (
    Line(
        "tqdm",
        rf"\[=*[>.]{{1,200}}\]\s+Step: (?P<time>{_TIME}) \| Tot: (?P<hms>{_TIME})",
        more=(r" <step>/<total>\s*$", r"\bLoss: <loss>"),
        needs="step",
    ),
    Line(
        "tqdm",
        rf"\[=+ (?=(?P<over>\d{{1,12}})/)<step>/<total> =*[>.]*\]\s+Step: {_TIME} \| Tot: (?P<time>{_TIME})",
        more=(r"\bLoss: <loss>",),
        meaning="running-mean",
    ),
    Line(
        "tqdm",
        rf"\[=*[>.]{{0,200}} ?<step>/<total> ?[=>.]*\]\s+(?:ETA: {_TIME}|Tot: (?P<hms>{_TIME})) \| Step: (?P<time>{_TIME})",
        meaning="smoothed",
    ),
)
