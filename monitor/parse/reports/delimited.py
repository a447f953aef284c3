"""Tables in a log: rows of numbers meet their header, whatever stands between columns.

``epoch,step,train_loss,val_loss`` and ``0,49,2.31,``; ``Step<tab>Training Loss``; ``| Iteration | Loss | Elapsed Time |`` in a
frame; ``epoch  step     train_loss  time`` with columns aligned by blanks, as spaCy (``E    #       LOSS TOK2VEC``) and
pandas print them. What a row means its header says, lines before it. So headers and rows are recognized as events, each by
itself, and paired here. A header names a step and what is told of it; a row has a number in every column that is filled.
A table with a row an epoch tells of epochs alone; other tables of numbers have no such header. A row has no word that could be
looked for: how its line ends tells that it may be one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from monitor.parse.events.epochs import EPOCH_TIME, EPOCH_TOLD
from monitor.parse.fields import vocabulary as v
from monitor.parse.fields.keys import Key
from monitor.parse.fields.records import Entry, Form, Value, form, reading
from monitor.parse.reports import pieces
from monitor.parse.rows import EventRow, Reading
from monitor.parse.table import NOBODY, Place, Rows

FORMAT = "table"
#: Of values with commas between them.
COMMAS = "csv"
HEADER, ROW = "table-header", "table-row"
#: Kinds of events that only this module reads.
KINDS = frozenset({HEADER, ROW})
_BEHIND_A_NAME = ("  ", "\t", " |", "|", ",", " │", " ┃")
GATES = (
    ",,",
    *(f",{name}" for name in ("step", "iteration", "iter,", "loss", "train_loss")),
    *(
        f"{name}{behind}"
        for name in sorted(v.word_set("tep teps TEP ter ters ITER teration TERATION Itr pdate atch poch POCH"))
        for behind in _BEHIND_A_NAME
    ),
    *("E    # ", "oss\t", "oss |", "OSS |", "OSS  ", "step loss", "step time"),
)

_LONGEST, _LONGEST_HEADER = 4_000, 2_000
_MAY_BE_A_HEADER = re.compile(r"(?i:loss|time|sec|it/s|speed|rate|/s|dur|ips|tps|fps|\blr\b)")
_MOST_CELLS = 200
_TOLD = {"loss", "time", "rate", "throughput"}
_BARS = re.compile(r"\s*[|│┃║]\s*")
_FRAME = " \t|│┃║"
_BLANKS = re.compile(r"\s{2,}")
_UNIT_APART = re.compile(r"(?<=\d) {1,8}(?=(?:m?s|secs?|mins?|%)(?:\s|$))")
_NAME = re.compile(r"(?=[^\n]*[A-Za-z#])[\w #/.()%*\[\]µ:-]{1,60}")
_NUMBER = r"[-+]?(?:\d{1,20}(?:\.\d{0,25})?|\.\d{1,25})(?:[eE][-+]?\d{1,3})?"
_CELL = re.compile(
    rf"(?P<clock>\d{{1,4}}(?::[0-5]\d){{1,2}}(?:\.\d{{1,9}})?)|(?P<value>{_NUMBER})(?:\s?/\s?(?P<total>\d{{1,15}}))?"
    r"\s?(?P<unit>[A-Za-zµ%][A-Za-zµ/]{0,11})?"
)
# Trials of a search, and what else has a status.
_OF_OTHER_TABLES = re.compile(r"(?i:trial|status|state\b)")
# A cell with nothing in it.
_NOTHING = frozenset({"", "-", "--", "nan", "-nan", "NaN", "inf", "-inf", "None", "N/A", "n/a", "*"})
_DATE = re.compile(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S{0,14}")
_LONGEST_TEXT = 40

# Characters by what they may be at the end of a row: 1 ends a number, 2 is inside of one or its unit, 3 lies between cells.
_CLASS = np.zeros(256, np.uint8)
for _kind, _characters in ((1, b"0123456789%*"), (2, b".+-eE:nasmhT/"), (3, b" \t,|\xe2\x94\x82\x83")):
    _CLASS[list(_characters)] = _kind
_BEFORE, _LAST, _BETWEEN, _IS_ROW, _IS_NONE = range(5)
# By what was seen from the end on, and the next character.
_NEXT = np.array(
    [
        [_IS_NONE, _LAST, _LAST, _BEFORE],
        [_IS_NONE, _LAST, _LAST, _BETWEEN],
        [_IS_NONE, _IS_ROW, _IS_NONE, _BETWEEN],
        [_IS_ROW] * 4,
        [_IS_NONE] * 4,
    ],
    np.uint8,
)
_LOOKED_AT = 96  # columns may be far apart
_BAR, _BLANK, _BRACKET, _ESCAPE, _RETURN = b"| [\x1b\r"
_MAY_END = np.isin(_CLASS, (1, 3))
_MAY_END[list(b".snm\r")] = True
_RESET = b"\x1b[0m"


def may_be_rows(data: bytes, ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """The lines of a page that end as a row of a table does, in two numbers with nothing but space between; or that have a
    frame around them. Rows have no word that could be looked for."""
    page = np.frombuffer(data, np.uint8)
    if len(page) < 3:
        return np.empty(0, np.int64)
    last_at = ends - 1
    last = page.take(last_at, mode="clip")
    # Behind the last character of a row a color may end, or the carriage return of another system stand.
    at = np.flatnonzero(_MAY_END[last])
    starts, places, last = np.where(at > 0, ends[at - 1] + 1, 0), last_at[at], last[at]
    is_reset = (last == _RESET[-1]) & (page.take(places - len(_RESET) + 1, mode="clip") == _ESCAPE)
    places = places - len(_RESET) * is_reset - (last == _RETURN)
    long_enough = places - starts > 1
    at, starts, places = at[long_enough], starts[long_enough], places[long_enough]
    last, first = page[places], page[starts]
    second = page[starts + 1]
    bar = last == _BAR
    framed = bar & (
        (first == _BAR)
        | ((first == _BLANK) & ((second == _BAR) | (second == _BLANK)))
        | (first == _BRACKET)
        | (first == _ESCAPE)
    )
    found = [at[framed]]
    # Lines of figures end in a bar, too, and are read by others.
    at, starts, places = at[~bar], starts[~bar], places[~bar]
    state = np.zeros(len(at), np.uint8)
    for _ in range(1, _LOOKED_AT):
        state = _NEXT[state, _CLASS[page.take(places, mode="wrap")]]
        places -= 1
        # Most are no rows by their last few characters.
        state[places < starts - 1] = _IS_NONE
        found.append(at[state == _IS_ROW])
        open_yet = np.flatnonzero(state < _IS_ROW)
        at, starts, places, state = at[open_yet], starts[open_yet], places[open_yet], state[open_yet]
        if not len(at):
            break
    return np.sort(np.concatenate(found))


def read(text: str) -> Iterator[tuple[str, str]]:
    """(kind, text) if ``text`` is the header of a table of step reports, or a row of some table."""
    if len(text) > _LONGEST:
        return
    text = _without_head(text)
    bare = text.strip(_FRAME) if text.lstrip()[:1] in _FRAME[2:] else text.strip()
    first, last = bare[:1], bare[-1:]
    if first.isalpha() and last.isdecimal() and not bare[-3:].isalnum():
        return  # a name and its number
    if (first.isalpha() or first in "#_") and len(bare) < _LONGEST_HEADER and _MAY_BE_A_HEADER.search(bare):
        if _is_header(bare):
            yield HEADER, text.strip()
    elif first and (first in "0123456789.,-+*" or "|" in text or "│" in text):
        cells = _row(text)
        if cells is not None:
            yield ROW, text.strip()


def _without_head(text: str) -> str:
    """Without what a logger puts in front, where it names a level."""
    if "INFO" in text[:80] or text[:1] == "[":
        head = pieces.HEAD.match(text)
        return text[head.end() :] if head else text
    return text


def _is_header(bare: str) -> bool:
    names = _names(bare)
    if names is None:
        return False
    if any(_OF_OTHER_TABLES.match(name) for name in names):
        return False
    keys = [key for name in names if (key := _key(name)) is not None]
    what = {key.what for key in keys}
    if (
        what.isdisjoint({"loss", "epoch"})
        and min((key.order for key in keys if key.what == "step"), default=0) == v.BATCH
    ):
        return False  # a table of batch sizes
    if "step" not in what:
        return {"epoch", "loss"} <= what
    return not what.isdisjoint(_TOLD) or {"learning", "measure"} <= what


def _sign(text: str) -> str:
    """What stands between the columns."""
    if any(bar in text for bar in _FRAME[2:]):
        return "|"
    return "\t" if "\t" in text.strip() else "," if "," in text else " "


def _cells(text: str, sign: str) -> list[str]:
    if sign == "|":
        inner = text.strip()
        inner = inner[1:] if inner[0] in _FRAME[2:] else inner
        inner = inner[:-1] if inner[-1:] and inner[-1] in _FRAME[2:] else inner
        return [cell.strip() for cell in _BARS.split(inner)]
    if sign == " ":
        return _UNIT_APART.sub("", text).split()
    return [cell.strip() for cell in text.split(sign)]


def _names(text: str) -> list[str] | None:
    sign = _sign(text)
    if sign == " ":
        names = _BLANKS.split(text.strip())
        if len(names) < 2:
            names = text.split()
            # With one blank between them these may be words of a sentence.
            if any(_key(name) is None for name in names):
                return None
    else:
        names = _cells(text, sign)
    if names[0] == "#" and _counted(tuple(names[1:])) >= 0:
        names = names[1:]  # the sign of a comment
    if not 2 <= len(names) <= _MOST_CELLS or any(name and _NAME.fullmatch(name) is None for name in names):
        return None
    return None if any(_CELL.fullmatch(name) for name in names) else names


def _row(text: str) -> list[str] | None:
    """The cells of a row; None where it is none."""
    sign = _sign(text)
    if sign == "|" and text.strip()[:1] not in _FRAME[2:] and text.lstrip()[:1] not in "0123456789":
        return None
    cells = _cells(text, sign)
    if not 2 <= len(cells) <= _MOST_CELLS:
        return None
    numbers = whole = 0
    for cell in cells:
        if cell in _NOTHING:
            continue
        if _CELL.fullmatch(cell) is None:
            if _DATE.fullmatch(cell) is None and (sign in ", " or len(cell) > _LONGEST_TEXT):
                return None
            continue
        numbers += 1
        whole += cell.partition("/")[0].strip().isdecimal()
    return cells if (numbers > 1 and whole) or (numbers and whole and sign == ",") else None


def reports(events: Iterable[EventRow]) -> Rows:
    """The reports in the rows of tables; ``events`` are in the order of streams and lines.

    Rows of one step that follow one another are one report: loggers write a row for each call. Where a whole table was
    printed in less time than its steps took, a row's time is not its step's, and is left out. A row whose step is less
    than that of the row above begins another table, whose header is not known.
    """
    found = Rows()
    header: EventRow | None = None
    names: list[str] = []
    sign, step_at = "", -1
    table: list[tuple[EventRow, Reading]] = []
    newest: dict[str, str] = {}
    first: EventRow | None = None
    last_step = -1.0
    for event in events:
        if event.kind not in KINDS:
            continue
        if event.kind == HEADER or header is None or event.stream != header.stream:
            _take(table, first, newest, sign)
            _close(found, table)
            newest, first, table, last_step = {}, None, [], -1.0
            header = None
            if event.kind == HEADER:
                header, sign, names = event, _sign(event.text), _names(event.text.strip(_FRAME)) or []
                step_at = _counted(tuple(names))
            continue
        cells = _cells(event.text, sign)
        if len(cells) == 1 and "\t" in event.text:
            cells = _cells(event.text, "\t")  # a head with commas, and rows with tabs
        if len(cells) == len(names) + 1 and sign == " ":
            cells = cells[1:]  # the index of a data frame
        elif len(cells) < len(names) and sign == " ":
            cells = _below(header.text, names, event.text)
        if len(cells) != len(names) or step_at < 0 or (step := _step(cells[step_at])) is None:
            continue
        row = {name: value for name, value in zip(names, cells, strict=True) if value not in _NOTHING}
        if step < last_step:
            # Rows of an evaluation count for themselves.
            header = None if _tells(tuple(row)) else header
            continue
        if first is not None and step != last_step:
            _take(table, first, newest, sign)
            newest, first = {}, None
        last_step = step
        first = first or event
        newest |= row
    _take(table, first, newest, sign)
    _close(found, table)
    return found


def epochs(events: Iterable[EventRow]) -> list[EventRow]:
    """Of tables with a row an epoch what each row tells: the number of its epoch, and what it took where a column has that."""
    found: list[EventRow] = []
    names: list[str] = []
    sign, epoch_at, stream = "", -1, ""
    for event in events:
        if event.kind == HEADER:
            sign, names, stream = _sign(event.text), _names(event.text.strip(_FRAME)) or [], event.stream
            epoch_at = _epoch_at(tuple(names))
        elif event.kind == ROW and epoch_at >= 0 and event.stream == stream:
            cells = _cells(event.text, sign)
            if len(cells) != len(names) or not cells[epoch_at].isdecimal():
                continue
            found.append(event._replace(kind=EPOCH_TOLD, text=cells[epoch_at]))
            # As if its epochs were steps.
            named = [*names[:epoch_at], "step", *names[epoch_at + 1 :]]
            report = _reading(dict(zip(named, cells, strict=True)), FORMAT)
            if report is not None and (passed_s := report.time_s or report.clock_s):
                found.append(event._replace(kind=EPOCH_TIME, text=f"{passed_s:g}"))
    return found


def _below(header: str, names: Sequence[str], row: str) -> list[str]:
    """The cells of a row that leaves some empty, by the names that they begin below; none where one begins elsewhere."""
    begins, at = {}, 0
    for place, name in enumerate(names):
        at = header.index(name, at)
        begins[at] = place
        at += len(name)
    cells = [""] * len(names)
    for match in re.finditer(r"\S+", row):
        if match.start() not in begins:
            return []
        cells[begins[match.start()]] = match[0]
    return cells


def _take(table: list[tuple[EventRow, Reading]], first: EventRow | None, row: dict[str, str], sign: str) -> None:
    if first is not None and (report := _reading(row, COMMAS if sign == "," else FORMAT)) is not None:
        table.append((first, report))


def _reading(row: Mapping[str, str], name: str) -> Reading | None:
    """What the cells of a row tell, by the names of their columns."""
    names: list[tuple[str, str]] = []
    values: list[Value] = []
    for column, value in row.items():
        match = _CELL.fullmatch(value)
        if match is None:
            continue
        names.append((column, match["unit"] or ""))
        values.append(match["clock"] or match["value"])
        if match["total"]:
            names.append(("", "of"))
            values.append(match["total"])
    known = _form(tuple(names))
    return None if known is None else reading(known, values, name)


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


@lru_cache(maxsize=1024)
def _tells(names: tuple[str, ...]) -> bool:
    return any((key := _key(name)) is not None and key.what in _TOLD for name in names)


def _step(cell: str) -> float | None:
    match = _CELL.fullmatch(cell)
    return float(match["value"]) if match and match["value"] and not match["unit"] else None


@lru_cache(maxsize=256)
def _counted(names: tuple[str, ...]) -> int:
    """The column that numbers the rows: the best count of steps; -1 where there is none."""
    known = [(at, key) for at, name in enumerate(names) if (key := _key(name)) is not None]
    steps = [(key.order, at) for at, key in known if key.what == "step"]
    return min(steps)[1] if steps else -1


@lru_cache(maxsize=256)
def _epoch_at(names: tuple[str, ...]) -> int:
    """The column that numbers epochs, of a table that counts nothing else; -1 where there is none."""
    if _counted(names) >= 0:
        return -1
    return next((at for at, name in enumerate(names) if (key := _key(name)) is not None and key.what == "epoch"), -1)


@lru_cache(maxsize=1024)
def _form(names: tuple[tuple[str, str], ...]) -> Form | None:
    """The form of a row in which these fields are filled; what tells of an evaluation is none of the step's business."""
    entries: list[Entry] = []
    for place, (name, unit) in enumerate(names):
        if unit == "of":
            if entries and entries[-1].place == place - 1:
                entries[-1] = entries[-1]._replace(total=place)
        elif (key := _key(name, unit)) is not None and key.what != "evaluation":
            # One column of a part of the loss is not the loss.
            is_part = key.what == "loss" and key.order == v.PART_OF_LOSS
            entries += [Entry(place, key, name)] * (2 if is_part else 1)
    return form(entries, "")


def _key(name: str, unit: str = "") -> Key | None:
    name = name.strip()
    return _SHORT.get(name) or pieces.key(name, unit)


# The head of spaCy's table; a plain count in front of what is told.
_SHORT = {"#": Key("step", v.STEP), "i": Key("step", v.STEP), "E": Key("epoch")}
