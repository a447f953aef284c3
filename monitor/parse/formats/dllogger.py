"""NVIDIA's DLLogger (DeepLearningExamples).

``DLL 2024-05-06 10:00:00.123456 - Training Epoch: 0 Training Iteration: 150  step_loss : 6.9  learning_rate : 1e-4``; other
examples write the step as ``Epoch: 0 Iteration: 150``, as ``(0, 150)`` or as ``epoch 1 | iter 15/48 | loss 38.1 | … | took
1.2 s``. Which metrics follow is the example's choice: the time of an iteration and the rate are taken where they are
named so. "Training Iteration" is the global step, the others count within an epoch. A step of three numbers, or with
"Validation Iteration", is a validation; ``PARAMETER``, ``Summary:``, an epoch alone or ``()`` are no steps. The JSON
lines, ``DLLL {…}``, have a clock beside the metrics.
"""

from monitor.parse.family import Line, no_step

GATES = ("DLL 20", "DLLL {")
_IS = r'(?: : |": | {1,9})'
_MORE = (
    rf"(?<![\w.])(?:train_iter_time|iter_time|took){_IS}<s>",
    rf"(?<![\w.])(?:step_loss|train\.loss|train_loss|loss){_IS}<loss>",
)
_RATES = (
    ("images/s", rf"(?<![\w.])train\.total_ips{_IS}<rate>"),
    ("items/s", rf"(?<![\w.])train_items_per_sec{_IS}<rate>"),
    ("samples/s", rf"(?<![\w.])throughput_train{_IS}<rate>"),
)
_JSON = r'\bDLLL \{[^\n{}]{0,200}"elapsedtime": "%s", "type": "LOG", "step": \[<epoch>, <step>\]'
LINES = (
    Line(
        "dllogger",
        r"\bDLL 20[\d:. -]{10,30} - (?:"
        r"Training Epoch: \d{1,9} Training Iteration: <step>\b(?! +Validation)"
        r"|Epoch: <epoch> Iteration: <step2>\b(?! +Validation)"
        r"|\(<epoch2>, <step3>\)"
        r"|epoch +<epoch3> \| iter +<step4>/ *\d{1,12} \|)",
        _MORE,
        _RATES,
        needs="s|loss|rate",
    ),
    Line("dllogger", _JSON % '[^"]{1,20}', _MORE, _RATES, needs="s"),
    Line("dllogger", _JSON % "<elapsed>", _MORE, _RATES, needs="loss|rate"),
    no_step(r"\bDLL 20[\d:. -]{10,30} - |\bDLLL \{"),
)
