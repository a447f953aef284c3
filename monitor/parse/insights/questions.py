"""The step reports of a job as one question to CloudWatch Logs Insights: statistics of each stream and minute.

The pattern is that of the line's format (``monitor.parse.family``), without Python's own syntax; for lines that only the
generic reader knows it comes from one such line. Before it is asked it is tried on lines that were read: a pattern that
does not find the reader's numbers there is not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import pairwise, takewhile

from monitor.parse.family import Family, Line, class_end, families, group_end, spelled
from monitor.parse.fields.records import Form
from monitor.parse.formats import keyvalue
from monitor.parse.linear import Refused, compiled
from monitor.parse.numbers import count, duration_s, number
from monitor.parse.rows import Meaning

#: Rows of one answer that every account and Region gives (more can be asked for where quotas are newer).
MOST_ROWS = 10_000
_MOST_CHARACTERS = 10_000
_NUMBER = r"[-+]?(?:\d[\d,]{0,30}\.?\d{0,30}|\.\d{1,30})(?:[eE][-+]?\d{1,4})?|[-+]?(?:nan|NaN|inf)"
_TAG = r"\[\d+,(?:mpirank:)?(?<rank>\d+)(?:,(?<host>algo-\d+)\]|\]<std)"
# A name is told by its last characters; what stands further ahead may differ from line to line.
_NAME_CHARACTERS = 24
# What Python's own escape adds to these is refused by some engines.
_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")
_ESCAPED = r"\\\g<0>"
_LONG = 20
_REPEAT = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")
_LOOK_AROUND = ("(?=", "(?!", "(?<=", "(?<!")
_UNIT_BEHIND = re.compile(r"\s?[A-Za-z/%]{1,12}")


# Role of a group -> what the question calls it, and its unit in seconds.
_ROLES: Mapping[str, tuple[str, float]] = {
    **{role: (role, 1.0) for role in ("step", "total", "time", "unit", "pace", "clock", "rate", "loss")},
    "s": ("time", 1.0),
    "ms": ("time", 0.001),
    "since": ("time", 1.0),
    "elapsed": ("clock", 1.0),
}
# What takes more than a product, and numbers such as "1.2K", or a step "12,300".
_NOT_COMPUTED = frozenset({"over", "first", "each", "thousand"})
_SPELLED_OUT = re.compile(r"\[[kKMGBT]+\]\?\)|\(\?P<step>\\d\{1,3\}\(\?:,")
_GROUP = re.compile(r"\(\?P<(\w+)>")
# Meanings that only the lines around a line settle.
BY_NEIGHBORS: frozenset[Meaning] = frozenset({"part", "iteration", "span", "of-last"})


@dataclass(frozen=True, slots=True)
class ReportForm:
    """One form of a report, as RE2 and Logs Insights take it. Groups are step, total, time, unit (of the time: ms, s), pace
    (steps a second), clock, rate (the throughput), loss.
    """

    format: str
    """What the ``format`` column says of it."""
    patterns: tuple[str, ...]
    """The first is in every report, the others may be."""
    rates: tuple[tuple[str, str], ...] = ()
    """Throughputs by their unit; the one that the job prints is asked for."""
    factor: float = 1.0
    """Seconds of one printed time, where no ``unit`` stands beside it."""
    meaning: Meaning = "step"
    unit: str = ""
    """Of the throughput in ``patterns``."""
    needs: tuple[str, ...] = ("step",)
    """Without these it is no report."""
    never: str = ""
    """A text that looks alike and is no report, as a pattern."""
    one_total: bool = False
    """Lines of the same form with another total are other work: bars."""


def ways_to_say(family: Family) -> Iterator[ReportForm]:
    """The forms of a family's reports, as far as an engine that looks at one line alone can compute with them."""
    by_neighbors = {line.format for line in family.lines if line.meaning in BY_NEIGHBORS}
    ruled_out = takewhile(lambda line: not line.format, family.lines)
    never = "|".join(portable(spelled(line.pattern), {}) for line in ruled_out)
    for line in family.lines:
        for said in forms_of(line) if line.format not in by_neighbors else ():
            yield replace(said, never=never)


