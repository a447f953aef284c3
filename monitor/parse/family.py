"""How a log format is described: its lines as patterns whose named groups say what each number is.

``monitor.parse.formats`` shows how one is written; here it becomes a reader.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

from monitor.parse import formats, numbers
from monitor.parse.numbers import duration_s, process_number, spelled_s, whole_number
from monitor.parse.rows import NO_STEP, Meaning, Reading

Recogniser = Callable[[str], Iterable[Reading]]

_COUNT = r"\d{1,15}"
_MEASURED = r"\d{1,15}(?:,\d{3}){0,4}(?:\.\d{0,30})?(?:[eE][-+]?\d{1,4})?"
#: A number as it is printed, also where it is none.
NUMBER = rf"[-+]?(?:{_MEASURED}|nan|NaN|inf|Infinity)"
# What ``<role>`` in a pattern stands for; all others are a number above 0.
_SPELLED = {
    **dict.fromkeys(("loss", "number"), NUMBER),
    **dict.fromkeys(("step", "total", "epoch", "rank", "counter", "last", "first", "over", "count"), _COUNT),
    "hms": r"(?:\d{1,4} days?, )?\d{1,4}(?::\d\d){1,2}",
}
_SHORT = re.compile(r"(?<!\\)(?<!\(\?P)<(?P<role>[a-z_]+)(?P<again>\d?)>")
_GIB = {"gib": 1.0, "mib": 1 / 1024, "gb": 1e9 / 1024**3, "mb": 1e6 / 1024**3, "bytes": 1 / 1024**3}
_MAGNITUDES = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12}


@dataclass(frozen=True, slots=True)
class Line:
    """One form of a format's line. The roles that groups may have are in ``monitor.parse.formats``."""

    format: str
    """What the ``format`` column says; empty where the line is known and no step."""
    pattern: str
    """What every such line holds. In it and in all others ``<role>`` is a group of that name around a plain number."""
    more: tuple[str, ...] = ()
    """Patterns of figures that may stand behind it (in its group ``rest`` where it has one); of a role the first counts."""
    rates: tuple[tuple[str, str], ...] = ()
    """(unit, pattern) of throughputs; the first that is there counts."""
    times: tuple[tuple[Meaning, str], ...] = ()
    """(meaning, pattern) of times; the first that is there counts."""
    unit: str = ""
    """Of the throughput that ``pattern`` or ``more`` hold."""
    meaning: Meaning = "step"
    needs: str = ""
    """Roles without which it is no report; of "s|rate" one is enough."""
    anywhere: bool = False
    """Figures may also stand in front."""
    many: bool = False
    """A text may hold several."""
    bar: str = ""
    one_total: bool = False
    """Lines of the same form with another total are other work: bars."""


def no_step(pattern: str) -> Line:
    """A line that looks alike, or that a generic format would take for a step, and is none."""
    return Line("", pattern)


class Family(NamedTuple):
    """A file of ``monitor.parse.formats``."""

    name: str
    doc: str
    gates: tuple[str, ...]
    """Texts, one of which stands in every line of the family."""
    lines: tuple[Line, ...]
    read: Recogniser
    """What a text says; nothing where it is not the family's."""
    formats: tuple[str, ...]
    """What the ``format`` column may say of it."""
    before: Mapping[str, str]
    """Families that also know lines of this one and are asked later, and why."""
    generic: bool
    """It is asked where no other knows the text."""


def family(module: ModuleType) -> Family:
    """The family that a module describes."""
    lines: tuple[Line, ...] = getattr(module, "LINES", ())
    formats = getattr(module, "FORMATS", ()) or tuple(dict.fromkeys(line.format for line in lines if line.format))
    return Family(
        name=module.__name__.rpartition(".")[2],
        doc=module.__doc__ or "",
        gates=module.GATES,
        lines=lines,
        read=getattr(module, "read", None) or reader(lines, module.__name__),
        formats=formats,
        before=getattr(module, "BEFORE", {}),
        generic=getattr(module, "GENERIC", False),
    )


@cache
def families() -> tuple[Family, ...]:
    """All families in the order in which they are asked."""
    names = (module.name for module in pkgutil.iter_modules(formats.__path__))
    return in_order(family(importlib.import_module(f"{formats.__name__}.{name}")) for name in names)


