"""The AverageMeter lines of PyTorch's ImageNet example and its kin (Apex, HRNet, Swin, torchreid).

``Epoch: [0][  10/5005]<TAB>Time  0.51 (  1.23)<TAB>Data  0.01 (  0.10)<TAB>Loss 6.9e+00 (7.0e+00)`` and Swin's
``Train: [0/300][10/1251]<TAB>eta 0:20:00 lr 0.0001<TAB>time 0.35 (0.45)<TAB>loss 6.9 (7.0)<TAB>mem 5000MB``: of
"value (mean)" the value is the last iteration alone, in seconds, the mean that of the epoch so far; the index counts from 0
and begins again with each epoch. ``Speed 20.1 samples/s`` or ``Speed 500.1 (450.2)`` is in samples/s. Traps: ``Test: [
10/196]`` and ``EVALUATING - Epoch: [1][10/79]`` have the same fields; the time to load data stands in brackets, too.
"""

from monitor.parse.family import Line, no_step

GATES = ("poch: [", "poch [", "Train: [")
LINES = (
    # "EVALUATING - Epoch: [7][78/79]"
    no_step(
        r"(?i)(?<![\w./-])(?:eval(?:uat\w*)?|val(?:id\w*)?|test(?:ing)?)\W{1,6}epoch:? ?\[\s{0,9}\d{1,9}(?:/\d{1,9})?\],?\s?\["
    ),
    Line(
        "averagemeter",
        r"\b(?:[Ee]poch:?|Train:) ?\[\s{0,9}<epoch>(?:/\d{1,9})?\],?\s?\[\s{0,9}<step>/\d{1,15}\](?P<rest>.*)",
        more=(
            r"(?i)(?<!data )(?<!data_)(?<![\w.])(?:batch )?time:?\s{1,9}<s>\s?s?\s?\(\s{0,9}<mean>",
            # The loss itself, not "cls loss": where another word stands before each, the first.
            r"(?i)(?<![A-Za-z] )(?<![\w.])loss:?\s{1,9}<loss>",
            r"(?i)(?<![\w.])loss:?\s{1,9}<loss>",
            r"(?i)(?<![\w.])speed:?\s{1,9}<rate>\s?(?:\(|samples/s)",
            r"(?i)(?<![\w.])mem(?:ory)?:?\s{1,9}<mib>\s?MB\b",
        ),
        unit="samples/s",
        needs="s",
    ),
)
