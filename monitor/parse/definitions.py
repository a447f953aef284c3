"""The job's own metric definitions (name and regular expression) as a further recognizer.

They come from outside and run on a linear-time engine; a pattern that it refuses is named and left out. A name says what
its number is ("step_time", "train:samples_per_second", "loss"); names of nothing that a step report holds are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from monitor.parse.fields.keys import Key, key_of
from monitor.parse.linear import Refused, compiled
from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Reading

FORMAT = "metric-definition"
_TIMES = {"time", "rate", "throughput"}
_USED = {*_TIMES, "step", "loss"}

Recogniser = Callable[[str], Iterator[Reading]]


def recogniser(definitions: Mapping[str, str]) -> tuple[Recogniser | None, tuple[str, ...]]:
    """(recognizer, names that were refused); no recognizer where no definition tells a time, a rate or a throughput.

    A line is a report where it gives one of these; its loss and step number are taken along. A loss alone is none: it is
    printed in summaries and evaluations too.
    """
    usable: list[tuple[Key, re.Pattern[str]]] = []
    refused: list[str] = []
    for name, pattern in definitions.items():
        key = key_of(name.rpartition(":")[2]) or key_of(name)
        if key is None or key.what not in _USED or "eval" in name.lower() or "valid" in name.lower():
            continue
        try:
            usable.append((key, compiled(pattern)))
        except Refused:
            refused.append(name)
    if not any(key.what in _TIMES for key, _ in usable):
        return None, tuple(refused)
    return lambda text: _read(usable, text), tuple(refused)


def _read(usable: list[tuple[Key, re.Pattern[str]]], text: str) -> Iterator[Reading]:
    step, loss, time_s, throughput, unit, meaning = None, None, None, None, "", None
    for key, pattern in usable:
        match = pattern.search(text)
        if match is None:
            continue
        printed = match.group(1) if match.groups() else match.group(0)
        value = number(printed)
        if key.what == "step":
            step = count((printed or "").replace(",", ""))
        elif value is None:
            continue
        elif key.what == "loss":
            loss = value
        elif key.what == "time" and time_s is None:
            time_s, meaning = duration_s(value * (key.factor or 1.0)), key.meaning
        elif key.what == "rate" and value > 0:
            time_s, meaning = duration_s((key.factor or 1.0) / value), key.meaning
        elif key.what == "throughput":
            throughput, unit = value, key.unit
    if time_s is not None or throughput is not None:
        yield Reading(
            FORMAT, step, None, time_s, meaning or "step", throughput=throughput, throughput_unit=unit, loss=loss
        )
