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

from monitor.parse import formats
from monitor.parse.numbers import duration_s, number, process_number, spelled_s, whole_number
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

    @cache
    def compiled() -> tuple[_Reader, ...]:
        return tuple(map(_Reader, lines))

    def read(text: str) -> Iterable[Reading]:
        for line in compiled():
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
    if role not in _ROLES and role not in {"number", "count"}:
        raise ValueError(
            f"<{role}> is no role; known are {', '.join(_ROLES)}. A text in angle brackets is written \\<{role}>."
        )
    name = "?:" if role in {"number", "count"} else f"?P<{role}{again}>"
    group = f"({name}{_SPELLED.get(role, _MEASURED)})"
    return rf"{group}\s?(?P<unit{again}>ms|s)\b" if role == "time" else group


def class_end(text: str, at: int) -> int:
    """Where the class of characters that begins at ``at`` ends."""
    end = at + 1
    if text[end] == "^":
        end += 1
    end += 1  # a bracket that comes first is one of the characters
    if text[end - 1] == "\\":
        end += 1
    while text[end] != "]":
        end += 2 if text[end] == "\\" else 1
    return end + 1


def group_end(text: str, at: int) -> int:
    """Where the group that begins at ``at`` ends."""
    depth = 0
    while True:
        if text[at] == "\\":
            at += 1
        elif text[at] == "[":
            at = class_end(text, at) - 1
        elif text[at] == "(":
            depth += 1
        elif text[at] == ")":
            depth -= 1
            if not depth:
                return at + 1
        at += 1


def literal_in(pattern: str) -> str:
    """The longest text that every match holds, as far as the pattern's top level shows: it is looked for first, quickly."""
    if pattern.startswith("(?i"):
        return ""
    runs, at = [""], 0
    while at < len(pattern):
        here = pattern[at]
        if here == "|":
            return ""
        if here in "[(":
            at = class_end(pattern, at) if here == "[" else group_end(pattern, at)
            runs.append("")
            continue
        if here == "\\":
            at += 1
            here = pattern[at]
            runs = [*runs, ""] if here.isalnum() else [*runs[:-1], runs[-1] + here]
        elif here in "?*+{":
            runs = [*runs[:-1], runs[-1][:-1], ""]  # what stands before it may be missing
            at = pattern.index("}", at) if here == "{" else at
        elif here in ".^$":
            runs.append("")
        else:
            runs[-1] += here
        at += 1
    return max(runs, key=len)


# Where a role's value stands: fields of a reading, and behind them what goes into several, or is worked out of several.
_PLACES = {name: place for place, name in enumerate(Reading._fields)}
_RATE, _PACE, _UNIT, _VALUE, _EACH, _OVER, _FIRST, _SPENT, _END = range(len(_PLACES), len(_PLACES) + 9)
_STEP, _TIME, _MEANING, _CLOCK, _TICK = (
    _PLACES[name] for name in ("step", "time_s", "meaning", "clock_s", "clock_tick_s")
)
_THROUGHPUT, _THROUGHPUT_UNIT, _BAR = (_PLACES[name] for name in ("throughput", "throughput_unit", "bar"))


def _number(text: str) -> float | None:
    """The number; in thousands and the like where a letter says so: "1.23K"."""
    value = number(text)
    if value is None and (factor := _MAGNITUDES.get(text[-1:])) and (value := number(text[:-1])) is not None:
        return value * factor
    return value


def _positive(text: str) -> float | None:
    """The number; 0 says that nothing was measured, or not yet."""
    value = _number(text)
    return value if value is not None and 0 < value < math.inf else None


def _whole(text: str) -> int | None:
    """The count, "1.2K" and "1.23457e+06" too."""
    if (value := whole_number(text)) is None and (printed := _number(text)) is not None and math.isfinite(printed):
        return whole_number(float(round(printed)) if text[-1:] in _MAGNITUDES else printed)
    return value


def _seconds(text: str) -> float | None:
    return duration_s(_number(text))


