"""Reads printed numbers, and refuses what cannot be one.

Whatever becomes a step, a rank, a total or any other count passes here, so that none is larger than columns and arithmetic
bear: what a log prints beyond is no count.
"""

from __future__ import annotations

import re

# A step of a month is no step; such values come from clocks, IDs and corrupted text.
LONGEST_STEP_S = 30 * 86400.0
#: Nothing is measured in less: "WALL=2.858e-15" is no time.
SHORTEST_STEP_S = 1e-9
#: More digits no count has, and a float does not hold exactly.
MOST_DIGITS = 15
_INTEGER_DIGITS = 18
_PART = re.compile(r"([\d.]+) ?(us|ms|[Ddhms])")
_MINUTES, _S = r"{0,2}m(?:in(?:ute)?s?)?", r"\d{1,2}(?:\.\d++)? {0,2}s(?:ec(?:ond)?s?)?(?: {1,2}\d{1,3}ms)?"
#: Behind the first digits of a duration that is spelled: "1h 2m", "8h 27min  3s 779ms", "2m03.5s", "2 min 20 sec", "51s 134ms",
#: "0 hours, 2 minutes, 20 seconds", "2'20''", "2分20秒".
SPELLED = (
    rf" {{0,2}}h(?:(?:ou)?rs?)?,? {{0,2}}\d{{1,2}} {_MINUTES}(?:,? {{0,2}}(?:and )?{_S})?(?: {{1,2}}\d{{1,3}}ms)?(?!\w)"
    rf"| {_MINUTES},? {{0,2}}(?:and )?{_S}(?!\w)"
    r"|s {1,2}\d{1,3}ms(?!\w)"
    r"|['′]\d{1,2}(?:\.\d++)?(?:''|[\"″])|(?:小?时\d{1,2})?分钟?\d{1,2}(?:\.\d++)?秒"
)
# A printed duration ends with its last unit: "1h 2m", "2min", "3s 20ms", "5sec", "2'20''".
_ENDS = frozenset("smhnc'\"″秒")
_SIGNS = re.compile(r"(''|[\"″秒])|(['′]|分钟?)|小?时")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "D": 86400.0}
#: More processes no job has, so no rank, and no number of a task or a host, is that large.
MOST_PROCESSES = 1 << 17


def number(text: str | None) -> float | None:
    """The number a text prints ("6,785", "1.2E+01", "nan"), NaN and infinities included; None if it is none."""
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return float(text.replace(",", "").strip().strip("'\""))
    except ValueError:
        return None


def duration_s(value: float | None) -> float | None:
    """``value`` if it can be a duration of a step in seconds (a nanosecond to a month), else None."""
    return value if value is not None and SHORTEST_STEP_S < value < LONGEST_STEP_S else None


def count(text: str | None) -> int | None:
    """A step number, or None where it is missing or has too many digits to be one."""
    return int(text) if text and text.isdecimal() and len(text) <= MOST_DIGITS else None


def whole_number(value: str | float | None) -> int | None:
    """A count as a text ("6,785", "120.0") or as a number of a JSON object; None where it is none."""
    if type(value) is str:
        if value.isdecimal():
            return count(value)
        digits, _, rest = value.replace(",", "").strip().partition(".")
        return None if rest.strip("0") else count(digits)
    if type(value) is int:
        return value if 0 <= value < 10**MOST_DIGITS else None
    return int(value) if isinstance(value, float) and value.is_integer() and 0 <= value < 10.0**MOST_DIGITS else None


def integer(text: str) -> int | str:
    """An integer of a JSON text, for ``json.loads(parse_int=...)``: what 64 bits do not hold stays the text it is."""
    return int(text) if len(text) <= _INTEGER_DIGITS else text


def process_number(value: str | float | None) -> int | None:
    """The number of a process, its rank say, or None where no job has so many."""
    found = whole_number(value)
    return found if found is not None and found < MOST_PROCESSES else None


def clock_s(text: str) -> float | None:
    """Seconds of a printed clock: "36:27", "1:00:44", "2 days, 3:04:05", "1 day, 00:00:01", "2-03:04:05"; None if it is none."""
    days = 0
    if "day" in text:
        head, _, text = text.partition(",")
        digits = head.split()[0] if head.split() else ""
        if (said := count(digits)) is None:
            return None
        days = said
    elif "-" in text:
        head, _, text = text.partition("-")
        if (said := count(head)) is None:
            return None
        days = said
    parts = text.strip().split(":")
    if not 2 <= len(parts) <= 3:
        return None
    seconds = 0
    for part in parts:
        if (value := count(part)) is None:
            return None
        seconds = seconds * 60 + value
    return float(days * 86400 + seconds)


def is_spelled(printed: str) -> bool:
    """Whether what is printed is a clock or ends with a unit, and so no number alone."""
    return ":" in printed or printed[-1:] in _ENDS


def spelled_tick_s(printed: str) -> float:
    """What the last digit of a spelled duration counts: a second, or 0 where it is a part of one."""
    return 0.0 if "." in printed or "ms" in printed else 1.0


def spelled_s(text: str) -> float | None:
    """Seconds of a duration as it is spelled: "0:36:27", "12:03.5", "1 day, 00:00:01", "1m23s", "43.1 ms", "1 m, 12 s",
    "0h:2m:20s", "2'20''", "2分20秒".
    """
    if ":" in text:
        whole, _, fraction = text.partition(".")
        if (seconds := clock_s(whole)) is not None:
            return seconds + (number(f"0.{fraction}") or 0.0)
    parts = _PART.findall(_SIGNS.sub(lambda sign: "s" if sign[1] else "m" if sign[2] else "h", text))
    return sum((number(amount) or 0.0) * _SECONDS[unit] for amount, unit in parts) if parts else None
