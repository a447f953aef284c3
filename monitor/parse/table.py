"""All step readings of a run as columns: collected page by page, put in order once, worked on as arrays.

A log may hold a million reports; as columns they take a fifth of the memory and a tenth of the time that objects do. Of more
than that every second, fourth, ... step is kept, as if the program had reported no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from monitor.parse.columns import Columns, Floats
from monitor.parse.rows import Reading

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
At = NDArray[np.intp]
"""Places in a table, in the order of its rows."""
Column = NDArray[Any]
Constant = int | float
"""In place of a column that is the same in all rows."""

#: So many readings are kept; each takes some 300 bytes by the time it is judged.
MOST_READINGS = 1_000_000
#: So many different hosts and labels of progress bars, those with the most readings.
MOST_NAMES = 50_000
_MOST_STEPS_APART = 256
#: So many pieces of reports are kept, in whole stretches of so many lines.
MOST_PIECES = 400_000
_STRETCH_LINES = 1024
# So many pages become one block.
_TOGETHER = 64

NOBODY = -1
"""The rank of a line that names none."""
_TEXTS = ("format", "meaning", "throughput_unit", "bar")
_PRINTED = (
    "step",
    "total",
    "time_s",
    "clock_s",
    "clock_tick_s",
    "throughput",
    "loss",
    "gpu_memory_gib",
    "learning_rate",
    "left_s",
    "mean_s",
    "epoch_total",
    "epochs",
)
_NUMBERS = (*_PRINTED, "epoch", "epoch_share", "counter")
_MISSING = dict.fromkeys((*_NUMBERS, "time_ms", "stamp_ms"), np.nan) | {
    **dict.fromkeys(("rank", "local_rank", "task"), NOBODY),
    "clock_tick_s": 0.0,
}
_CODES = ("part", "rank", "host", "local_rank", "task", *_TEXTS)
_DTYPES = {"line": "i8", "nested": "?"} | dict.fromkeys(_CODES, "i4")
# What assembly writes into. Of the rest a column that is the same in all rows takes the room of one value until
# ``Readings.put`` writes something else.
_WORKED_ON = frozenset(
    ("line", "time_ms", "rank", "meaning", "throughput_unit", "step", "time_s", "throughput", "loss")
)


Place = tuple[int, int, int | None, int, str, bool, int, int, float | None, int | None]
"""Where a reading was found, in the order of ``PLACE``, and the learning rate beside it; numbers of processes are ``NOBODY``
where none is named."""
PLACE = ("line", "part", "time_ms", "rank", "host", "nested", "local_rank", "task", "learning_rate", "stamp_ms")


class Repeated(NamedTuple):
    """A column of texts, each so often."""

    texts: Sequence[str]
    counts: Sequence[int]


@dataclass(slots=True)
class Readings:
    """Every reading, in the order of streams, lines and parts. Made afresh for each assembly, which writes into it.

    Numbers that were not printed are NaN; the texts are codes into ``texts``.
    """

    texts: NDArray[np.object_]
    stream: Codes
    node: Codes
    """Of the stream, algo-N."""
    line: Ints
    part: Codes
    time_ms: Floats
    stamp_ms: Floats
    """What the line prints of itself where that is not ``time_ms``: beside a source's time, or without a day."""
    rank: Codes
    host: Codes
    """Named in the line's tag."""
    local_rank: Codes
    """On its node, where a label counts those."""
    task: Codes
    """The number that srun gave a process or node."""
    nested: NDArray[np.bool_]
    format: Codes
    meaning: Codes
    throughput_unit: Codes
    bar: Codes
    step: Floats
    total: Floats
    time_s: Floats
    clock_s: Floats
    clock_tick_s: Floats
    throughput: Floats
    loss: Floats
    gpu_memory_gib: Floats
    learning_rate: Floats
    left_s: Floats
    mean_s: Floats
    epoch_total: Floats
    epochs: Floats
    epoch: Floats
    epoch_share: Floats
    counter: Floats
    _codes: dict[str, int] = field(default_factory=dict, init=False)

    def __len__(self) -> int:
        return len(self.line)

    def code(self, text: str) -> int:
        """The code of a text."""
        if len(self._codes) < len(self.texts):
            self._codes.update(zip(self.texts.tolist(), range(len(self.texts)), strict=True))
        if text not in self._codes:
            self._codes[text] = len(self.texts)
            self.texts = np.append(self.texts, np.array([text], dtype=object))
        return self._codes[text]

    def format_of(self, at: At) -> str:
        """The name of the format of these rows, of one series."""
        return str(self.texts[self.format[at[0]]])

    def put(self, at: At | int, **values: Any) -> None:
        """Writes values into columns by their names."""
        for name, new in values.items():
            column: Column = getattr(self, name)
            if _is_constant(column):
                column = column.copy()
                setattr(self, name, column)
            column.flags.writeable = True
            column[at] = new
            column.flags.writeable = name in _WORKED_ON

    def taken(self, name: str, at: At) -> Column:
        """The values of a column at these rows; the column is gone then, since a table and its frame are large."""
        values: Column = getattr(self, name)[at]
        delattr(self, name)
        return values

    def keep(self, *names: str) -> None:
        """Drops all columns but these."""
        for name in _COLUMNS:
            if name not in names:
                delattr(self, name)

    def same_as_before(self, at: At) -> NDArray[np.bool_]:
        """For each row but the first: True where it reads as the row before it does."""
        same = np.ones(max(0, len(at) - 1), dtype=bool)
        for name in (*_NUMBERS, *_TEXTS, "nested"):
            values = getattr(self, name)[at]
            equal = values[1:] == values[:-1]
            if values.dtype.kind == "f":
                equal |= np.isnan(values[1:]) & np.isnan(values[:-1])
            same &= equal
        return same


