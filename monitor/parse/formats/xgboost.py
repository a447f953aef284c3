"""XGBoost's rounds (the library's, and SageMaker's built-in algorithm on it).

``[12]<TAB>train-auc:0.91816<TAB>train-logloss:0.58923<TAB>validation-logloss:0.67492``: a round is a step, counted from 0;
the line gives no time. The loss is that of the first data set whose name begins with "train", where its metric is one
that falls. cv's ``train-rmse:0.50000+0.01000`` is a mean over folds. Traps: the line of the best round is printed again
where training stopped early; other things in brackets with a tab behind. The command line program says before each round how
long it ran so far, ``boosting round 13, 31.5 sec elapsed``: that is what the clock shows at the end of the round before.
"""

from monitor.parse.family import Line

GATES = (
    *("]\t", "]#011", "-rmse:", "-mae:", "-logloss:", "-mlogloss:", "-error:", "-merror:", "-auc:", "-aucpr:"),
    "boosting round ",
)
# Scores always have decimals; "[1] worker-1:8080" has none.
_SCORE = r"(?:-?\d{1,15}\.\d{1,20}(?:e[-+]?\d{1,3})?|nan|-?inf)"
_FALLS = r"m?logloss|rmse|rmsle|mae|mape|mphe|quantile|gamma-deviance|[a-z]{1,12}-nloglik[@\d.]{0,12}"
LINES = (
    Line(
        "xgboost",
        rf"(?:^|[\s:>\]])\[<step>\](?P<rest>\s{{1,8}}[\w.@]{{1,80}}-[\w.@:-]{{1,80}}:{_SCORE}(?=[\s+]|$).*)",
        more=(rf"\strain[\w.@]{{0,60}}-(?:{_FALLS})(?:-mean)?:(?P<loss>{_SCORE})",),
    ),
    Line("xgboost", r"\bboosting round <step>, <elapsed> sec elapsed", meaning="of-last"),
)
