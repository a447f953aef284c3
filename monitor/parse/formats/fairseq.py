"""fairseq and its descendants (metaseq): what ``train_inner`` prints, as text and as JSON.

``… | INFO | train_inner | epoch 003:   1200 / 8190 loss=4.1, wps=9120, ups=2.51, num_updates=17580, wall=7021``:
num_updates is the global step (the counter behind "epoch" begins again with each epoch), ups the updates per second
over the log interval, with two decimals; wall counts whole seconds since the trainer was built, and is right where ups
is not (on TPUs one update of each interval is counted). Releases before 2020 print ``| epoch 003:`` without a logger;
the oldest have words per second only, and the mean loss in brackets behind the current one. Lines of a validation,
``| epoch 003 | valid on …  10 / 80 loss=…``, and the summary ``| epoch 003 | train | loss …`` are no steps.
"""

from monitor.parse.family import NUMBER, Line, no_step

GATES = ("wps=", 'wps":', "| wps ", "| words/s ", "| valid on ")
_TEXT = r"\bepoch %s:?\s+%s / \d{1,12}\s+(?=\w+=)(?=.*\bwps=)"
LINES = (
    Line(
        "fairseq",
        _TEXT % (r"\d{1,6}", r"\d{1,12}") + r"(?=.*\bups=)",
        more=(r"\bnum_updates=<step>", r"\bups=<pace>", r"\bwall=(?!0\b)<clock>", r"\bloss=<loss>"),
        meaning="interval",
        needs="step",
    ),
    Line(
        "fairseq",
        _TEXT % ("<epoch>", "<step>"),
        more=(r"\bwps=<rate>", r"\bwall=(?!0\b)<clock>", r"\bloss=<loss>"),
        unit="words/s",
        meaning="interval",
    ),
    Line(
        "fairseq",
        rf'^(?=.*"wps":).*"num_updates":\s*"?(?P<step>{NUMBER})',
        more=(r'"ups":\s*"?<pace>', r'"wall":\s*"?(?!0\b)<clock>', r'"loss":\s*"?<loss>'),
        meaning="interval",
        anywhere=True,
    ),
    # An epoch's end and a validation have the same keys behind "train_" and "valid_", or between bars.
    no_step(r'\bepoch \d{1,6} \||"(?:train|valid\w{0,40})_num_updates":'),
)
