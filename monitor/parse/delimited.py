"""Tables of comma-separated values in a log, such as the metrics file of Lightning's CSVLogger: rows meet their header.

``epoch,step,train_loss,val_loss,val_acc`` and ``0,49,2.31,,``: what a row means its header says, lines before it. So headers
and rows are recognized as events, each by itself, and paired here. Rows with every field filled are not looked for: the
two commas side by side are what tells a row from other lines that hold numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from monitor.parse.keys import Key, key_of
from monitor.parse.records import Entry, Form, form, reading
from monitor.parse.rows import EventRow, Reading
from monitor.parse.table import NOBODY, Place, Rows

FORMAT = "csv"
HEADER, ROW = "table-header", "table-row"
#: Kinds of events that only this module reads.
KINDS = frozenset({HEADER, ROW})
GATES = (",step", "step,", ",iteration", "iteration,", ",iter,", ",,")

_LONGEST = 4_000
_TOLD = {"loss", "time", "rate", "throughput"}
_HEADER = re.compile(r"\s{0,9}[A-Za-z_][\w/ .()%-]{0,79}+(?:,[A-Za-z_][\w/ .()%-]{0,79}+){2,200}+\s{0,9}")
_NUMBER = r"(?:[-+]?\d{1,20}+(?:\.\d{0,25}+)?+(?:[eE][-+]?\d{1,3}+)?+|-?nan|-?inf)?+"
_ROW = re.compile(rf"\s{{0,9}}(?=[\d,-]){_NUMBER}(?:,{_NUMBER}){{2,200}}+\s{{0,9}}")


def read(text: str) -> Iterator[tuple[str, str]]:
    """(kind, text) if ``text`` is the header of a table of step reports, or a row of some table with gaps."""
    if len(text) > _LONGEST or "," not in text:
        return
    if ",," in text and _ROW.fullmatch(text):
        if any(digit in text for digit in "0123456789"):
            yield ROW, text.strip()
    elif _HEADER.fullmatch(text):
        what = {key.what for name in text.strip().split(",") if (key := _key(name)) is not None}
        if "step" in what and not what.isdisjoint(_TOLD):
            yield HEADER, text.strip()


def reports(events: Iterable[EventRow]) -> Rows:
    """The reports in the rows of tables; ``events`` are in the order of streams and lines.

    Rows of one step that follow one another are one report: loggers write a row for each call. Where a whole table was
    printed in less time than its steps took, a row's time is not its step's, and is left out.
    """
    found = Rows()
    header: EventRow | None = None
    names: list[str] = []
    table: list[tuple[EventRow, Reading]] = []
    newest: dict[str, str] = {}
    first: EventRow | None = None
    for event in events:
        if event.kind not in KINDS:
            continue
        fields = event.text.split(",")
        if event.kind == HEADER or header is None or event.stream != header.stream:
            _take(table, first, newest)
            _close(found, table)
            newest, first, table = {}, None, []
            header, names = (event, fields) if event.kind == HEADER else (None, [])
        elif len(fields) == len(names):
            row = {name: value for name, value in zip(names, fields, strict=True) if value}
            if first is not None and _step(row) != _step(newest):
                _take(table, first, newest)
                newest, first = {}, None
            first = first or event
            newest |= row
    _take(table, first, newest)
    _close(found, table)
    return found


def _take(table: list[tuple[EventRow, Reading]], first: EventRow | None, row: dict[str, str]) -> None:
    if first is None or (known := _form(tuple(row))) is None:
        return
    report = reading(known, list(row.values()), FORMAT)
    if report is not None:
        table.append((first, report))


def _close(found: Rows, table: Sequence[tuple[EventRow, Reading]]) -> None:
    """Adds the reports of one table."""
    if not table:
        return
    times = [event.time_ms for event, _ in table if event.time_ms is not None]
    worked_s = sum(report.time_s for _, report in table if report.time_s and report.meaning != "clock")
    late = len(times) > 1 and max(times) - min(times) < 500 * worked_s
    places: list[Place] = []
    for event, _ in table:
        time_ms, rank = None if late else event.time_ms, NOBODY if event.rank is None else event.rank
        places.append((event.line, event.part, time_ms, rank, event.host, False, NOBODY, NOBODY, None, None))
    found.add(table[0][0].stream, table[0][0].stream_node, places, [report for _, report in table])


def _step(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(value for name, value in row.items() if (key := _key(name)) is not None and key.what == "step")[:1]


@lru_cache(maxsize=1024)
def _form(names: tuple[str, ...]) -> Form | None:
    """The form of a row in which these fields are filled; what tells of an evaluation is none of the step's business."""
    keys = ((place, name, _key(name)) for place, name in enumerate(names))
    entries = [Entry(place, key, name) for place, name, key in keys if key is not None and key.what != "evaluation"]
    return form(entries, "")


def _key(name: str) -> Key | None:
    return key_of(name.strip())
