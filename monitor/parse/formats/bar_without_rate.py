"""Bars that tell no rate: ignite's ProgressBar, and fastprogress's, which fastai draws.

``Epoch [3/5]: [50/100]  50%|#####     , loss=2.25 [00:04<00:04]`` and ``Epoch 3/6 : |###-------| 30.00% [30/100 00:02<00:05
2.31]``, the last number being fastai's loss: the count, the time since the epoch began in whole seconds, an estimate. The
time is the mean since then, from ten seconds on. They are handed on as tqdm bars. Trap: fastai's bar of the validation has the
same name.
"""

from monitor.parse.family import Line, no_step

GATES = ("%|", "% [")
_COUNT = r"(?P<over><step>)/<total>"
# Of less than ten whole seconds there is no mean within a tenth.
_SINCE = r"(?:(?P<time>(?!0{1,2}:0\d\b)<hms>)|<hms2>)\<"
LINES = (
    no_step(r"(?i)\b(?:val(?:id\w*)?|eval\w*|test\w*)\b[^\n|]{0,60}\[\d{1,15}/\d{1,15}\]\s{1,4}\d{1,3}%\|"),
    Line(
        "tqdm",
        rf"(?:\bEpoch \[<epoch>/\d{{1,9}}\]: )?\[{_COUNT}\]\s{{1,4}}\d{{1,3}}%\|[^|\[\n,]{{0,200}}"
        r"(?P<rest>(?:,[^\[\n]{0,400})?) ?\[" + _SINCE,
        more=(r"(?<![\w/.-])(?:batch |running |avg |train )?loss=<loss>",),
        meaning="running-mean",
        many=True,
        bar="ignite",
    ),
    Line(
        "tqdm",
        rf"(?:\bEpoch <epoch>/\d{{1,9}} : )?\|[^|\n]{{1,400}}\| \d{{1,3}}\.\d\d% \[{_COUNT} {_SINCE}"
        r"[\d:?]{1,12}(?:\.{3})?(?: <loss>)?\]",
        meaning="running-mean",
        many=True,
        bar="fastprogress",
    ),
)
