"""SageMaker's built-in algorithms (those on MXNet also print Speedometer lines, which ``mxnet`` reads).

- ``#progress_notice. epoch: 1, iterations: 20 speed: 56.1 samples/sec learning_rate: 0.000089`` (semantic segmentation):
  samples/s over the last iterations. Without learning_rate the same line is of the validation.
- ``Epoch:    0, batches:    100, num_examples:   3200, 103.5 samples/sec, epoch time so far:  0:00:30.9`` (object
  detection): samples/s since the epoch's start.
- ``#quality_metric: host=algo-1, epoch=0, batch=500 train rmse <loss>=1.2`` and the same without a batch for the whole
  epoch, where step is the epoch's number (linear learner, factorization machines, DeepAR, k-means, NTM …): the objective
  only, of the many scores that some print.
- ``#throughput_metric: host=algo-1, train throughput=1234.5 records/second``: mean of an epoch.
- ``##### Alpha: 0.0489  Progress: 2.18%  Million Words/sec: 2.36 #####`` (BlazingText).

None tells how long a step took. Not read: ``#throughput_metric.`` and ``#quality_metric.`` of semantic segmentation and
object detection (with a full stop: sums over what other lines said), ``#progress_metric`` (a share of the epochs), and the
``#metrics`` JSON, whose update.time is milliseconds of an EPOCH.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, number
from monitor.parse.rows import NO_STEP, Reading

FORMAT = "sagemaker-builtin"
GATES = ("#progress_notice", "epoch time so far", "#quality_metric:", "#throughput_metric:", "Million Words/sec: ")

_NUMBER = r"(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?)"
_NOTICE = re.compile(
    rf"#progress_notice\. epoch: (?P<epoch>\d{{1,9}}), iterations: (?P<step>\d{{1,15}}) speed: (?P<rate>{_NUMBER})"
    r" samples/sec learning_rate: "
)
_SO_FAR = re.compile(
    rf"\bEpoch:\s{{0,9}}(?P<epoch>\d{{1,9}}), batches:\s{{0,15}}(?P<step>\d{{1,15}}), num_examples:\s{{0,15}}\d{{1,15}},"
    rf" (?P<rate>{_NUMBER}) samples/sec, epoch time so far"
)
_QUALITY = re.compile(
    r"#quality_metric: host=[\w.-]{1,80}, epoch=(?P<epoch>\d{1,9}),(?: batch=(?P<batch>\d{1,15}))? train"
    rf" (?:\w{{0,80}}objective|(?:total_)?loss|\w{{0,60}}cross_entropy|rmse|msd) <loss>=(?P<loss>-?{_NUMBER}|nan|-?inf)"
)
_THROUGHPUT = re.compile(
    rf"#throughput_metric: host=[\w.-]{{1,80}}, train throughput=(?P<rate>{_NUMBER}) records/second"
)
_WORDS = re.compile(
    rf"##### Alpha: [\d.-]{{1,20}}\s{{1,4}}Progress: [\d.]{{1,9}}%\s{{1,4}}Million Words/sec: (?P<rate>{_NUMBER})"
)

_OTHER = re.compile(r"#(?:progress_notice|quality_metric|throughput_metric)\b")


def read(text: str) -> Iterator[Reading]:
    """The report of training in ``text``, if there is one; NO_STEP for what these algorithms say beside."""
    if match := _NOTICE.search(text):
        yield _report("", match["step"], match["epoch"], match["rate"], "samples/s")
    elif match := _SO_FAR.search(text):
        report = _report("", match["step"], match["epoch"], match["rate"], "samples/s")
        yield report._replace(meaning="running-mean")
    elif match := _QUALITY.search(text):
        epoch, batch = match["epoch"], match["batch"]
        report = _report("-loss" if batch else "-epoch", batch or epoch, epoch, None, "")
        yield report._replace(loss=number(match["loss"]))
    elif match := _THROUGHPUT.search(text):
        yield _report("-throughput", None, None, match["rate"], "records/s")
    elif match := _WORDS.search(text):
        yield _report("", None, None, match["rate"], "million words/s")
    elif _OTHER.search(text):
        yield NO_STEP


def _report(kind: str, step: str | None, epoch: str | None, rate: str | None, unit: str) -> Reading:
    return Reading(
        format=FORMAT + kind,
        step=count(step),
        epoch=count(epoch),
        meaning="interval",
        throughput=number(rate),
        throughput_unit=unit,
    )