def in_order(all_families: Iterable[Family]) -> tuple[Family, ...]:
    """Those that are ``before`` others first, generic ones last, otherwise by name."""
    found = {family.name: family for family in all_families}
    ordered: dict[str, Family] = {}

    def put(name: str) -> None:
        for other in sorted(found):
            if name in found[other].before and other not in ordered:
                put(other)
        ordered[name] = found[name]

    for name in sorted(found, key=lambda name: (found[name].generic, name)):
        if name not in ordered:
            put(name)
    return tuple(ordered.values())


def reader(lines: Iterable[Line], module: str) -> Recogniser:
    """Reads a text as the first of the lines that it is; patterns are compiled when the first text comes."""
    compiled: list[_Reader] = []

    def read(text: str) -> Iterable[Reading]:
        if not compiled:
            compiled.extend(map(_Reader, lines))
        for line in compiled:
            if found := line.read(text):
                return found
        return ()

    read.__module__ = module  # what failures are counted by
    return read


def spelled(pattern: str) -> str:
    """The pattern with each ``<role>`` as a group."""
    return _SHORT.sub(_group, pattern).replace(r"\<", "<")


def _group(short: re.Match[str]) -> str:
    role, again = short["role"], short["again"]
    name = "?:" if role in {"number", "count"} else f"?P<{role}{again}>"
    group = f"({name}{_SPELLED.get(role, _MEASURED)})"
    return rf"{group}\s?(?P<unit{again}>ms|s)\b" if role == "time" else group


class _Figures:
    """One compiled pattern and the roles of its groups."""

    __slots__ = ("pattern", "roles")

    def __init__(self, pattern: str) -> None:
        self.pattern = re.compile(spelled(pattern))
        self.roles = tuple((name.rstrip("0123456789"), name) for name in self.pattern.groupindex)


