"""LightGBM's rounds: the Python package's log_evaluation, and the command line's clock.

``[25]<TAB>train's binary_logloss: 0.483<TAB>valid's auc: 0.69``: a round is a step, counted from 1; no time. ``[LightGBM]
[Info] 0.512345 seconds elapsed, finished iteration 5`` (command line): seconds since training began. The loss is the first
one of the data set "train…". Traps: ``init for col-wise cost 0.000008 seconds``; the best round is printed again where
training stopped early.
"""

from monitor.parse.family import Line

GATES = ("]\t", "]#011", "train's ", "training's ", "valid's ", "valid_0's ", "seconds elapsed, finished iteration ")
LINES = (
    Line(
        "lightgbm",
        r"(?:^|[\s:>])\[<step>\](?P<rest>\s{1,8}[^\s']{1,80}'s (?:train |valid )?[\w@.-]{1,80}: <number>(?=\s|$).*)",
        more=(
            r"\strain[^\s']{0,60}'s"
            r" (?:\w{0,30}logloss|l1|l2|rmse|mape|huber|fair|poisson|quantile|tweedie|gamma): <loss>",
        ),
    ),
    Line("lightgbm-cli", r"\b<since> seconds elapsed, finished iteration <step>", meaning="clock"),
)