def forms_of(line: Line) -> Iterator[ReportForm]:
    """A line's forms, one for each meaning that its time may have."""
    own = () if line.meaning in dict(line.times) else ((line.meaning, ""),)
    for meaning, time in (*line.times, *own):
        if line.format and (said := _said(line, meaning, time)) is not None:
            yield said


def _said(line: Line, meaning: Meaning, time: str) -> ReportForm | None:
    patterns, found, factor = [], set[str](), 1.0
    texts = [spelled(text) for text in (line.pattern, *line.more, time) if text]
    groups = [_GROUP.findall(text) for text in texts]
    named = {group for one in groups for group in one}
    if (
        not named.isdisjoint(_NOT_COMPUTED)
        or ("time" in named and "unit" not in named)
        or _SPELLED_OUT.search("".join(texts))
    ):
        return None
    if "hms" in named and named.isdisjoint({"s", "ms", "time", "pace"}):
        return None
    for text, own in zip(texts, groups, strict=True):
        if len({group.rstrip("0123456789") for group in own}) < len(own):
            return None  # several ways to say one thing
        names: dict[str, str] = {}
        for group in own:
            name, seconds = _ROLES.get(group, ("", 1.0))
            if name and name not in found:
                names[group] = name
                factor *= seconds
        if names:
            found |= set(names.values())
            patterns.append(portable(text, names))
    if "step" not in found:
        return None
    rates = (
        () if "rate" in found else tuple((unit, portable(spelled(rate), {"rate": "rate"})) for unit, rate in line.rates)
    )
    needs = ["step", *(_ROLES.get(need, ("", 0))[0] for need in line.needs.split())]
    return ReportForm(
        line.format,
        tuple(patterns),
        rates,
        factor,
        meaning,
        line.unit if "rate" in found else "",
        tuple(dict.fromkeys(need for need in needs if need in found)),
        one_total=line.one_total,
    )


@dataclass(frozen=True, slots=True)
class Ask:
    """Which lines are reports, and where their numbers stand."""

    said: ReportForm
    unit: str = ""
    """Of the throughput."""
    total: int | None = None
    """Only lines of this total are meant."""
    tagged: bool = False
    """Lines carry the rank of an MPI process: each rank is told apart."""

    @property
    def patterns(self) -> tuple[str, ...]:
        """As RE2 and Insights take them; the first is in every report."""
        found = [*self.said.patterns, *(pattern for unit, pattern in self.said.rates if unit == self.unit)]
        if self.total is not None:
            found[0] = re.sub(r"\(\?<total>[^)]*\)", str(self.total), found[0])
        return tuple(found)

    @property
    def roles(self) -> frozenset[str]:
        return frozenset(re.findall(r"\(\?<(\w+)>", "".join(self.patterns)))


@dataclass(frozen=True, slots=True)
class LineFigures:
    """What one line says, as printed but for the units: seconds, units a second."""

    step: int
    time_s: float | None
    rate: float | None
    clock_s: float | None
    loss: float | None


def asks(format_name: str, unit: str, total: int | None, tagged: bool, lines: Sequence[str]) -> Iterator[Ask]:
    """The ways to ask for lines of a format, the best first: the family's own, then by the words of one such line."""
    for family in families():
        for said in ways_to_say(family) if format_name in family.formats else ():
            if said.format == format_name and said.unit in {"", unit}:
                yield Ask(said, unit, total if said.one_total else None, tagged)
    for line in lines:
        if (by_its_words := by_words(line, format_name)) is not None:
            yield Ask(by_its_words, unit, None, tagged)


def figures_on(ask: Ask, line: str) -> LineFigures | None:
    """What Insights would find on a line; None where it would find no report."""
    expressions, never = _expressions(ask)
    found: dict[str, str] = {}
    for place, expression in enumerate(expressions):
        match = expression.search(line)
        if match is None:
            if place == 0:
                return None
            continue
        found |= {name: text for name, text in match.groupdict().items() if text is not None}
    step = count(found.get("step"))
    if step is None or (never is not None and never.search(line)) or not found.keys() >= set(ask.said.needs):
        return None
    seconds = number(found.get("time"))
    if seconds is not None:
        seconds *= ask.said.factor * (0.001 if found.get("unit") == "ms" else 1.0)
    elif (pace := number(found.get("pace"))) is not None and pace > 0:
        seconds = 1.0 / pace
    clock = number(found.get("clock"))
    return LineFigures(step, duration_s(seconds), number(found.get("rate")) or None, clock, number(found.get("loss")))