class _Reader:
    """Reads texts as one line says."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._head = _Figures(line.pattern)
        self._rest = "rest" in self._head.pattern.groupindex
        self._more = [_Figures(pattern) for pattern in line.more]
        self._rates = [(unit, _Figures(pattern)) for unit, pattern in line.rates]
        self._times = [(meaning, _Figures(pattern)) for meaning, pattern in line.times]
        self._needs = [need.split("|") for need in line.needs.split()]

    def read(self, text: str) -> list[Reading]:
        """The reports in ``text``."""
        head = self._head.pattern.search(text)
        if head is None:
            return []
        if not self._line.format:
            return [NO_STEP]
        if not self._line.many:
            report = self._report(head, text, len(text))
            return [] if report is None else [report]
        heads = [head, *self._head.pattern.finditer(text, max(head.end(), head.start() + 1))]
        ends = [behind.start() for behind in heads[1:]] + [len(text)]
        reports = (self._report(head, text, end) for head, end in zip(heads, ends, strict=True))
        return [report for report in reports if report is not None]

    def _report(self, head: re.Match[str], text: str, end: int) -> Reading | None:
        found: dict[str, str] = {}
        _take(self._head, head, found)
        start = 0 if self._line.anywhere else head.end()
        if self._rest:
            text, start = head["rest"] or "", 0
            end = len(text)
        for figures in self._more:
            if (match := figures.pattern.search(text, start, end)) is not None:
                _take(figures, match, found)
        unit, meaning = self._line.unit, self._line.meaning
        for of_rate, figures in self._rates:
            if (match := figures.pattern.search(text, start, end)) is not None:
                _take(figures, match, found)
                unit = of_rate
                break
        for of_time, figures in self._times:
            if (match := figures.pattern.search(text, start, end)) is not None:
                _take(figures, match, found)
                meaning = of_time
                break
        if "pace" in found and _positive(found["pace"]) is None:
            del found["pace"]
        for need in self._needs:
            if not any(role in found for role in need):
                return None
        fields: dict[str, Any] = {"meaning": meaning, "bar": self._line.bar}
        for role, printed in found.items():
            if (write := _WRITERS.get(role)) is not None:
                write(fields, printed, found)
        if (rate := fields.pop("rate", None)) is not None:
            fields["throughput"], fields["throughput_unit"] = rate, unit
        return Reading(self._line.format, **fields)


def _take(figures: _Figures, match: re.Match[str], found: dict[str, str]) -> None:
    for role, group in figures.roles:
        printed = match[group]
        if printed is not None and role not in found:
            found[role] = printed


def _number(text: str) -> float | None:
    """The number; in thousands and the like where a letter says so: "1.23K"."""
    value = numbers.number(text)
    if value is None and (factor := _MAGNITUDES.get(text[-1:])) and (value := numbers.number(text[:-1])) is not None:
        return value * factor
    return value


def _positive(text: str) -> float | None:
    """The number; 0 says that nothing was measured, or not yet."""
    value = _number(text)
    return value if value is not None and math.isfinite(value) and value > 0 else None


def _whole(text: str) -> int | None:
    """The count, "1.2K" and "1.23457e+06" too."""
    if (value := whole_number(text)) is None and (printed := _number(text)) is not None and math.isfinite(printed):
        return whole_number(float(round(printed)) if text[-1:] in _MAGNITUDES else printed)
    return value


_Fields = dict[str, Any]
_Found = Mapping[str, str]
_Write = Callable[[_Fields, str, _Found], None]


def _as(field: str, convert: Callable[[str], object]) -> _Write:
    def write(fields: _Fields, text: str, found: _Found) -> None:
        fields[field] = convert(text)

    return write


def _time(factor: float) -> _Write:
    def write(fields: _Fields, text: str, found: _Found) -> None:
        value = _number(text)
        _add_time(fields, None if value is None else value * factor, found)

    return write


def _time_and_unit(fields: _Fields, text: str, found: _Found) -> None:
    value = _number(text) if "unit" in found else spelled_s(text)
    _add_time(fields, None if value is None else value * _SECONDS[found.get("unit", "s")], found)


def _add_time(fields: _Fields, value_s: float | None, found: _Found) -> None:
    steps = _whole(found["over"]) if "over" in found else 1
    if "first" in found:
        steps = (_whole(found["step"]) or 0) - (_whole(found["first"]) or 0)
    fields["time_s"] = duration_s(value_s / steps) if value_s is not None and steps and steps > 0 else None


def _pace(fields: _Fields, text: str, found: _Found) -> None:
    pace = _positive(text)
    if pace is not None and (time_s := duration_s(1.0 / pace)) is not None:
        fields.setdefault("time_s", time_s)
        fields["throughput"], fields["throughput_unit"] = pace, "it/s"


def _rate_of(things: float) -> _Write:
    def write(fields: _Fields, text: str, found: _Found) -> None:
        each_s = _positive(text) if "unit" not in found else (_number(text) or 0.0) * _SECONDS[found["unit"]]
        fields["rate"] = things / each_s if each_s else None

    return write


def _clock(seconds: Callable[[str], float | None], tick_s: float) -> _Write:
    def write(fields: _Fields, text: str, found: _Found) -> None:
        fields["clock_s"], fields["clock_tick_s"] = seconds(text), tick_s

    return write


def _memory(gib: float) -> _Write:
    def write(fields: _Fields, text: str, found: _Found) -> None:
        value = _positive(text)
        fields["gpu_memory_gib"] = None if value is None else value * gib

    return write


def _last(fields: _Fields, text: str, found: _Found) -> None:
    last = _whole(text)
    fields["total"] = None if last is None else last + 1


_SECONDS = {"us": 1e-6, "ms": 0.001, "s": 1.0}
# Role -> what it adds to a reading.
_WRITERS: Mapping[str, _Write] = {
    **{role: _as(role, _whole) for role in ("step", "total", "epoch", "counter")},
    "rank": _as("rank", process_number),
    "loss": _as("loss", _number),
    "share": _as("epoch_share", _number),
    "bar": _as("bar", str),
    "s": _time(1.0),
    "ms": _time(0.001),
    "time": _time_and_unit,
    "since": _as("time_s", _number),
    "pace": _pace,
    "rate": _as("rate", _positive),
    "each": _rate_of(1.0),
    "thousand": _rate_of(1000.0),
    "clock": _clock(_number, 1.0),
    "hms": _clock(spelled_s, 1.0),
    "elapsed": _clock(_number, 0.0),
    "last": _last,
    **{size: _memory(gib) for size, gib in _GIB.items()},
}