def _ms(text: str) -> float | None:
    value = _number(text)
    return None if value is None else duration_s(value * 0.001)


def _one_more(text: str) -> int | None:
    value = _whole(text)
    return None if value is None else value + 1


def _gib(factor: float) -> Callable[[str], float | None]:
    return lambda text: None if (value := _positive(text)) is None else value * factor


_ROLES: Mapping[str, tuple[int, Callable[[str], object]]] = {
    **{role: (_PLACES[role], _whole) for role in ("step", "total", "epoch", "counter")},
    "last": (_PLACES["total"], _one_more),
    "rank": (_PLACES["rank"], process_number),
    "loss": (_PLACES["loss"], _number),
    "share": (_PLACES["epoch_share"], _number),
    "bar": (_BAR, str),
    "s": (_TIME, _seconds),
    "ms": (_TIME, _ms),
    "mean": (_PLACES["mean_s"], _seconds),
    "since": (_TIME, _number),
    "time": (_VALUE, str),
    "unit": (_UNIT, str),
    "over": (_OVER, _whole),
    "first": (_FIRST, _whole),
    "spent": (_SPENT, _whole),
    "pace": (_PACE, _positive),
    "rate": (_RATE, _positive),
    "each": (_EACH, _number),
    "thousand": (_RATE, lambda text: None if (value := _positive(text)) is None else 1000.0 / value),
    "clock": (_CLOCK, _number),
    "hms": (_CLOCK, spelled_s),
    "minutes": (_CLOCK, lambda text: None if (value := _number(text)) is None else value * _MINUTE_S),
    "elapsed": (_CLOCK, _number),
    **{size: (_PLACES["gpu_memory_gib"], _gib(factor)) for size, factor in _GIB.items()},
}
_MINUTE_S = 60.0
_SECONDS = {"us": 1e-6, "ms": 0.001, "s": 1.0}


class _Figures:
    """One compiled pattern, and what becomes of its groups."""

    __slots__ = ("_needed", "_places", "pattern", "roles", "search")

    def __init__(self, pattern: str, needed: Mapping[str, int]) -> None:
        self.pattern = re.compile(spelled(pattern))
        self.search = self.pattern.search
        role_of = {group - 1: name.rstrip("0123456789") for name, group in self.pattern.groupindex.items()}
        self.roles = frozenset(role_of.values())
        self._places = tuple((group, *_ROLES[role]) for group, role in role_of.items() if role in _ROLES)
        self._needed = tuple((group, needed[role]) for group, role in role_of.items() if role in needed)

    def put(self, match: re.Match[str], fields: list[Any]) -> int:
        """Each group's number into its place, of several for one the first; the needed roles that are there, as bits."""
        texts = match.groups()
        for group, place, convert in self._places:
            if fields[place] is None and (text := texts[group]) is not None:
                fields[place] = convert(text)
        there = 0
        for group, bit in self._needed:
            if texts[group] is not None:
                there |= bit
        return there