_COLUMNS = tuple(each.name for each in fields(Readings))[1:-1]
_NAMED = ("stream", "node", "host", *_TEXTS)


def together(tables: Sequence[Readings]) -> Readings:
    """The rows of several tables as one."""
    codes: dict[str, int] = {}
    parts: dict[str, list[Column]] = {name: [] for name in _COLUMNS}
    for table in tables:
        code = np.array([codes.setdefault(text, len(codes)) for text in table.texts.tolist()], np.int32)
        for name in _COLUMNS:
            values = getattr(table, name)
            parts[name].append(code[values] if name in _NAMED and len(code) else values)
    columns = {name: np.concatenate(values) for name, values in parts.items()}
    texts = np.array(list(codes), dtype=object)
    by_name = np.empty(len(texts), np.int32)
    by_name[np.argsort(texts)] = np.arange(len(texts), dtype=np.int32)
    order = np.lexsort((columns["part"], columns["line"], by_name[columns["stream"]]))
    return Readings(texts, **{name: values[order] for name, values in columns.items()})


def by_code(codes: NDArray[np.integer], at: At) -> list[tuple[int, At]]:
    """The places by their code in a column, those of each code in their order."""
    own = codes[at]
    order = np.argsort(own, kind="stable")
    parts = np.split(at[order], np.flatnonzero(np.diff(own[order])) + 1)
    return [(int(codes[part[0]]), part) for part in parts if len(part)]


