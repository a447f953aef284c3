"""tqdm-loggable: the bars that Levanter and others write where there is no terminal, one line a minute or so.

``… tqdm_logging - Progress on:train 640it/20.0kit rate:1.9it/s remaining:2:49:10 elapsed:05:40 postfix:loss=4.31``: the rate is
a moving average with one decimal, which turns over at 1 (``3.2s/it``). Counts beyond 999 are rounded to three digits.
"""

from monitor.parse.family import Line, no_step

GATES = ("Progress on:",)
LINES = (
    # Bars that move while nothing is trained.
    no_step(
        r"(?i)\bProgress on:(?:(?! [\d.]+[kMG]?(?:it)?/)[^\n]){0,80}?"
        r"\b(?:eval|valid|test|load|download|token|shard|cach|writ|read|process|copy|upload|generat)"
    ),
    Line(
        "tqdm-loggable",
        r"\bProgress on:[^\n]{0,80}?:? (?P<step>[\d.]+[kMG]?)(?:it)?/(?P<total>[\d.]+[kMG]?)(?:it)?"
        r" rate:(?:<pace>it/s|<s>s/it|-)\s(?P<rest>[^\n]{0,600})",
        more=(r"\b(?:train_)?loss=<loss>",),
        meaning="smoothed",
    ),
    no_step("Progress on:"),
)
