"""When was a line written, by the time that it prints itself? In the forms that loggers use, near its head or as a field.

A form that lacks the day or the year still tells how long it is from one line to the next. What it gives is then counted
from a day of its own (``dated`` is false) and is no instant.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from monitor.parse.columns import Floats

DAY_MS = 86_400_000.0
# A time further in belongs to what the line talks about, not to the line.
_WITHIN = 48
_LONGEST = 40
# Instants of this program's years, in seconds; others are other numbers.
_FIRST_S, _LAST_S = 1_000_000_000.0, 4_200_000_000.0
_LEAP_YEAR = 2000
#: Instants are later than this, stamps that lack their day or year earlier.
FIRST_INSTANT_MS = round(1000 * _FIRST_S)
_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: month for month, name in enumerate(_NAMES, 1)}

_CLOCK = r"(?P<h>[0-2]\d):(?P<mi>[0-5]\d):(?P<s>[0-5]\d)(?:[.,](?P<f>\d{1,9}))?"
_LEVEL = r"(?:DEBUG|INFO|WARN(?:ING)?|ERROR)"
_RANK = r"(?i:\[?rank[ :=]?\d{1,5}\]?:?)"
#: The months as a pattern.
MONTHS = "|".join(name.capitalize() for name in _NAMES)
_MONTH = rf"(?P<name>{MONTHS})[a-z]{{0,6}}"
# What most loggers print, read without names: this runs for every report there is.
_USUAL = re.compile(r"(?<!\d)(20\d\d)[-/.](\d\d)[-/.](\d\d)[ T_:,-]{1,3}(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?")
# The surest first: of a line with several the first form that fits counts.
_FORMS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?<!\d)(?P<y>20\d\d)(?P<mo>[01]\d)(?P<d>[0-3]\d)[ T_:-]{_CLOCK}",
        rf"(?<!\d)(?P<mo>[0-3]?\d)[/.-](?P<d>[0-3]?\d)[/.-](?P<y>(?:20)?\d\d)(?:,? {{1,2}}|\|){_CLOCK}(?P<pm> ?[AaPp]\.?[Mm])?",
        rf"(?<!\d)(?P<d>[0-3]?\d)[ /-]{_MONTH}[ /-](?P<y>20\d\d)[ :]{_CLOCK}",
        rf"(?<!\d)(?P<y>20\d\d)[ /-]{_MONTH}[ /-](?P<d>[0-3]?\d)[ T]{_CLOCK}",
        rf"\b{_MONTH} {{1,2}}(?P<d>[0-3]?\d), (?P<y>20\d\d),? {_CLOCK}(?P<pm> ?[AaPp]\.?[Mm])?",
        rf"(?<!\d)(?P<y>20\d\d)年(?P<mo>[01]?\d)月(?P<d>[0-3]?\d)日\s?{_CLOCK}",
        rf"^\W{{0,3}}(?P<d>[0-3]?\d)[ /-]{_MONTH}[ -]{_CLOCK}",
        rf"\b{_MONTH} {{1,2}}(?P<d>[0-3]?\d),? {_CLOCK}(?: [A-Z]{{3,4}})?(?: (?P<y>20\d\d))?",
        rf"^\s?[IWEFD](?P<y>20\d\d)?(?P<mo>[01]\d)(?P<d>[0-3]\d) {{1,2}}{_CLOCK}",
        rf"^(?:[DIWEC]\b|\[?{_LEVEL}\]?|{_RANK}|\[[\w.-]{{1,24}}\](?=\s?\[))?\W{{0,3}}"
        rf"(?P<mo>[01]\d)[/-](?P<d>[0-3]\d) {{1,2}}{_CLOCK}",
        rf"^\W{{0,3}}(?:{_LEVEL}\]?[\s|:,-]{{1,3}}(?:[\w.]{{1,40}}:)?|{_RANK}[ |-]{{1,3}})?{_CLOCK}(?![\d:])"
        r"(?P<pm> ?[AaPp]\.?[Mm])?",
        r"^\[(?P<h>\d):(?P<mi>[0-5]\d):(?P<s>[0-5]\d)(?:\.(?P<f>\d{1,9}))?\]",  # since the start
    )
)
# Those of them that have a day, wherever they stand.
_OF_A_DAY = tuple(form for form in _FORMS if form.pattern[0] != "^")
_FIELD = re.compile(
    r"(?i)[\"'](?:@?timestamp|time(?:_?ms)?|ts|asctime|datetime|date|created|logged_at|_timestamp)[\"']\s?:\s?[\"']?"
    r"(?P<value>[-\d][\dT:., /+Z-]{8,38})"
)
# At a line's end it is the line's where it is called so: "Loss=0.009 Time=07:29:40".
_AT_END = re.compile(rf"\b[Tt]ime(?:stamp)?[=:]\s?{_CLOCK}\s*$")
# "Epoch 3 finished at 07:29:40", "step 3 at 07:29:40 | loss 2.3"
_SAID_AT = re.compile(rf"(?:@ ?|\b[Aa]t |\b[Tt]imestamp ?[=:] ?){_CLOCK}(?!\d|:\d)")
# Nothing more than brackets and full stops.
_NOTHING_BEHIND = re.compile(r"(?:[.,]\d{1,9})?Z?\W{0,3}$")
_LABEL = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)\w{0,6}|date|time(?:stamp)?|finished|done|completed|ended|at)"
_BEFORE_END = re.compile(rf"(?i)(?:\b{_LABEL}\b|[@\s|,;:=(\[-])*$")
# "written on" a day was something else.
_MAY_END = re.compile(rf"(?i)(?:[^\w\s]|\s\s|\d\s|\b{_LABEL})\s?$")
_WITHIN_END = 48
# In a table it may have the last column.
_LAST_FIELD = re.compile(rf"(?:[,;|\t]\s?|(?<=\d) ){_USUAL.pattern}Z?\s*\|?\s*$")
# In the form that folders of runs are named in.
_COMPACT = re.compile(
    r"\W{0,3}(20\d\d)(?P<sign>-?)([01]\d)(?P=sign)([0-3]\d)[ T_-]([0-2]\d)(?P=sign)([0-5]\d)(?P=sign)([0-5]\d)"
    r"(?:[.,](\d{1,9}))?(?!\d)"
)
_UNIX = re.compile(r"1\d{12}|1\d{9}(?:\.\d{1,9})?")
_CALLED_TIME = re.compile(r"\W{0,2}(?:[Tt]ime(?:stamp)?|ts)\s?[:=]\s?(?=1\d{9})")
# "2024-01-11 19:07: Train Epoch 1"
_TO_THE_MINUTE = re.compile(r"\W{0,3}(20\d\d)[-/.](\d\d)[-/.](\d\d)[ T_](\d\d):([0-5]\d)(?!\d|[:.,]\d)")


# Of whole seconds and the same moment with its fraction, as a collector and a logger print it, the finer tells more.
_FINE = re.compile(r"(?<![\d:])([0-2]\d):([0-5]\d):([0-5]\d)[.,](\d{1,9})(?![\d:])")
_SAME_MS = 1000

# A time between the fields of a line, of which no name says what it is: how late it is, or how long since the start.
_UNNAMED = re.compile(
    r"(?:^|[-|,;\[(])\s?(?P<h>\d{1,3}):(?P<mi>[0-5]\d):(?P<s>[0-5]\d)(?:[.,](?P<f>\d{1,9}))?(?=\s?(?:$|[-|,;\])]))"
)

_MAY = re.compile(r"\d:[0-5]\d:[0-5]\d")


class Stamp(NamedTuple):
    """Milliseconds since 1970 (UTC, as the containers run) or, where the form lacks day or year, since some day."""

    ms: int
    dated: bool


def stamp(text: str) -> Stamp | None:
    """The time that the line ``text`` prints of itself; None where it prints none."""
    if text.count(":", 0, _WITHIN + _LONGEST) > 1:
        usual = _USUAL.search(text, 0, _WITHIN + _LONGEST)
        if usual is not None and usual.start() <= _WITHIN and (read := _read_usual(usual)) is not None:
            return read if usual[7] else _finer(read, text)
        head = text[: _WITHIN + _LONGEST]
        for form in _FORMS if _MAY.search(head) else ():
            found = form.search(head)
            if found is not None and found.start() <= _WITHIN and (read := _read(found)) is not None:
                return read
    if text[:1] in "{[:" and "{" in text:
        return _of_field(text)
    if text.count(":") > 1 and (found := _SAID_AT.search(text)) is not None:
        return _read(found)
    end = max(0, len(text) - _LONGEST)
    if _may_end_in_a_time(text):
        if (found := _AT_END.search(text, end)) is not None:
            return _read(found)
        if (found := _LAST_FIELD.search(text, end)) is not None:
            return _read_usual(found)
        if (found := _behind(text)) is not None:
            return _read_usual(found) if found.re is _USUAL else _read(found)
    return _at_head(text)


def without_end(text: str) -> str:
    """The line without the time that it ends with, and what is said of that: "at", "time:"."""
    if not _may_end_in_a_time(text) or (found := _behind(text)) is None:
        return text
    before = text[: found.start()]
    label = _BEFORE_END.search(before)
    return before[: label.start()] if label is not None and label.start() else text


def _may_end_in_a_time(text: str) -> bool:
    return text.count(":", max(0, len(text) - _LONGEST)) > 1


def _behind(text: str) -> re.Match[str] | None:
    """The time that a line ends with: one with its day, or one that is said to be a time of day."""
    begin = max(0, len(text) - _WITHIN_END)
    for form in (_USUAL, *_OF_A_DAY, _SAID_AT):
        if (found := form.search(text, begin)) is not None and _NOTHING_BEHIND.match(text, found.end()):
            may = form is _SAID_AT or _MAY_END.search(text, max(0, found.start() - _WITHIN_END), found.start())
            return found if may else None
    return None


def unnamed_ms(text: str) -> int | None:
    """Milliseconds of a time that stands for itself between the fields of a line; None where there is none, or several."""
    found = list(_UNNAMED.finditer(text)) if _MAY.search(text) else []
    if len(found) != 1:
        return None
    hours, minutes, seconds, fraction = found[0].groups()
    return _ms(int(hours), minutes, seconds, fraction)


def _ms(hours: int, minutes: str, seconds: str, fraction: str | None) -> int:
    """Milliseconds of a clock; of the fraction three digits count."""
    return ((hours * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int((fraction or "0").ljust(3, "0")[:3])


def _finer(coarse: Stamp, text: str) -> Stamp:
    found = _FINE.search(text, 0, _WITHIN + _LONGEST)
    if found is None:
        return coarse
    hour, minute, second, fraction = found.groups()
    ahead_ms = _ms(int(hour), minute, second, fraction) - coarse.ms % int(DAY_MS)
    return coarse._replace(ms=coarse.ms + ahead_ms) if abs(ahead_ms) <= _SAME_MS else coarse


def _of_field(text: str) -> Stamp | None:
    """Of a line of JSON: the field that says when."""
    field = _FIELD.search(text)
    if field is None:
        return None
    value = field["value"]
    if _UNIX.match(value):
        return _unix(value)
    return _read_usual(usual) if (usual := _USUAL.match(value)) is not None else None


def _at_head(text: str) -> Stamp | None:
    if "20" in text[:5] and (compact := _COMPACT.match(text)) is not None:
        year, _, *rest = compact.groups()
        return _read_date(year, *rest)
    if (coarse := _TO_THE_MINUTE.match(text)) is not None:
        year, month, day, hour, minute = coarse.groups()
        return _read_date(year, month, day, hour, minute, "00", None)
    called = _CALLED_TIME.match(text)
    found = _UNIX.match(text, called.end() if called is not None else 0)
    return _unix(found[0]) if found is not None and text[found.end() : found.end() + 1] in {" ", ":", ","} else None


def _unix(value: str) -> Stamp | None:
    found = _UNIX.match(value)
    assert found is not None
    number = float(found[0])
    seconds = number / 1000 if number > _LAST_S else number
    return Stamp(round(seconds * 1000), True) if _FIRST_S < seconds < _LAST_S else None


def _read_usual(found: re.Match[str]) -> Stamp | None:
    return _read_date(*found.groups())


def _read_date(
    year: str, month: str, day: str, hour: str, minute: str, second: str, fraction: str | None
) -> Stamp | None:
    begun_s = _day_s(int(year), int(month), int(day))
    of_day_ms = _ms(int(hour), minute, second, fraction)
    return None if begun_s is None or of_day_ms >= DAY_MS else Stamp(begun_s * 1000 + of_day_ms, True)


def _read(found: re.Match[str]) -> Stamp | None:
    parts = found.groupdict()
    hour = int(parts["h"])
    if half := (parts.get("pm") or "").strip().lower():
        hour = hour % 12 + (12 if half[0] == "p" else 0)
    month = _MONTHS[parts["name"].lower()[:3]] if parts.get("name") else int(parts.get("mo") or 0)
    year, day = parts.get("y"), int(parts.get("d") or 0)
    ms = _ms(hour, parts["mi"], parts["s"], parts.get("f"))
    if hour > 23:
        return None
    if not day:
        return Stamp(ms, False)
    if month > 12 >= day:
        month, day = day, month  # day first, as most of the world writes it
    begun_s = _day_s(_LEAP_YEAR if not year else int(year) + (2000 if len(year) == 2 else 0), month, day)
    return None if begun_s is None else Stamp(begun_s * 1000 + ms, year is not None)


@lru_cache(maxsize=1024)  # many lines are of one day
def _day_s(year: int, month: int, day: int) -> int | None:
    try:
        return int(datetime(year, month, day, tzinfo=UTC).timestamp())
    except ValueError:
        return None


def written_at_ms(text: str) -> int | None:
    """Unix milliseconds of the time that a line prints of itself, where that has a day and a year; else None."""
    found = stamp(text)
    return found.ms if found is not None and found.dated else None


def unwrapped(ms: Floats) -> Floats:
    """Times of day in the order of their lines, as milliseconds that go on past midnight; other times as they are."""
    if not len(ms) or not (ms < DAY_MS).all():
        return ms
    days = np.cumsum(np.diff(ms, prepend=ms[0]) < -DAY_MS / 2)
    out: Floats = ms + DAY_MS * days
    return out
