"""XLM and the trainers made from it.

``INFO - 03/09/21 10:22:31 - 0:02:41 -      85 -   20.13 sent/s -  5153.02 words/s - MLM-en:  7.9000 -  - model LR: 1e-4``:
the clock counts whole seconds since the process began, the rates are of this process over the last iterations. The
loss is taken where there is one objective; several stand side by side between "||".
Those that were made from it count other things than sentences: ``200 -  256.73 equations/s -``.
"""

from monitor.parse.family import Line

GATES = (" words/s - ",)
LINES = (
    Line(
        "xlm",
        r"\b<hms> -\s+<step> -\s+[\d.]+ \w{1,20}/s -\s+<rate> words/s - (?P<rest>[^\n]{0,600})",
        more=(r"^(?!.*\|\|)[\w-]+:\s+<loss>(?=\s+-|\s*$)",),
        unit="words/s",
        meaning="interval",
    ),
)