@lru_cache(maxsize=32)
def _expressions(ask: Ask) -> tuple[tuple[re.Pattern[str], ...], re.Pattern[str] | None]:
    return tuple(map(compiled, ask.patterns)), compiled(ask.said.never) if ask.said.never else None


def usable(ask: Ask) -> bool:
    """False for a pattern that RE2 refuses, or a question that is too long to be asked."""
    try:
        _expressions(ask)
    except Refused:
        return False
    return len(query(ask, "j" * 63, 60)) <= _MOST_CHARACTERS


def query(ask: Ask, job: str, bin_minutes: int) -> str:
    """The question: for each stream (and rank) and ``bin_minutes`` how many reports, their steps and medians.

    Rows have the fields reports, firstStep, lastStep, firstAt, lastAt, minute, @logStream and, of what is printed, mean, median,
    least, most (of the time in seconds, or of 1 / throughput), clockFrom, clockTo, rateMedian, lastLoss, rank, host.
    """
    roles = ask.roles
    lines = [f"filter @logStream like /^{_SPECIAL.sub(_ESCAPED, job)}\\//"]
    if ask.said.never:
        lines.append(f"filter @message not like /{_slashed(ask.said.never)}/")
    lines += [f"parse @message /{_slashed(pattern)}/" for pattern in ask.patterns]
    if ask.tagged:
        lines.append(f"parse @message /{_slashed(_TAG)}/")
    lines.append(f"filter {' and '.join(f'ispresent({need})' for need in ask.said.needs)}")
    computed, wanted = ["step * 1 as stepNo"], ["count(*) as reports", "min(stepNo) as firstStep"]
    wanted += ["max(stepNo) as lastStep", "min(@timestamp) as firstAt", "max(@timestamp) as lastAt"]
    if seconds := _seconds(ask, roles):
        computed.append(f"{seconds} as took")
        wanted += ["avg(took) as mean", "pct(took, 50) as median", "min(took) as least", "max(took) as most"]
    if "clock" in roles:
        computed.append("clock * 1 as clockNo")
        wanted += ["min(clockNo) as clockFrom", "max(clockNo) as clockTo"]
    if "rate" in roles:
        computed.append(f"{_plain('rate')} * 1 as perSecond")
        wanted.append("pct(perSecond, 50) as rateMedian")
    if "loss" in roles:
        wanted.append("latest(loss) as lastLoss")
    by = "@logStream, rank, host" if ask.tagged else "@logStream"
    lines += [f"fields {', '.join(computed)}", f"stats {', '.join(wanted)} by {by}, bin({bin_minutes}m) as minute"]
    return "\n| ".join(lines)


def _seconds(ask: Ask, roles: frozenset[str]) -> str:
    printed = f"{_plain('time')} * {ask.said.factor:g}"
    if "unit" in roles:
        printed = f'{_plain("time")} / (1 + 999 * strcontains(unit, "m"))'
    if "pace" in roles:
        return f"coalesce({printed}, 1 / pace)" if "time" in roles else "1 / pace"
    if "time" in roles:
        return printed
    # Beside a clock the throughput gives the step time, once the clock has told how many samples a step takes.
    return f"1 / {_plain('rate')}" if "rate" in roles else ""


def _plain(field: str) -> str:
    """Without the commas of thousands."""
    return f'replace({field}, ",", "")'


def _slashed(pattern: str) -> str:
    return re.sub(r"(?<!\\)/", r"\\/", pattern)


def by_words(line: str, format_name: str) -> ReportForm | None:
    """How a line that the generic reader knows is said: its names and units around the numbers that count."""
    pieces, forms = keyvalue.forms(line)
    if len(forms) != 1:
        return None
    form, roles = forms[0], _roles(forms[0])
    if roles is None:
        return None
    out, places = [], sorted(roles)
    for before, place in pairwise([-1, *places]):
        if before >= 0:
            out.append("" if place == before + 1 else ".*?")
        text = pieces[2 * place]
        near = text if place == before + 1 else text[-_NAME_CHARACTERS:]
        out.append(_words(near) + rf"(?<{roles[place]}>{r'[0-9]+' if roles[place] == 'step' else _NUMBER})")
    behind = _UNIT_BEHIND.match(pieces[2 * places[-1] + 2])
    out.append(_words(behind[0]) if behind else "")
    return ReportForm(format_name, ("".join(out),), factor=_factor(form))


