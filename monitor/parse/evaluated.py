"""How long evaluations lasted, as far as a log tells: they print it, have a begin and an end, or end at the step reported last.

The clock of the lines sees them between two reports, and no step took that time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from monitor.parse.columns import Floats
from monitor.parse.reader import Table, event, said
from monitor.parse.rows import EventRow

#: How many seconds an evaluation took that ends at this line.
EVALUATION_TOOK = "evaluation-took"
#: At which step the model stood that was evaluated.
EVALUATED_AT = "evaluated-at"
KINDS = frozenset({EVALUATION_TOOK, EVALUATED_AT})
_COUNTS = r"(?:global[_ ])?(?:step|iter(?:ation)?|itr|update|batch)s?\b\W{0,4}"
_COUNT = r"\d{1,12})\b(?![.:]\d)"
_SET = r"(?:val(?:id(?:ation)?)?|eval(?:uation)?|dev|test)"
_LOST = rf"\b{_SET}[_ -](?:[a-z]{{1,12}}[_ -])?(?:loss|acc(?:uracy)?|ppl|perplexity|error)\b"
_TABLE = Table(
    (
        event(
            EVALUATION_TOOK, "eval_runtime", r"\beval_runtime['\"]?\s?[:=]\s?['\"]?(?P<said>\d{1,7}\.\d{1,6})\b", said
        ),
        event(
            EVALUATED_AT,
            "val_|val |val-|Val |Val_|VAL |valid_|valid |Valid |alidation|valuation|eval_|eval |Eval |"
            "test_|test |test-|Test |dev_|dev loss|dev acc|Dev ",
            rf"(?i)^(?!.*(?:%\||it/s|s/it)).{{0,80}}?\b(?:{_COUNTS}(?P<said>{_COUNT}.{{0,80}}?{_LOST}"
            rf"|{_SET}(?:set)?\b(?! set).{{0,40}}?\b{_COUNTS}(?P<behind>{_COUNT}.{{0,40}}?\b(?:loss|acc(?:uracy)?|ppl)\b)",
            lambda match: match["said"] or match["behind"],
        ),
    ),
    one_a_line=True,
)
GATES = _TABLE.gates
ROWS = _TABLE.rows
# A program that trains no more than that between two reports prints them before the work that they tell of.
_LEAST_TRAINING = 0.05


def read(text: str) -> Iterator[tuple[str, str]]:
    """(kind, text) of the evaluation that a line tells the time or the step of: seconds, or a count."""
    yield from _TABLE.read(text)


@dataclass(slots=True)
class _Told:
    """What one stream tells, in milliseconds."""

    begins: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    took: list[tuple[float, float]] = field(default_factory=list)
    """When an evaluation began and ended."""
    at: list[tuple[float, float]] = field(default_factory=list)
    """The step at which the model stood, and when that was told."""


class Evaluated:
    """The evaluations of a run, by stream; of a stream that tells of none, the others' count: it waited for them."""

    def __init__(self, events: Iterable[EventRow] = ()) -> None:
        self._of: dict[str, _Told] = {}
        for row in events:
            if row.time_ms is None or not (row.kind in KINDS or row.kind.startswith("evaluation-")):
                continue
            told, now = self._of.setdefault(row.stream, _Told()), float(row.time_ms)
            if row.kind == EVALUATION_TOOK:
                told.took.append((now - 1000 * float(row.text), now))
            elif row.kind == EVALUATED_AT:
                told.at.append((float(row.text), now))
            else:
                (told.begins if row.kind == "evaluation-begin" else told.ends).append(now)

    def left_out(self, stream: str, steps: Floats, at_ms: Floats) -> Floats:
        """The times of reports, in order, less what evaluations took before them."""
        lost = sum((_lost(told, steps, at_ms) for told in self._heard_by(stream)), np.zeros(len(at_ms)))
        gaps = np.diff(at_ms)
        held = lost[1:] > 0
        if not held.any() or np.nanmedian((gaps - lost[1:])[held] / np.maximum(gaps[held], 1e-9)) < _LEAST_TRAINING:
            return at_ms
        return np.asarray(at_ms - np.cumsum(lost))

    def _heard_by(self, stream: str) -> list[_Told]:
        if stream in self._of:
            return [self._of[stream]]
        # Each of several says the same.
        return sorted(self._of.values(), key=lambda told: -len(told.ends) - len(told.took))[:1]


def _lost(told: _Told, steps: Floats, at_ms: Floats) -> Floats:
    """Milliseconds of evaluations between the report before and each one."""
    clock = np.maximum.accumulate(np.where(np.isnan(at_ms), -np.inf, at_ms))
    spans, begins = [*told.took], sorted(told.begins)
    for end in told.ends if begins else ():
        begin = begins[max(0, bisect_right(begins, end) - 1)]
        if begin < end and np.searchsorted(clock, begin, side="right") == np.searchsorted(clock, end):
            spans.append((begin, end))
    for step, now in told.at:
        place = int(np.searchsorted(clock, now, side="right")) - 1
        if place >= 0 and steps[place] == step:
            spans.append((float(clock[place]), now))
    out, until = np.zeros(len(at_ms)), -np.inf
    for begin, end in sorted(spans, key=lambda span: span[1]):
        place = int(np.searchsorted(clock, end))
        if 0 < place < len(clock):
            begin = max(begin, until, float(clock[place - 1]))
            out[place] += max(0.0, end - begin)
            until = max(until, end)
    return out