class Rows:
    """Collects readings; pages may come in any order."""

    def __init__(self, most: int = MOST_READINGS, most_names: int = MOST_NAMES, stretch: int = 1) -> None:
        self._most, self._most_names = most, most_names
        self._stretch = stretch
        """So many lines are kept or left out together: what belongs together stands in few of them."""
        self._beside: Rows | None = None
        self._blocks: list[dict[str, Column | Constant]] = []
        self._sizes: list[int] = []
        self._size = 0
        self._small = 0
        """How many of the last blocks are of one page."""
        self._codes: dict[str, int] = {}
        self._names_at_most = 2 * most_names
        self.read = 0
        """How many there were, kept or not."""
        self.every = 1
        """Of so many steps one is kept."""
        self.unnamed = 0
        """How many were left out because their host or bar hardly ever reports."""
        self.formats: set[str] = set()
        """What they were read as."""

    def __len__(self) -> int:
        return self._size

    @property
    def beside(self) -> Rows:
        """What is no report by itself, and belongs to the reports on other lines (``monitor.parse.reports.pieces``)."""
        if self._beside is None:
            self._beside = Rows(MOST_PIECES, self._most_names, _STRETCH_LINES)
        return self._beside

    def add(self, stream: str, node: str, places: Sequence[Place], readings: Sequence[Reading]) -> None:
        """Readings of one page, each with its place."""
        if not readings:
            return
        found = dict(zip(Reading._fields, zip(*readings, strict=True), strict=True))
        found |= dict(zip(PLACE, zip(*places, strict=True), strict=True))
        self.add_columns(stream, node, len(readings), found)

    def add_columns(self, stream: str, node: str, size: int, found: Columns) -> None:
        """Columns of ``size`` readings of one page by the fields' names, or what all of them have; None among numbers, and
        columns left out, are missing."""
        block: dict[str, Column | Constant] = {"stream": self._code(stream), "node": self._code(node)}
        for name in _COLUMNS[2:]:
            values = found.get(name)
            if values is None:
                if name in _TEXTS or name == "host":
                    block[name] = self._code("")
            elif name in _TEXTS or name == "host":
                block[name] = self._coded(values)
            elif isinstance(values, float):
                block[name] = np.asarray(values, _DTYPES.get(name, "f8")).item()
            elif name in _DTYPES:
                block[name] = _packed(np.asarray(values, _DTYPES[name]))
            elif isinstance(values, np.ndarray) or any(value is not None for value in values):
                block[name] = _packed(np.asarray(values, float))
            if isinstance(kept := block.get(name), np.ndarray) and kept.shape != (size,):
                raise ValueError(f"{name} has {kept.shape} values for {size} readings")
        self.read += size
        formats: Any = found.get("format") or ""
        self.formats.update({formats} if isinstance(formats, str) else getattr(formats, "texts", formats))
        self._keep(block, size)
        if self._size > self._most:
            self._thin()
        if len(self._codes) > self._names_at_most:
            self._forget_names()

    def table(self, last: bool = False) -> Readings:
        """All rows so far, in order. With ``last`` they are given up: both at once take half as much again."""
        columns: dict[str, Column] = {name: self._column(name, last) for name in _COLUMNS}
        if last:
            self._taken_out()
        texts = np.array(list(self._codes), dtype=object)
        by_name = np.empty(len(texts), np.int32)
        by_name[np.argsort(texts)] = np.arange(len(texts), dtype=np.int32)
        keys = (columns["part"], columns["line"], by_name[columns["stream"]] if len(texts) else columns["stream"])
        if not _in_order(keys):
            order = np.lexsort(keys)
            del keys
            for name, values in columns.items():
                if not _is_constant(values):
                    columns[name] = values[order]
        for name, values in columns.items():
            values.flags.writeable = name in _WORKED_ON
        return Readings(texts, **columns)

    def _keep(self, block: dict[str, Column | Constant], size: int) -> None:
        if self.every > 1:
            line, step = (np.broadcast_to(block.get(name, np.nan), size) for name in ("line", "step"))
            line = line // self._stretch
            number = np.where(np.isnan(step), line, step)
            # Where all is of one step lines are what tells readings apart.
            chosen = (number % min(self.every, _MOST_STEPS_APART) == 0) & (
                line % max(1, self.every // _MOST_STEPS_APART) == 0
            )
            block, size = _chosen(block, chosen)
        if size:
            self._blocks.append(block)
            self._sizes.append(size)
            self._size += size
            self._small += 1
        if self._small >= _TOGETHER:
            self._join()

    def _join(self) -> None:
        """Makes one block of those of the last pages: what is large goes back to the system when it is given up."""
        blocks, sizes = self._blocks[-self._small :], self._sizes[-self._small :]
        del self._blocks[-self._small :], self._sizes[-self._small :]
        joined: dict[str, Column | Constant] = {}
        for name in dict.fromkeys(name for block in blocks for name in block):
            parts = [block.pop(name, _MISSING.get(name, 0)) for block in blocks]
            joined[name] = _packed(np.concatenate([np.broadcast_to(*part) for part in zip(parts, sizes, strict=True)]))
        self._blocks.append(joined)
        self._sizes.append(sum(sizes))
        self._small = 0

    def _thin(self) -> None:
        """Keeps one of twice as many steps as before, until there is room. What is left out stays so, in whatever order
        pages come."""
        while self._size > self._most:
            self.every *= 2
            for block, size in self._taken_out():
                self._keep(block, size)

    def _taken_out(self) -> list[tuple[dict[str, Column | Constant], int]]:
        out = list(zip(self._blocks, self._sizes, strict=True))
        self._blocks, self._sizes, self._size, self._small = [], [], 0, 0
        return out

    def _forget_names(self) -> None:
        """Lets go of the hosts and bars with the fewest readings, and of these."""
        names = list(self._codes)
        counts = np.zeros(len(names), np.int64)
        for block, size in zip(self._blocks, self._sizes, strict=True):
            for name in ("host", "bar"):
                np.add.at(counts, np.broadcast_to(block[name], size), 1)
        keep = np.zeros(len(names), bool)
        keep[np.argsort(-counts, kind="stable")[: self._most_names]] = True
        for block, size in self._taken_out():
            named = keep[np.broadcast_to(block["host"], size)] & keep[np.broadcast_to(block["bar"], size)]
            self.unnamed += size - int(named.sum())
            self._keep(*_chosen(block, named))
        for block in self._blocks:
            for name in _NAMED:
                keep[np.asarray(block[name])] = True
        code = np.cumsum(keep, dtype=np.int32) - 1
        self._codes = {name: int(code[place]) for place, name in enumerate(names) if keep[place]}
        for block in self._blocks:
            for name in _NAMED:
                values = block[name]
                block[name] = code[values] if isinstance(values, np.ndarray) else int(code[int(values)])
        # Streams stay, however many they are.
        self._names_at_most = 2 * max(self._most_names, len(self._codes))

    def _column(self, name: str, last: bool) -> Column:
        dtype = _DTYPES.get(name, "i4" if name in {"stream", "node"} else "f8")
        missing = _MISSING.get(name, 0)
        parts = [block.pop(name, missing) if last else block.get(name, missing) for block in self._blocks]
        if parts and name not in _WORKED_ON and all(_same(part, parts[0]) for part in parts):
            return np.broadcast_to(np.array(parts[0], dtype), len(self))
        out = np.empty(len(self), dtype)
        start = 0
        for part, size in zip(parts, self._sizes, strict=True):
            out[start : start + size] = part
            start += size
        return out

    def _code(self, text: str) -> int:
        return self._codes.setdefault(text, len(self._codes))

    def _coded(self, texts: Any) -> Column | int:
        if isinstance(texts, str):
            return self._code(texts)
        if isinstance(texts, Repeated):
            return np.repeat(np.array([self._code(text) for text in texts.texts], "i4"), texts.counts)
        different = set(texts)
        if len(different) == 1:
            return self._code(texts[0])
        codes = {text: self._code(text) for text in different}
        return np.fromiter(map(codes.__getitem__, texts), "i4", len(texts))


def _chosen(block: dict[str, Column | Constant], chosen: NDArray[np.bool_]) -> tuple[dict[str, Column | Constant], int]:
    """The rows of a block that are chosen, and how many."""
    rows = {name: values[chosen] if isinstance(values, np.ndarray) else values for name, values in block.items()}
    return rows, int(chosen.sum())


def _packed(values: Column) -> Column | Constant:
    """The same values in half the room or none, where they are small whole numbers or all alike."""
    if len(values):
        first = values[0]
        # NaN alone is not itself.
        if (values == first if first == first else values != values).all():
            return first.item()  # type: ignore[no-any-return]
    with np.errstate(over="ignore"):
        small = values.astype({"f8": np.float32, "i8": np.int32}.get(values.dtype.str[1:], values.dtype), copy=False)
    # A view would keep all columns that it is one of.
    return small if np.array_equal(small, values, equal_nan=small.dtype.kind == "f") else np.ascontiguousarray(values)


def _same(one: Column | Constant, other: Column | Constant) -> bool:
    """Both stand for all rows of a block, with the same value or none."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return False
    return one == other or (one != one and other != other)


def _is_constant(values: Column) -> bool:
    return values.strides == (0,)


def _in_order(keys: tuple[Column, ...]) -> bool:
    """True if the rows are sorted by the last key, then the one before it, and so on."""
    later = np.zeros(max(0, len(keys[0]) - 1), dtype=bool)
    equal = ~later
    for key in reversed(keys):
        step = np.diff(key)
        later |= equal & (step > 0)
        equal &= step == 0
    return bool((later | equal).all())