def _roles(form: Form) -> dict[int, str] | None:
    """Place of a number -> its role; None where the time is none that an engine can compute with."""
    roles = {form.steps[0].place: "step"}
    if form.own >= 0:
        roles[form.own] = "time"
    elif form.times:
        first = form.times[0]
        roles[first.place] = "pace" if first.key.what == "rate" else "time"
    if form.throughputs:
        roles.setdefault(form.throughputs[0].place, "rate")
    if form.loss >= 0:
        roles[form.loss] = "loss"
    if form.within is not None or form.micro >= 0 or len(roles) < 2:
        return None
    return roles


def _factor(form: Form) -> float:
    return form.factor if form.own >= 0 else (form.times[0].key.factor or 1.0) if form.times else 1.0


def _words(text: str) -> str:
    return r"\s+".join(_SPECIAL.sub(_ESCAPED, part) for part in re.split(r"\s+", text))


@dataclass(frozen=True, slots=True)
class Trial:
    """How a question did on lines that were read: shares of one."""

    found: float
    """Of the reports that the reader found, those that it finds with the same numbers."""
    right: float
    """Of what it finds, what the reader found, too."""

    @property
    def passed(self) -> bool:
        return self.found >= 0.95 and self.right >= 0.95


def tried(ask: Ask, read: Sequence[tuple[str, LineFigures | None]]) -> Trial:
    """``read`` are lines and what the reader says of each; None of a line that is no report."""
    same = reports = mine = 0
    for line, theirs in read:
        ours = figures_on(ask, line)
        reports += theirs is not None
        mine += ours is not None
        same += theirs is not None and ours is not None and _same(ours, theirs)
    return Trial(same / reports if reports else 0.0, same / mine if mine else 0.0)


def _same(ours: LineFigures, theirs: LineFigures) -> bool:
    return ours.step == theirs.step and all(
        their is None or (our is not None and abs(our - their) <= 1e-6 * abs(their))
        for our, their in ((ours.time_s, theirs.time_s), (ours.rate, theirs.rate), (ours.clock_s, theirs.clock_s))
    )


def instant_ms(printed: str) -> float | None:
    """Unix milliseconds of a time in an answer: "2026-03-04 08:12:00.000", or the number itself."""
    if (value := number(printed)) is not None:
        return value
    try:
        return datetime.fromisoformat(printed.replace(" ", "T") + "+00:00").timestamp() * 1000
    except ValueError:
        return None


def portable(text: str, names: Mapping[str, str]) -> str:
    """The pattern without Python's own syntax; groups get their ``names``, and those without one no longer capture.

    Possessive quantifiers and atomic groups keep Python from backtracking, which such an engine does not do; they go.
    Look-around goes too: what it kept out must be a line of its own that is no step.
    """
    out, at = [], 0
    quantified = False
    while at < len(text):
        here = text[at]
        was_quantified, quantified = quantified, False
        if here == "\\":
            out.append(text[at : at + 2])
            at += 2
        elif here == "[":
            end = class_end(text, at)
            out.append(text[at:end])
            at = end
        elif text.startswith(_LOOK_AROUND, at):
            at = group_end(text, at)
        elif text.startswith("(?P<", at):
            end = text.index(">", at)
            role = names.get(text[at + 4 : end])
            out.append(f"(?<{role}>" if role else "(?:")
            at = end + 1
        elif text.startswith("(?>", at):
            out.append("(?:")
            at += 3
        elif here == "(" and not text.startswith("(?", at):
            out.append("(?:")
            at += 1
        elif here == "{" and (repeat := _REPEAT.match(text, at)):
            out.append(_repeated(repeat))
            at, quantified = repeat.end(), True
        elif here == "+" and was_quantified:
            at += 1
        else:
            out.append(here)
            quantified = here in "*+" or (here == "?" and not was_quantified and text[at - 1 : at] != "(")
            at += 1
    return "".join(out)


def _repeated(repeat: re.Match[str]) -> str:
    least, most = int(repeat[1]), int(repeat[3] or 0)
    if repeat[2] and most >= _LONG and least <= 1:
        return "+" if least else "*"
    return repeat[0]
