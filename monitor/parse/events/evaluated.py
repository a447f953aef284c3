"""When evaluations began that only tell of their end: they print how long they took, or end at the step that was reported last.

The clock of the lines sees evaluations between two reports, and no step took that time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from monitor.parse.columns import Floats
from monitor.parse.events import reader
from monitor.parse.events.reader import event
from monitor.parse.rows import EventRow
from monitor.parse.table import At, by_code
from monitor.parse.table import Readings as Steps

#: How many seconds an evaluation took that ends at this line.
EVALUATION_TOOK = "evaluation-took"
#: At which step the model stood that was evaluated.
EVALUATED_AT = "evaluated-at"
KINDS = frozenset({EVALUATION_TOOK, EVALUATED_AT})
_COUNT = r"(?i)\b(?:global[_ ])?(?:step|iter(?:ation)?|itr|update|batch)s?\b\W{0,4}(?P<said>\d{1,12})\b(?![.:]\d)"
_SET = r"(?:val(?:id(?:ation)?)?|eval(?:uation)?|dev|test)"
# "step 7 val loss 2.1"; "Validation, step 7: loss 2.1".
_FIGURE = re.compile(rf"(?i)\b{_SET}[_ -](?:[a-z]{{1,12}}[_ -])?(?:loss|acc(?:uracy)?|ppl|perplexity|error)\b")
_NAMED = re.compile(rf"(?i)\b{_SET}(?:set)?\b(?! set)")
_MEASURE = re.compile(r"(?i)\b(?:loss|acc(?:uracy)?|ppl)\b")
_NEAR, _FAR = 40, 100
_OF_BARS = ("%|", "it/s", "s/it")


def _evaluated(match: re.Match[str]) -> str | None:
    line, start, end = match.string, match.start(), match.end()
    behind = _FIGURE.search(line, end, end + _FAR)
    named = behind or (_NAMED.search(line, max(0, start - _NEAR), start) and _MEASURE.search(line, end, end + _NEAR))
    return match["said"] if named and not any(mark in line for mark in _OF_BARS) else None


_TABLE = reader.EventTable(
    (
        event(
            EVALUATION_TOOK,
            "eval_runtime",
            r"\beval_runtime['\"]?\s?[:=]\s?['\"]?(?P<said>\d{1,7}\.\d{1,6})\b",
            reader.captured,
        ),
        event(
            EVALUATED_AT,
            "val_|val |val-|Val |Val_|VAL |valid_|valid |Valid |alidation|valuation|eval_|eval |Eval |"
            "test_|test |test-|Test |dev_|dev loss|dev acc|Dev ",
            _COUNT,
            _evaluated,
        ),
    ),
    one_a_line=True,
)
GATES = _TABLE.gates
ROWS = _TABLE.rows
BEGIN, END = "evaluation-begin", "evaluation-end"
# A program that trains no more than that between two reports prints them before the work that they tell of.
_LEAST_TRAINING = 0.05


def read(text: str) -> Iterator[tuple[str, str]]:
    """(kind, text) of the evaluation that a line tells the time or the step of: seconds, or a count."""
    yield from _TABLE.read(text)


def begun(steps: Steps, at: At, events: Sequence[EventRow]) -> list[EventRow]:
    """The begin of each evaluation that tells it so, and its end where no line does.

    ``at`` are the places of the reports, and ``events`` stand in the order of streams and lines.
    """
    found: list[EventRow] = []
    if not any(row.kind in KINDS for row in events):
        return found
    told: dict[str, list[EventRow]] = {}
    for row in events:
        if row.kind in KINDS or row.kind in {BEGIN, END}:
            told.setdefault(row.stream, []).append(row)
    for code, own in by_code(steps.stream, at):
        rows = told.get(str(steps.texts[code]), [])
        found += _of_stream(steps.line[own], steps.step[own], steps.time_ms[own], rows)
    return found


def _of_stream(lines: NDArray[np.int64], steps: Floats, at_ms: Floats, rows: Sequence[EventRow]) -> list[EventRow]:
    ends = {row.line for row in rows if row.kind == END}
    begins = sorted(row.line for row in rows if row.kind == BEGIN)
    found: list[EventRow] = []
    lasted = 0.0
    for row in rows:
        if row.kind not in KINDS or row.time_ms is None:
            continue
        place = int(np.searchsorted(lines, row.line)) - 1
        last = at_ms[place] if place >= 0 else np.nan
        if bisect_right(begins, row.line) != (bisect_right(begins, lines[place]) if place >= 0 else 0):
            continue  # a line tells its begin
        if row.kind == EVALUATED_AT:
            begin_ms = last if place >= 0 and steps[place] == float(row.text) else np.nan
        else:
            begin_ms = np.fmax(row.time_ms - 1000 * float(row.text), last)
        if begin_ms < row.time_ms:
            lasted += row.time_ms - begin_ms
            said = f"of step {row.text}" if row.kind == EVALUATED_AT else f"for {row.text} s"
            found.append(row._replace(kind=BEGIN, time_ms=int(begin_ms), text=said))
            if row.line not in ends:
                found.append(row._replace(kind=END, text=said))
    known = at_ms[~np.isnan(at_ms)]
    most = (1 - _LEAST_TRAINING) * float(known[-1] - known[0]) if len(known) else 0.0
    return found if lasted < most else []


class Evaluated:
    """The spans of a run's evaluations, by stream; of a stream that tells of none, another's count: it waited for them."""

    def __init__(self, events: Iterable[EventRow]) -> None:
        self._begins: dict[str, list[float]] = {}
        self._ends: dict[str, list[float]] = {}
        for row in events:
            if row.time_ms is not None and row.kind in {BEGIN, END}:
                told = self._begins if row.kind == BEGIN else self._ends
                told.setdefault(row.stream, []).append(float(row.time_ms))
        for moments in (*self._begins.values(), *self._ends.values()):
            moments.sort()
        self._most = max(self._begins, key=lambda stream: len(self._begins[stream]), default="")

    def left_out(self, stream: str, at_ms: Floats) -> Floats:
        """The times of reports, in order, less what evaluations took before them, of which begin and end lie between the same
        two reports.
        """
        stream = stream if stream in self._begins or stream in self._ends else self._most
        begins, ends = self._begins.get(stream, []), self._ends.get(stream, [])
        clock = np.maximum.accumulate(np.where(np.isnan(at_ms), -np.inf, at_ms))
        lost, until = np.zeros(len(at_ms)), -np.inf
        for end in ends if begins else ():
            begin = begins[max(0, bisect_right(begins, end) - 1)]
            place = int(np.searchsorted(clock, end))
            if 0 < place < len(clock) and begin < end and clock[place - 1] <= begin:
                lost[place] += max(0.0, end - max(begin, until))
                until = end
        return np.asarray(at_ms - np.cumsum(lost)) if lost.any() else at_ms
