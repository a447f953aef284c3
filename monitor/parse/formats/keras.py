"""Keras 2 and 3 (tf.keras too): the progress bar (verbose=1) and the line an epoch (verbose=2).

``40/40 ━━━━━ 4s 101ms/step - accuracy: 0.52 - loss: 0.82 - val_loss: 0.7`` (Keras 3), ``19/19 [=====] - 2s 105ms/step -
loss: 0.4`` (Keras 2, closing redraw), ``500/500 - 121s - loss: 2.4 - 121s/epoch - 242ms/step`` and ``40/40 - 4s - 101ms/step
- loss: 0.8`` (verbose=2). The time a step, in us, ms or s, is the mean since the epoch's start: a bar leaves the first step
out, the closing redraw and verbose=2 hold validation and saving too. Where there is none, ``127/127 [=====] - 7s - loss:
0.03`` and ``500/500 - 121s - loss: 2.4`` (Keras 1, TensorFlow before 2.4), the epoch's seconds tell it, from five on, of no
more than 5,000 steps (Keras 1 counts the samples of a generator) and where it does not say "Train on 500 samples". It is
rounded, ``1112s 1s/step``: of one digit the epoch's seconds tell more. ``87us/sample`` is a rate in samples, and so is
``5ms/step`` where Keras before 2.3 trains on arrays: "Train on 60000 samples", or redraws that go up by batches. ``- 121s -
loss: 2.4`` tells of an epoch and no step. The counter begins again with each epoch, whose number the line does not name.
Traps: Keras 2's redraws in progress (``- ETA: 4s``) give no time; a duration in front of the time a step is an ETA in
progress and the epoch's seconds at its end; ``predict`` draws the same bar but no metrics; ``evaluate`` cannot be told from
``fit`` by its line, but by its number of batches, which is handed on as the bar's name.
"""

from monitor.parse.family import Line

GATES = ("s/step", "s/sample", "s - loss: ")
_HEAD = (
    r"(?<![\d/.])<step>/(?:(?P<bar>\d{1,12})|Unknown)\s{1,3}(?:\[[=>.]{1,60}\]\s|[━╸╺─=]{1,80}\s)?(?:- )?"
    r"(?:(?P<spent>\d{1,8})s|\d{1,3}(?::\d\d){1,2})(?= )"
)
_METRIC = r" - (?P<metric>[A-Za-z][\w./-]{0,80}): (?:-?\d|nan|-?inf)"
_LOSS = r" - loss: <loss>"
LINES = (
    Line(
        "keras",
        _HEAD,
        more=(r"\s(?P<time>\d{1,9})(?P<unit>us|ms|s)/step\b", _METRIC, _LOSS),
        meaning="running-mean",
        needs="time metric",
        many=True,
    ),
    Line(
        "keras",
        _HEAD,
        more=(r"\s(?P<each>\d{1,9})(?P<unit>us|ms|s)/sample\b", _METRIC, _LOSS),
        unit="samples/s",
        meaning="running-mean",
        needs="each metric",
        many=True,
    ),
    Line(
        "keras",
        r"^(?!.*s/(?:step|sample))\s{0,40}<step>/(?P<bar>\d{1,12}) (?:\[=+\] )?- (?P<clock>\d{1,8})s(?= {1,3}- loss: )",
        more=(_LOSS,),
        meaning="running-mean",
        needs="loss",
    ),
)
