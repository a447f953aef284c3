"""Threshold expressions: what one means, as frozen values, the figures of a job that can have one, and the grammar: text in, a
condition out. What cannot be read gets a caret under the wrong place; one that is always or never true is named, too."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, NoReturn, cast

from monitor.choices import SEVERITIES, RuleSeverity
from monitor.errors import BadCall
from monitor.model.host_metrics import HOST_METRICS, OF_GPUS

Kind = Literal["host", "step", "silence", "cost"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure: CloudWatch's by the minute (host), the log's by the step (step), or one that moves by itself."""

    name: str
    kind: Kind
    unit: str
    """Empty where the job's log says it, or where there is none."""
    words: str
    """As it stands in a sentence."""
    span: tuple[float, float]
    """The least and the most that it can be."""
    examples: tuple[str, str]
    """Values that make sense as the least and as the most that is wanted, as they are written."""

    def example_of(self, op: str) -> str:
        """One for a comparison."""
        return self.examples[op.startswith(">")]


_HOST_WORDS = {name: each.label for name, each in HOST_METRICS.items()}
_HOST_WORDS |= {"memory_utilization": "memory", "disk_utilization": "disk space"}
_FROM_ZERO = (0.0, math.inf)

#: By name, in the order of the documentation.
MEASURES: dict[str, Metric] = {
    measure.name: measure
    for measure in (
        *(Metric(name, "host", "%", _HOST_WORDS[name], (0.0, 100.0), ("40%", "90%")) for name in HOST_METRICS),
        Metric("step_time", "step", "s", "step time", _FROM_ZERO, ("1s", "2s")),
        Metric("throughput", "step", "", "throughput", _FROM_ZERO, ("500", "500")),
        Metric("loss", "step", "", "loss", (-math.inf, math.inf), ("3", "3")),
        Metric("seconds_since_last_step", "silence", "s", "time since the last step", _FROM_ZERO, ("1 min", "15 min")),
        Metric("cost_usd", "cost", "USD", "cost", _FROM_ZERO, ("500", "500")),
    )
}


