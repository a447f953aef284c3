"""TensorFlow's model garden: TimeHistory, Orbit's controller, the Estimator hooks, Object Detection API, slim.

- ``TimeHistory: 12.50 seconds, 819.20 examples/second between steps 100 and 200``: the interval names its steps.
- ``BenchmarkMetric: {'global step':200, 'time_taken': 12.5,'examples_per_second': 819.2}``: older; the seconds are of an
  interval that the line does not name.
- ``train | step:    200 | steps/sec:    8.0 | output: {'training_loss': 6.9}`` (Orbit): mean over the inner loop.
- ``Average examples/sec: 800.1 (819.2), step = 200``: since the start, and since the last line, which is taken.
- ``Step 200 per-step time 0.125s loss=0.9`` (Object Detection API 2): mean over the inner loop.
- ``global step 200: loss = 2.30 (0.125 sec/step)`` (slim): the last step alone.

Trap: two loggers, and Orbit's print beside its log, write every line twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "tf-models"
GATES = (
    "TimeHistory: ",
    "BenchmarkMetric: ",
    "train | step: ",
    "Average examples/sec: ",
    "per-step time ",
    " sec/step)",
)

_NUMBER = r"(?:\d{1,15}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?)"
_HISTORY = re.compile(
    rf"\bTimeHistory: (?P<seconds>{_NUMBER}) seconds, (?P<rate>{_NUMBER}) examples/second"
    r" between steps (?P<first>\d{1,15}) and (?P<step>\d{1,15})"
)
_BENCHMARK = re.compile(
    rf"\bBenchmarkMetric: \{{'(?:global step|num_batches)': ?(?P<step>\d{{1,15}}), ?'time_taken': ?{_NUMBER},"
    rf" ?'examples_per_second': ?(?P<rate>{_NUMBER})"
)
_ORBIT = re.compile(
    rf"\btrain \| step: {{1,12}}(?P<step>\d{{1,15}}) \| steps/sec: {{1,12}}(?P<rate>{_NUMBER}) \| output:(?P<rest>.*)"
)
_ORBIT_LOSS = re.compile(rf"'(?:training_|total_)?loss': (?P<loss>-?{_NUMBER}|nan|-?inf)")
_AVERAGE = re.compile(rf"\bAverage examples/sec: {_NUMBER} \((?P<rate>{_NUMBER})\), step = (?P<step>\d{{1,15}})")
_DETECTION = re.compile(
    rf"\bStep (?P<step>\d{{1,15}}) per-step time (?P<time>{_NUMBER})s(?: loss=(?P<loss>-?{_NUMBER}|nan|-?inf))?"
)
_SLIM = re.compile(
    rf"\bglobal step (?P<step>\d{{1,15}}): loss = (?P<loss>-?{_NUMBER}|nan|-?inf) \((?P<time>{_NUMBER}) sec/step\)"
)


def read(text: str) -> Iterator[Reading]:
    """The report in ``text``, if there is one."""
    if match := _HISTORY.search(text):
        seconds, done = number(match["seconds"]), (count(match["step"]) or 0) - (count(match["first"]) or 0)
        yield _report(match, time_s=seconds / done if seconds and done > 0 else None, unit="examples/s")
    elif match := _BENCHMARK.search(text) or _AVERAGE.search(text):
        yield _report(match, time_s=None, unit="examples/s")
    elif match := _ORBIT.search(text):
        rate, loss = number(match["rate"]), _ORBIT_LOSS.search(match["rest"])
        yield _report(match, time_s=1.0 / rate if rate else None, unit="it/s", loss=loss["loss"] if loss else None)
    elif match := _DETECTION.search(text):
        yield _report(match, time_s=number(match["time"]), loss=match["loss"])
    elif match := _SLIM.search(text):
        yield _report(match, time_s=number(match["time"]), loss=match["loss"])._replace(
            format=f"{FORMAT}-slim", meaning="step"
        )


def _report(match: re.Match[str], time_s: float | None, unit: str = "", loss: str | None = None) -> Reading:
    return Reading(
        format=FORMAT,
        step=count(match["step"]),
        time_s=duration_s(time_s),
        meaning="interval",
        throughput=number(match["rate"]) if unit else None,
        throughput_unit=unit,
        loss=number(loss),
    )
