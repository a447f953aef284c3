"""A pattern that the user gave (``--step-regex``), run on a linear-time engine so that none can hang the program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from monitor.errors import BadCall
from monitor.parse.linear import Refused, compiled
from monitor.parse.numbers import duration_s, number, process_number, spelled_s, whole_number
from monitor.parse.rows import Reading

# Named group -> factor to seconds.
_TIME_GROUPS = {
    "time": 1.0,
    "time_s": 1.0,
    "step_time": 1.0,
    "step_time_s": 1.0,
    "seconds": 1.0,
    "time_ms": 1e-3,
    "ms": 1e-3,
}
_RATE_GROUPS = {"steps_per_s": 1.0, "it_per_s": 1.0}
_KNOWN = ("step", "total", "epoch", "rank", "loss", "throughput", *_TIME_GROUPS, *_RATE_GROUPS)


def step_pattern(pattern: str) -> Callable[[str], Iterator[Reading]]:
    """A recognizer from a regular expression with named groups: step, time_s or time_ms or it_per_s, loss, throughput.

    A time may be a step's or a clock ("95.1", "0:01:35"): the whole series tells. BadCall says what is wrong with a
    pattern that RE2 refuses or that has no group this program knows.
    """
    try:
        expression = compiled(pattern)
    except UnicodeEncodeError:
        raise BadCall("--step-regex is no UTF-8 text.", "Log lines are read as UTF-8: write the pattern so.") from None
    except Refused as error:
        reason = error.args[0] if error.args else "it is not a regular expression"
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise BadCall(
            f"--step-regex was refused: {text}.",
            "RE2 has no look-around and no back-references; the rest is as in Python.",
        ) from None
    groups = expression.groupindex
    known = [name for name in _KNOWN if name in groups]
    if not known:
        raise BadCall(
            "--step-regex has no named group that says what the number is.",
            r"Name at least one, such as (?P<step>\d+) and (?P<time_s>[\d.]+); known are " + ", ".join(_KNOWN) + ".",
        )
    return lambda text: _read(expression, known, text)


def _read(expression: re.Pattern[str], known: list[str], text: str) -> Iterator[Reading]:
    for match in expression.finditer(text):
        found = {name: match.group(name) for name in known}
        if not any(found.values()):
            continue  # a pattern that also matches nothing
        time_s, clock, tick_s = None, None, 0.0
        for name, factor in _TIME_GROUPS.items():
            printed = found.get(name)
            if not printed:
                continue
            if ":" in printed.partition(".")[0]:
                clock = spelled_s(printed)
            elif (value := number(printed)) is not None:
                time_s = duration_s(value * factor)
            tick_s = 1.0 if factor == 1.0 and printed[-1:].isdecimal() and "." not in printed else 0.0
        for name in _RATE_GROUPS:
            rate = number(found.get(name))
            if rate:
                time_s = duration_s(1.0 / rate)
        throughput = number(found.get("throughput"))
        yield Reading(
            format="user",
            step=whole_number(found.get("step")),
            total=whole_number(found.get("total")),
            time_s=time_s,
            meaning="either",
            clock_s=clock,
            clock_tick_s=tick_s,
            throughput=throughput,
            throughput_unit="printed" if throughput is not None else "",
            loss=number(found.get("loss")),
            rank=process_number(found.get("rank")),
            epoch=whole_number(found.get("epoch")),
        )
