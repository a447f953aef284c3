"""Lightning's RichProgressBar: a bar of the rich library, not tqdm's.

``Epoch 3/9  ━━━━━━━━╸━━━━━━━━━━━━ 38/48 0:00:02 • 0:00:01 19.31it/s v_num: 0.000 train_loss: 0.310``: batches of the epoch,
the time since the epoch began, an estimate, the rate over the last 30 seconds and whatever the module logged. The rate
never turns over to seconds and has two decimals: where it is rounded to 0.00 the time is the mean since the epoch
began. It is handed on as a tqdm bar. Traps: bars of ``Validation``, ``Sanity Checking`` and ``Testing`` look alike; a total
that is not known is ``--``.
"""

from monitor.parse.family import Line, no_step

GATES = ("• ",)
_HEAD = r"\bEpoch <epoch>[^\n━╸╺]{0,60}(?<![━╸╺-])[━╸╺-]{1,400} {1,9}"
_ETA = r" • {1,9}(?:(?:\d{1,4} days?, )?[-\d]{1,4}:[-\d]\d?-?:[-\d]\d?-? {1,9})?"
_LOSS = (r"(?<![\w/.-])(?:train[_/])?loss(?:_step)?: <loss>",)
LINES = (
    Line(
        "tqdm",
        _HEAD + rf"(?P<over><step>)/(?:<total>|--) {{1,9}}(?P<time><hms>){_ETA}0\.00it/s(?P<rest>[^━\n]{{0,600}})",
        _LOSS,
        meaning="running-mean",
        many=True,
        bar="Epoch rich",
    ),
    Line(
        "tqdm",
        _HEAD + rf"<step>/(?:<total>|--) {{1,9}}<hms>{_ETA}<pace>it/s(?P<rest>[^━\n]{{0,600}})",
        _LOSS,
        meaning="smoothed",
        many=True,
        bar="Epoch rich",
    ),
    no_step(r"[━╸╺-] {1,9}<count>/(?:<count>|--) {1,9}[^\n•]{0,40} • .{0,60}it/s"),
)
