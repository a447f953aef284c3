"""Times that are said to be of several steps: "10 iterations took 0.5 s", "Time(1000 iters): 55.1s", "0.61 s / 10 iters".

Which number is the time and which the number of steps, the texts between the numbers of a line tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from monitor.parse.fields import lookalikes
from monitor.parse.fields.gaps import TextBetween
from monitor.parse.fields.keys import SPEEDS, Key, unit_of, words_of
from monitor.parse.fields.vocabulary import DECORATION, SPAN, SUB_TIMERS


class Span(NamedTuple):
    """A time and the steps it took, by the places of the two numbers on the line."""

    time: int
    steps: int
    key: Key | None
    """None of a time of something else, data loading say."""


_COUNTED = r"(?:train(?:ing)?[ _])?(?:steps?|its?|iters?|iterations?|(?:mini-?)?batch(?:es)?|updates?)(?![A-Za-z])"
_DONE = r"(?:(?:were |have been )?(?:processed|done|finished|completed|executed|trained|passed|run) )?"
_TAKING = r"(?:elapsed time|time taken|took|takes|taking|take|in|costs?|time|elapsed|within)"
# Behind the number of steps, up to their time: " iterations took ", " iters): ", " batches processed in ", " iter ".
_BEHIND = re.compile(rf"(?i)[ _]?{_COUNTED}[)\]]?[ ,]{{0,2}}{_DONE}(?P<told>{_TAKING}\b)?[ :=]{{0,3}}")
# Before it: "Time(", "elapsed for last ", "time/", "Time per ".
_AHEAD = re.compile(
    r"(?i)\b(?:time|timer|elapsed|duration|cost|took|takes|timing|secs?|seconds|msecs?|ms)(?: ?taken)?"
    r"(?: ?(?:per|for|of|over|every|/))?(?: the)?(?: last| past| previous| every)? ?[(\[/]? ?$"
)
# Of a number of steps these are no name.
_LEADS = re.compile(
    r"(?i)(?<!\w)(?:last|past|previous|the|ran|trained|processed|finished|completed|done|for|after|every) $"
)
# From a time to the number of steps behind it: "s / ", " sec per ", " seconds for the last ", "s (".
_BETWEEN = re.compile(
    r"(?i) ?(?P<unit>[a-zµμ]{1,12})\)? ?(?:/|per |for |over |in |every |(?P<opens>[(\[]))(?:the )?(?:last |past |previous )? ?"
)
_OF_TIME = re.compile(rf"(?i)[ _]?{_COUNTED}(?! ?(?:left|remain(?:ing)?|to go|total|more|so far)\b)(?P<closes>[)\]]?)")
_LONGEST_LEAD = 60
_BEFORE_TOTAL = frozenset({"/", "of", "out of"})


def spans(gaps: Sequence[TextBetween]) -> Iterator[Span]:
    """The times of several steps on a line that is cut at its numbers; ``gaps`` are the texts around them."""
    for place in range(len(gaps) - 1):
        behind = gaps[place + 1].text
        if behind[:1] and (found := _steps_first(place, gaps) or _time_first(place, gaps)) is not None:
            yield found


def _steps_first(place: int, gaps: Sequence[TextBetween]) -> Span | None:
    """Of "10 iterations took 0.5 s"; ``place`` is that of the 10."""
    before, behind = gaps[place], gaps[place + 1]
    match = _BEHIND.fullmatch(behind.text)
    if match is None or place + 2 >= len(gaps) or before.text.strip() in _BEFORE_TOTAL:
        return None
    if before.key is not None and before.key.what != "time":
        return None  # "step 100 iter 0.5 s"
    unit = gaps[place + 2].unit
    unit = unit if unit is not None and unit.what == "duration" else None
    ahead = before.text[-_LONGEST_LEAD:]
    if not _AHEAD.search(ahead) and (not (match["told"] or unit) or (before.name and not _LEADS.search(ahead))):
        return None  # "data 0.01 step took 0.5 s"
    if unit is None and gaps[place + 2].strange:
        return None
    other = not SUB_TIMERS.isdisjoint(words_of(before.name)) or lookalikes.other_work(before.name)
    return _span(place + 1, place, unit.factor if unit else 0.0, of_steps=not other)


def _time_first(place: int, gaps: Sequence[TextBetween]) -> Span | None:
    """Of "0.61 s / 10 iters"; ``place`` is that of the 10."""
    if not place or (match := _BETWEEN.fullmatch(gaps[place].text)) is None:
        return None
    unit, behind = unit_of(match["unit"]), _OF_TIME.match(gaps[place + 1].text)
    if unit is None or unit.what != "duration" or behind is None or (match["opens"] and not behind["closes"]):
        return None
    named = gaps[place - 1]
    known = named.key.what in SPEEDS if named.key else DECORATION.issuperset(words_of(named.name))
    return _span(place - 1, place, unit.factor, of_steps=known)


def _span(time: int, steps: int, factor: float, of_steps: bool) -> Span:
    return Span(time, steps, Key("time", SPAN, factor, "interval", "step") if of_steps else None)