class _Reader:
    """Reads texts as one line says."""

    def __init__(self, line: Line) -> None:
        needs = [need.split("|") for need in line.needs.split()]
        bits = {role: 1 << place for place, role in enumerate({role for need in needs for role in need})}
        self._line = line
        self._head = _Figures(line.pattern, bits)
        self._literal = literal_in(self._head.pattern.pattern)
        self._more = [_Figures(pattern, bits) for pattern in line.more]
        self._rates = [(unit, _Figures(pattern, bits)) for unit, pattern in line.rates]
        self._times = [(meaning, _Figures(pattern, bits)) for meaning, pattern in line.times]
        self._needs = [sum(bits[role] for role in need) for need in needs]
        self._pace = bits.get("pace", 0)
        self._rest = self._head.pattern.groupindex.get("rest", 0)
        figures = (self._head, *self._more, *(one for _, one in (*self._rates, *self._times)))
        roles = frozenset().union(*(one.roles for one in figures))
        self._tick_s = 0.0 if "elapsed" in roles else _MINUTE_S if "minutes" in roles else 1.0
        self._is_worked_out = not roles.isdisjoint({"time", "over", "first", "pace", "each", "bar"})
        self._template = [*Reading(line.format, meaning=line.meaning, bar=line.bar), *[None] * (_END - len(_PLACES))]
        if "bar" in roles:
            self._template[_BAR] = None

    def read(self, text: str) -> list[Reading]:
        """The reports in ``text``."""
        if self._literal not in text or (head := self._head.search(text)) is None:
            return []
        if not self._line.format:
            return [NO_STEP]
        if not self._line.many:
            report = self._report(head, text, len(text))
            return [] if report is None else [report]
        heads = [head, *self._head.pattern.finditer(text, head.end())]
        ends = [*(behind.start() for behind in heads[1:]), len(text)]
        reports = (self._report(head, text, end) for head, end in zip(heads, ends, strict=True))
        return [report for report in reports if report is not None]

    def _report(self, head: re.Match[str], text: str, end: int) -> Reading | None:
        fields = self._template.copy()
        there = self._head.put(head, fields)
        start = 0 if self._line.anywhere else head.end()
        if self._rest:
            text, start = head[self._rest] or "", 0
            end = len(text)
        for figures in self._more:
            if (match := figures.search(text, start, end)) is not None:
                there |= figures.put(match, fields)
        unit = self._line.unit
        for of_rate, figures in self._rates:
            if (match := figures.search(text, start, end)) is not None:
                there |= figures.put(match, fields)
                unit = of_rate
                break
        for meaning, figures in self._times:
            if (match := figures.search(text, start, end)) is not None:
                there |= figures.put(match, fields)
                fields[_MEANING] = meaning
                break
        if self._pace and fields[_PACE] is None:
            there &= ~self._pace  # of 0, which is none
        for need in self._needs:
            if not there & need:
                return None
        if self._is_worked_out:
            _work_out(fields)
        if (rate := fields[_RATE]) is not None:
            fields[_THROUGHPUT], fields[_THROUGHPUT_UNIT] = rate, unit
        if fields[_CLOCK] is not None:
            fields[_TICK] = self._tick_s
        return Reading._make(fields[: len(_PLACES)])


def _work_out(fields: list[Any]) -> None:
    """The time, the rate and the name that several figures tell together."""
    factor = _SECONDS.get(fields[_UNIT], 1.0)
    if (printed := fields[_VALUE]) is not None:
        value = spelled_s(printed) if fields[_UNIT] is None else _number(printed)
        fields[_TIME] = None if value is None else duration_s(value * factor)
        # While the bar is under way it is what is left that stands there.
        if fields[_SPENT] and (value or 10.0) < 10.0 and fields[_BAR] == str(fields[_STEP]):
            fields[_TIME] = _finer(fields[_TIME], fields[_SPENT] / (fields[_STEP] or 1), factor)
    over = fields[_OVER]
    if fields[_FIRST] is not None:
        over = max(0, (fields[_STEP] or 0) - fields[_FIRST])
    if over is not None and fields[_TIME] is not None:
        fields[_TIME] = duration_s(fields[_TIME] / over) if over else None
    if (pace := fields[_PACE]) is not None and (time_s := duration_s(1.0 / pace)) is not None:
        if fields[_TIME] is None:
            fields[_TIME] = time_s
        fields[_THROUGHPUT], fields[_THROUGHPUT_UNIT] = pace, "it/s"
    if each := fields[_EACH]:
        fields[_RATE] = 1.0 / (each * factor)
    if fields[_BAR] is None:
        fields[_BAR] = ""


def _finer(time_s: float | None, mean_s: float, unit_s: float) -> float | None:
    """The mean of all steps so far in place of the same time printed in one digit; the latter where they are not the same."""
    coarser = mean_s > unit_s and time_s is not None and abs(mean_s - time_s) <= unit_s / 2
    return duration_s(mean_s) if coarser else time_s