Operator = Literal["<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Lasting:
    """How long a condition must hold: so many seconds, or so many steps."""

    amount: float
    unit: Literal["s", "m", "h", "steps"]

    @property
    def seconds(self) -> float | None:
        """None where it is told in steps."""
        return None if self.unit == "steps" else self.amount * {"s": 1, "m": 60, "h": 3600}[self.unit]

    @property
    def steps(self) -> int | None:
        """None where it is told in time."""
        return int(self.amount) if self.unit == "steps" else None

    def __str__(self) -> str:
        return f"{number(self.amount)}{' ' if self.unit == 'steps' else ''}{self.unit}"


@dataclass(frozen=True, slots=True)
class Threshold:
    """``METRIC OP VALUE [for DURATION] [on SCOPE]``."""

    metric: str
    """A name of ``monitor.alert.conditions``."""
    op: Operator
    value: float
    relative: bool = False
    """``value`` is a factor on the job's own median so far."""
    lasting: Lasting | None = None
    scope: str = "any"
    """any, all, mean, the name of a node, or one of its GPUs: algo-3/gpu5."""

    @property
    def gpu(self) -> tuple[str, int] | None:
        """Node and number of the one GPU it is about; None where it is about hosts."""
        node, of_gpu, number = self.scope.partition("/gpu")
        return (node, int(number)) if of_gpu else None

    def __str__(self) -> str:
        lasting = "" if self.lasting is None else f" for {self.lasting}"
        scope = "" if self.scope == "any" else f" on {self.scope}"
        return f"{self.metric} {self.op} {number(self.value)}{'x' if self.relative else ''}{lasting}{scope}"


@dataclass(frozen=True, slots=True)
class FindingCondition:
    """``finding ID``, or ``finding critical``: any finding of that severity."""

    subject: str

    def __str__(self) -> str:
        return f"finding {self.subject}"


Condition = Threshold | FindingCondition


@dataclass(frozen=True, slots=True)
class AlertRule:
    """A condition with a name, how loud it is, and who is told (sinks as they were written)."""

    name: str
    when: Condition
    text: str
    """The condition as it was written."""
    severity: RuleSeverity = "warning"
    notify: tuple[str, ...] = ()
    doubt: str = ""
    """Why it tells nothing, of one that was saved before that was refused."""


_WORDS = {"<": "below", "<=": "at-most", ">": "above", ">=": "at-least"}


def name_of(when: Condition) -> str:
    """A name for a rule that was given none: ``gpu_utilization-below-40-for-10m``."""
    if isinstance(when, FindingCondition):
        return f"finding-{when.subject}"
    value = f"{number(when.value)}{'x' if when.relative else ''}"
    lasting = "" if when.lasting is None else f"-for-{str(when.lasting).replace(' ', '-')}"
    scope = "" if when.scope == "any" else f"-on-{when.scope.replace('/', '-')}"
    return f"{when.metric}-{_WORDS[when.op]}-{value}{lasting}{scope}"


def number(value: float) -> str:
    """The shortest text that reads as the same number: ``40``, ``1.3``, ``1e-09``."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


TimeUnit = Literal["s", "m", "h"]

_TIMES: Mapping[TimeUnit, str] = {
    "s": "s sec secs second seconds",
    "m": "m min mins minute minutes",
    "h": "h hr hrs hour hours",
}
#: Of a value of percent, and of one of money.
PERCENT = frozenset({"%", "percent", "pct"})
USD = frozenset({"usd", "$", "dollar", "dollars"})
_UNIT_S: Mapping[TimeUnit, float] = {"s": 1.0, "m": 60.0, "h": 3600.0}
_MILLISECONDS, _MS = frozenset({"ms", "millisecond", "milliseconds"}), 0.001
#: A word -> the unit as it is written out again.
TIME_UNITS: Mapping[str, TimeUnit] = {word: unit for unit, words in _TIMES.items() for word in words.split()}


def seconds_in(word: str) -> float | None:
    """The seconds of one unit of time, by any of its words; None where it is none."""
    unit = TIME_UNITS.get(word)
    return _MS if word in _MILLISECONDS else None if unit is None else _UNIT_S[unit]


_OPERATORS = ("<=", ">=", "<", ">")
_WORD = re.compile(r"<=|>=|==|!=|=>|=<|[<>=]|[^\s<>=!]+|!")
_NUMBER = re.compile(r"(?P<dollar>\$?)(?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?P<unit>.*)")
_NODE = re.compile(r"algo-[1-9]\d{0,5}(?P<gpu>/gpu\d{1,2})?")
_STEPS = frozenset({"step", "steps"})
_SIGNS = {
    **dict.fromkeys(("below", "under", "less"), "<"),
    **dict.fromkeys(("above", "over", "more", "exceeds"), ">"),
    **dict.fromkeys(("at_most", "max"), "<="),
    **dict.fromkeys(("at_least", "min"), ">="),
}
_LONGEST = 300
_FORM = "METRIC OP VALUE [for DURATION] [on SCOPE]"


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    at: int


def parse(text: str, strict: bool = True) -> Condition:
    """The condition. BadCall says what is wrong, where (a second and third line show it), and what would be right; without
    ``strict`` one that can never or always hold is fine."""
    reader = _Reader(text)
    when = reader.condition()
    if strict and (why := senseless(when)):
        raise BadCall(f"{why}\n  {reader.shown}\n  {'^' * len(reader.shown)}")
    return when


class _Reader:
    """The words of one expression, from left to right."""

    def __init__(self, text: str) -> None:
        if len(text) > _LONGEST:
            raise BadCall(
                f"An expression has at most {_LONGEST} characters, and this one has {len(text):,}.", f"Write {_FORM}."
            )
        self._text = "".join(sign if sign.isprintable() else " " for sign in text).rstrip()
        self._words = [_Word(match[0], match.start()) for match in _WORD.finditer(self._text)]
        self._next = 0

    @property
    def shown(self) -> str:
        """The expression on one line, without what surrounds it."""
        return self._text.strip()

    def condition(self) -> Condition:
        first = self._take(f"There is no expression. Write {_FORM}, such as gpu_utilization < 40% for 10 min.")
        if first.text == "finding":
            return self._finding()
        if first.text not in MEASURES:
            self._no_metric(first)
        metric = first.text
        op = self._operator(metric)
        value, relative = self._value(metric, op)
        lasting = self._lasting(metric) if self._is("for") else None
        scoped = self._is("on")
        scope = self._scope(metric) if scoped else "any"
        if self._next < len(self._words):
            self._left_over(lasting is not None, scoped)
        return Threshold(metric, op, value, relative, lasting, scope)

    def _finding(self) -> FindingCondition:
        from monitor.diagnose.rulebook import rules

        ids = [rule.id for rule in rules()]
        word = self._take('"finding" needs the id of a finding, or critical, or warning, after it.')
        if word.text not in {*ids, *SEVERITIES}:
            self._wrong(word, f"There is no finding {_quoted(word.text)}{_nearest(word.text, [*ids, *SEVERITIES])}.")
        if self._next < len(self._words):
            self._wrong(self._words[self._next], "Nothing can follow the id of a finding.")
        return FindingCondition(word.text)

    def _no_metric(self, word: _Word) -> NoReturn:
        if word.text in {*_OPERATORS, "for", "on"} or _NUMBER.fullmatch(word.text):
            self._wrong(word, f"An expression begins with a metric: {', '.join(MEASURES)}; or with finding.")
        near = _nearest(word.text, [*MEASURES, "finding"])
        known = "" if near else f" Metrics are {', '.join(MEASURES)}."
        self._wrong(word, f"There is no metric {_quoted(word.text)}{near}.{known}")

    def _operator(self, metric: str) -> Operator:
        word = self._take(f"{metric} needs a comparison after it: <, <=, > or >=.")
        if word.text in {"=<", "=>"}:
            self._wrong(word, f'"{word.text}" is written {word.text[::-1]}.')
        if word.text not in _OPERATORS:
            sign = _SIGNS.get(word.text.lower(), "")
            hint = (
                f" Write {metric} {sign} {MEASURES[metric].example_of(sign)}."
                if sign
                else " There are <, <=, > and >=."
            )
            self._wrong(word, f"{_quoted(word.text)} is not a comparison.{hint}")
        return cast("Operator", word.text)

    def _value(self, metric: str, op: str) -> tuple[float, bool]:
        word = self._take(f"{op} needs a value after it: a number, or 1.3x of the job's own median so far.")
        match = _NUMBER.fullmatch(word.text)
        value = float(match["number"]) if match else math.nan
        if match is None or not math.isfinite(value):
            self._wrong(
                word, f"{_quoted(word.text)} is not a value. Write a number, or 1.3x of the job's own median so far."
            )
        unit = (match["unit"] or self._unit_behind()).lower()
        if unit == "x" and not match["dollar"]:
            if value <= 0:
                self._wrong(
                    word, f"{_quoted(word.text)} is not a multiple of a median. Write one above 0, such as 1.3x."
                )
            if metric == "cost_usd":
                self._wrong(word, "The cost of a job has no typical value. Write an amount in USD.")
            return value, True
        if match["dollar"]:
            unit = "$" if unit in {"", *USD} else f"${unit}"
        return value * self._factor(metric, op, unit, word, match["number"]), False

    def _unit_behind(self) -> str:
        """A unit that stands apart from its number."""
        if self._next < len(self._words):
            word = self._words[self._next].text.lower()
            if word == "x" or word in PERCENT | USD or seconds_in(word) is not None:
                self._next += 1
                return word
        return ""

    def _factor(self, metric: str, op: str, unit: str, word: _Word, number: str) -> float:
        """By what a value is multiplied to be in the metric's own unit."""
        measure = MEASURES[metric]
        if unit and measure.unit == "s" and (seconds := seconds_in(unit)) is not None:
            return seconds
        if unit and unit not in {"%": PERCENT, "USD": USD}.get(measure.unit, ()):
            has = {"%": "is in percent", "s": "is in seconds, or has a time such as 15 min", "USD": "is in USD"}
            self._wrong(
                word,
                f"{_quoted(f'{number} {unit}')} is not a value of {metric}, which {has.get(measure.unit, 'has no unit here')}. "
                f"Write {metric} {op} {measure.example_of(op)}.",
            )
        return 1.0

    def _lasting(self, metric: str) -> Lasting:
        self._next += 1
        write = "Write 90s, 10 min, 2h or 20 steps."
        word = self._take(f'"for" needs a duration after it. {write}')
        match = _NUMBER.fullmatch(word.text)
        if match is None or match["dollar"]:
            self._wrong(word, f"{_quoted(word.text)} is not a duration. {write}")
        unit, last = match["unit"], word
        if not unit and self._next < len(self._words) and self._words[self._next].text not in {"for", "on"}:
            last = self._take("")
            unit = last.text
        unit = unit.lower()
        if not unit:
            self._wrong(word, f"{_quoted(word.text)} is not a duration: it lacks a unit. {write}")
        if unit not in TIME_UNITS and unit not in _STEPS:
            self._wrong(last, f"{_quoted(unit)} is not a unit of a duration. {write}")
        amount = float(match["number"])
        if not 0 < amount < 1e9:
            self._wrong(
                word,
                f"{_quoted(word.text)} is not a duration: it must be more than 0. Leave it out, or {write.lower()}",
            )
        if unit in TIME_UNITS:
            return Lasting(amount, TIME_UNITS[unit])
        if amount != int(amount):
            self._wrong(word, f"{_quoted(word.text)} is not a number of steps. Write a whole number, such as 20 steps.")
        if MEASURES[metric].kind in {"silence", "cost"}:
            self._wrong(word, f"{metric} is not counted in steps. Write 90s, 10 min or 2h.")
        return Lasting(amount, "steps")

    def _scope(self, metric: str) -> str:
        self._next += 1
        word = self._take('"on" needs a scope after it: any, all, mean, or a node such as algo-2.')
        node = _NODE.fullmatch(word.text)
        if word.text not in {"any", "all", "mean"} and node is None:
            near = _nearest(word.text, ["any", "all", "mean"])
            self._wrong(
                word,
                f"{_quoted(word.text)} is not a scope{near}. Write any, all, mean, a node such as algo-2, or one of its "
                "GPUs such as algo-2/gpu5.",
            )
        if node is not None and node["gpu"] and metric not in OF_GPUS:
            self._wrong(
                word,
                f"Single GPUs have a gpu_utilization and a gpu_memory_utilization, and no {metric}. "
                f"Write {word.text.partition('/')[0]}.",
            )
        if MEASURES[metric].kind == "cost" and word.text.startswith("algo-"):
            self._wrong(word, "The cost is for the whole job, not for a node. Leave out the scope.")
        return word.text

    def _left_over(self, lasting: bool, scoped: bool) -> NoReturn:
        word = self._words[self._next]
        if word.text == "for" and scoped and not lasting:
            self._wrong(word, '"for" comes before "on".')
        if word.text in {"for", "on"}:
            self._wrong(word, f'"{word.text}" appears twice.')
        if word.text in {"and", "or", "&&", "||"}:
            self._wrong(word, "An expression has one condition. Give each one a --when (or a rule) of its own.")
        allowed = [name for name, there in (("for DURATION", lasting), ("on SCOPE", scoped)) if not there]
        near = _nearest(word.text, [part.split()[0] for part in allowed])
        rest = f"Only {' and '.join(allowed)} can follow" if allowed and not scoped else "Nothing can follow"
        self._wrong(word, f"{_quoted(word.text)} is not understood{near}. {rest} here.")

    def _is(self, keyword: str) -> bool:
        return self._next < len(self._words) and self._words[self._next].text == keyword

    def _take(self, missing: str) -> _Word:
        if self._next >= len(self._words):
            end = len(self._text) + (1 if self._text else 0)
            self._wrong(_Word("^", end), missing)
        self._next += 1
        return self._words[self._next - 1]

    def _wrong(self, word: _Word, sentence: str) -> NoReturn:
        raise BadCall(
            f"{sentence}\n  {self._text}\n  {' ' * word.at}{'^' * len(word.text)}" if self._text else sentence
        )


def _quoted(text: str) -> str:
    return f'"{text}"'


def _nearest(text: str, names: list[str]) -> str:
    """`` (the nearest is …)``, or nothing."""
    plain = text.lower().replace("-", "_")
    found = get_close_matches(text.lower(), names, 1, 0.6) or get_close_matches(plain, names, 1, 0.6)
    if not found:
        # A word of a longer name: "gpu", "memory", "cost".
        found = [name for name in names if len(plain) > 2 and plain in name.replace("-", "_")][:1]
    return f"; the nearest is {found[0]}" if found else ""


_SPELLED_OUT = {"<": "below", "<=": "at most", ">": "above", ">=": "at least"}


def senseless(when: Condition) -> str:
    """Why a condition tells nothing, as a sentence that says how it was understood and what would do; empty where it may."""
    if isinstance(when, FindingCondition) or when.relative:
        return ""  # a multiple may be anything: a median of 0 has none
    measure = MEASURES[when.metric]
    low, high = measure.span
    always, never = _outcomes(when, low, high)
    if not (always or never):
        return ""
    if math.isfinite(high):
        reach = f"percent of one {'GPU' if 'gpu' in when.metric else 'host'}, {low:g} to {high:g}"
    else:
        reach = f"never below {low:g}"
    nearest = str(when).replace(f"{when.op} {number(when.value)}", f"{when.op} {measure.example_of(when.op)}")
    return (
        f"Understood as {measure.words} {_SPELLED_OUT[when.op]} {number(when.value)}{_unit(measure.unit)}, which is "
        f"{'always' if always else 'never'} true: it is {reach}. Write, for example, {nearest}."
    )


def _outcomes(when: Threshold, low: float, high: float) -> tuple[bool, bool]:
    """(whether it always holds, whether it never does)."""
    value = when.value
    match when.op:
        case "<":
            return value > high, value <= low
        case "<=":
            return value >= high, value < low
        case ">":
            return value < low, value >= high
        case ">=":
            return value <= low, value > high


def _unit(unit: str) -> str:
    return f" {unit}" if unit else ""
