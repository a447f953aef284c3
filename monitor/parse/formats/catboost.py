"""CatBoost's iterations.

``200:<TAB>learn: 0.4512<TAB>test: 0.4705<TAB>best: 0.4705 (200)<TAB>total: 12.3s<TAB>remaining: 49s``: an iteration is a
step, counted from 0; total is the time since training began, to three digits below a minute and to the second above;
remaining is an estimate.
"""

from monitor.parse.family import Line

GATES = ("remaining: ",)
_SPENT = r"(?P<hms>(?:\d{1,9}(?:\.\d{1,9})?(?:us|ms|d|h|m|s) ?){1,4})"
LINES = (
    Line(
        "catboost",
        r"(?<![\w.:])<step>:\s{1,12}(?:learn: <loss>\s{1,12})?(?=learn|test|best|total)[^\n]{0,120}?"
        rf"\btotal: {_SPENT}\s{{1,12}}remaining: ",
        meaning="clock",
    ),
)
