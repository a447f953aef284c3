"""CatBoost's iterations.

``200:<TAB>learn: 0.4512<TAB>test: 0.4705<TAB>best: 0.4705 (200)<TAB>total: 12.3s<TAB>remaining: 49s``: an iteration is a
step, counted from 0; total is the time since training began, to three digits below a minute and to the second above;
remaining is an estimate. Its file ``catboost_training.json`` says the same,
``{"learn":[0.4512],"iteration":200,"passed_time":12.3,"remaining_time":49.1}``.
"""

from monitor.parse.family import Line

GATES = ("remaining: ", '"passed_time":')
_SPENT = r"(?P<hms>(?:\d{1,9}(?:\.\d{1,9})?(?:us|ms|d|h|m|s) ?){1,4})"
LINES = (
    Line(
        "catboost",
        r"(?<![\w.:])<step>:\s{1,12}(?:learn: <loss>\s{1,12})?(?=learn|test|best|total)[^\n]{0,120}?"
        rf"\btotal: {_SPENT}\s{{1,12}}remaining: ",
        meaning="clock",
    ),
    Line(
        "catboost",
        r'^\{"learn":\[(?:<loss>)?[^\]]{0,400}\](?:,"test":\[[^\]]{0,400}\])?,"iteration":<step>,"passed_time":<since>,',
        meaning="clock",
    ),
)
