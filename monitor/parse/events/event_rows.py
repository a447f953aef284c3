"""All events of a run, collected page by page in any order; what is said thousands of times is kept in part.

A program may print the same error for each of a million batches: of one kind in one stream so many are kept, the first ones,
the last ones, and of what lies between the first of each wording. Which these are hangs on all that was read alone: not on
the order of pages, nor on how often the events were asked for in between.
Checkpoints and evaluations explain pauses wherever they stand: those that stand close together are merged into spans, whose
ends may differ by the order in which they came.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monitor.model import LEFT_OUT, LogPage
from monitor.parse.events import epochs, facts, marks
from monitor.parse.lines.page_texts import Texts
from monitor.parse.reports import delimited
from monitor.parse.rows import EventRow

#: So many of one kind are kept of a stream ...
MOST_ALIKE = 4_000
#: ... and so many in all; each takes about a kilobyte by the time it is judged.
MOST_EVENTS = 50_000
#: What NCCL prints for every channel of every rank, at worst a line in five of a log, bars of generations, and how an epoch
#: went, which a bar may show with each redraw: kept once for each writer and text.
SAID_ONCE = frozenset({"transport", "inference", epochs.EPOCH_TOLD})
# So many times more of the lines that name epochs: several may tell of each, and a log may hold many runs.
_FOR_EPOCHS = 4
# They mark the begin or the end of something. Those of one span stand for one where the next is so many times as far away.
_MARKS = frozenset(["checkpoint-begin", "checkpoint-end", "evaluation-begin", "evaluation-end"])
_FAR = 10
# Each of these counts: they are one of many parts.
_EACH = delimited.KINDS | {"environment", "gpu-memory", "rank-map-node", "rank-map-rank", "speaker"}
# A figure that each step prints again: a sample tells as much, and what is left out is no loss.
_SAMPLED = frozenset({"mfu"})
_MOST_SAMPLED = 64
_ORDER = {kind: place for place, kind in enumerate(dict.fromkeys(row.kind for row in (*facts.ROWS, *marks.MARKS)))}
# Words without one of which no log of a training is written, but one that has nothing but a bar without a word.
_OF_TRAINING = Texts(b"train", b"epoch", b"loss", b"learning", b"optimi", b"tuning")
_OF_MODELS = re.compile(rb"trained|finetuning_task|epoch=\d{1,6}\S{0,80}?\.ckpt")
# So much of a page mostly tells.
_HEAD = 1 << 16
TRAINS = "trains"
"""The text of a stream's first line where the stream has one of them."""
_DIGITS = re.compile(r"\d+")
_WORDING_CHARS = 200


class EventRows:
    """Events, and of each stream its first line so far (kind "first-line"), whose time tells when a host began."""

    def __init__(self, most_alike: int = MOST_ALIKE, most: int = MOST_EVENTS) -> None:
        self._most_alike, self._most = most_alike, most
        self._rows: dict[tuple[str, str], list[EventRow]] = {}
        self._kept = 0
        self._spans: dict[tuple[str, str], dict[tuple[int, int], int]] = {}
        """Of marks, by the first one of a span: how many were between it and the one that is kept next."""
        self._first: dict[str, EventRow] = {}
        self._read: Counter[tuple[str, str]] = Counter()
        """Of what is kept once the different ones alone."""
        self._settled: dict[tuple[str, str], int] = {}
        """To how many those were thinned of which none came since."""

    def __iter__(self) -> Iterator[EventRow]:
        """The first lines, then the events that are kept: those of one line in the order in which it is read.

        An event of kind "left-out" behind those of one kind and stream says how many more there were ("1996998 nan"); of marks
        one stands behind the first of each span, which reaches to the next mark of its kind.
        """
        self._thin()
        yield from self._first.values()
        for pair in sorted(self._rows, key=lambda pair: (pair[0], _ORDER.get(pair[1], len(_ORDER)))):
            rows = self._rows[pair]
            yield from rows
            if pair[1] in _MARKS:
                yield from self._left_out_of_spans(pair)
            elif count := self._left_out(pair):
                yield rows[len(rows) // 2]._replace(kind=LEFT_OUT, text=f"{count} {pair[1]}", rank=None, time_ms=None)

    def __len__(self) -> int:
        self._thin()
        return len(self._first) + self._kept

    @property
    def left_out(self) -> Counter[str]:
        """How many of each kind are not kept."""
        self._thin()
        out: Counter[str] = Counter()
        for pair in self._rows:
            out[pair[1]] += self._left_out(pair)
        return +out

    def _left_out(self, pair: tuple[str, str]) -> int:
        return 0 if pair[1] in SAID_ONCE | _SAMPLED else self._read[pair] - len(self._rows[pair])

    def _left_out_of_spans(self, pair: tuple[str, str]) -> Iterator[EventRow]:
        spans = self._spans.get(pair, {})
        for row in self._rows[pair]:
            if count := spans.get(_in_stream(row)):
                yield row._replace(kind=LEFT_OUT, text=f"{count} {pair[1]}", rank=None, time_ms=None)

    def add_page(self, page: LogPage) -> None:
        """Remembers where the stream begins, as far as it was read, and whether it says that something is trained."""
        known = self._first.get(page.stream)
        said = known.text if known is not None else ""
        if not said and _speaks_of_training(page.data):
            said = TRAINS
        if known is None or page.first_line < known.line:
            time_ms = page.times_ms[0] if page.times_ms else None
            known = EventRow(page.stream, page.node, page.first_line, -1, time_ms, None, "", "first-line", "")
        self._first[page.stream] = known._replace(text=said)

    def enough_of(self, kind: str) -> int | None:
        """Of more events of one kind on a page, all worded alike, as many of the first and of the last tell all that is kept;
        None where each counts.
        """
        return None if kind in _EACH | _MARKS | SAID_ONCE else self._most_of(kind)

    def add_all(self, rows: Iterable[EventRow], of: int = 0) -> None:
        """Adds events of one kind and stream; so many ``of`` which they are some, if there were more."""
        new = list(rows)
        if not new:
            return
        pair = new[0].stream, new[0].kind
        if pair[1] not in SAID_ONCE:
            self._read[pair] += max(of, len(new))
        self._rows.setdefault(pair, []).extend(new)
        self._settled.pop(pair, None)
        self._kept += len(new)
        # Twice as many as are kept in the end: so that each is looked at a few times, however many come.
        if len(self._rows[pair]) > 2 * self._most_of(pair[1]):
            self._thin_one(pair, self._most)
        elif self._kept > 2 * self._most:
            self._thin()

    def _most_of(self, kind: str) -> int:
        if kind in _SAMPLED:
            return min(_MOST_SAMPLED, self._most_alike, self._most)
        alike = self._most_alike * (_FOR_EPOCHS if kind in epochs.EPOCH_LINES else 1)
        return self._most if kind in _EACH else min(alike, self._most)

    def _thin(self) -> None:
        """Keeps no more than there is room for: a kind of a stream has its share by how many of it were read.

        By what is held they would hang on how often this was done before; by what was read they only shrink.
        """
        for pair in self._rows:
            self._thin_one(pair, self._most)
        share = _share([min(self._read[pair], self._most_of(pair[1])) for pair in self._rows], self._most)
        for pair in self._rows:
            self._thin_one(pair, share)

    def _thin_one(self, pair: tuple[str, str], room: int) -> None:
        most = min(room, self._most_of(pair[1]))
        if self._settled.get(pair, most + 1) <= most:
            return
        self._settled[pair] = most
        before = rows = self._rows[pair]
        if pair[1] in SAID_ONCE:
            rows = _once(rows, lambda row: (row.rank, row.host, row.text), min)
            self._read[pair] = max(self._read[pair], len(rows))
        if pair[1] in _MARKS:
            if len(rows) > most:
                rows = _merged(rows, self._spans.setdefault(pair, {}), most, keeps_last=pair[1].endswith("-end"))
        # Where some were left out of a part there may be room; which are kept must not hang on that.
        elif self._read[pair] > most:
            rows = _sampled(rows, most) if pair[1] == delimited.ROW else _thinned(rows, most)
        self._rows[pair] = rows
        self._kept -= len(before) - len(rows)


def _once(rows: Iterable[EventRow], what: Callable[[EventRow], Hashable], which: Callable[..., Any]) -> list[EventRow]:
    """Of the rows that say the same the first or the last one, whichever page comes first."""
    said: dict[Hashable, EventRow] = {}
    for row in rows:
        said[what(row)] = which((said.get(what(row), row), row), key=_in_stream)
    return list(said.values())


def _share(sizes: Sequence[int], most: int) -> int:
    """The number that none may be larger than for all together to be no more than ``most``; at least 2."""
    left = most
    for place, size in enumerate(sorted(sizes)):
        each = left // (len(sizes) - place)
        if size > each:
            return max(2, each)
        left -= size
    return max(2, most)


def _thinned(rows: Iterable[EventRow], most: int) -> list[EventRow]:
    """The first and the last rows, and of those between the first of each wording, as far as there is room.

    What is left out of a part is left out of the whole: rows may come in any order, and be thinned in between.
    """
    ordered = sorted(rows, key=_in_stream)
    wordings = most // 4
    begin, end = (most - wordings + 1) // 2, (most - wordings) // 2
    between = ordered[begin : len(ordered) - end]
    first: dict[str, EventRow] = {}
    for row in between:
        first.setdefault(_DIGITS.sub("0", row.text[:_WORDING_CHARS]), row)
    chosen = sorted(first, key=lambda text: (zlib.crc32(text.encode("utf-8", "replace")), text))[:wordings]
    return [*ordered[:begin], *(first[text] for text in chosen), *ordered[len(ordered) - end :]]


def _merged(rows: Iterable[EventRow], spans: dict[tuple[int, int], int], most: int, keeps_last: bool) -> list[EventRow]:
    """The marks as spans of those that stand closest: the first and the last one of each, with how many lie between.

    Of a span that stands far from all others, such as what the ranks of a node say of one checkpoint, one mark tells all.
    """
    ordered = sorted(rows, key=_in_stream)
    keys = [_in_stream(row) for row in ordered]
    lines = np.array([row.line for row in ordered])
    gaps = np.diff(lines)
    lots = np.array([_lot(line) for line in lines[1:].tolist()])
    # How many marks are left out behind each; -1 where no span begins with it.
    behind = np.array([spans.get(key, -1) for key in keys])
    divides = behind[:-1] < 0
    # The widest gaps divide the spans; where all are the same, the lot does.
    widest = np.lexsort((lots, -gaps, ~divides))[: min(most - 1, int(divides.sum()))]

    def divided(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """(first and last mark of each span, whether one mark stands for it)."""
        cuts = np.sort(widest[:count])
        first, last = np.append(0, cuts + 1), np.append(cuts, len(lines) - 1)
        apart = np.concatenate(([0], gaps[cuts], [0]))
        alone = (lines[last] - lines[first]) * _FAR < np.minimum(apart[:-1], apart[1:])
        return first, last, alone | (first == last)

    fewest, count = min(most // 2 - 1, len(widest)), len(widest)
    while count > fewest:
        _, _, single = divided(count)
        if 2 * len(single) - int(single.sum()) <= most:
            break
        count = max(fewest, count - max(1, (count - fewest) // 4))
    out: list[EventRow] = []
    parts = divided(max(0, count))
    inside = np.add.reduceat(np.maximum(behind, 0), parts[0])
    spans.clear()
    for begin, end, single, left_out in zip(*(column.tolist() for column in (*parts, inside)), strict=True):
        if single:
            out.append(ordered[end if keeps_last else begin])
        else:
            out += (ordered[begin], ordered[end])
            spans[keys[begin]] = left_out + end - begin - 1
    return out


def _sampled(rows: Iterable[EventRow], most: int) -> list[EventRow]:
    """Rows of a table from all over it, by the lot of their lines."""
    drawn = sorted(rows, key=lambda row: (_lot(row.line), row.line, row.part))
    return sorted(drawn[:most], key=_in_stream)


def _lot(line: int) -> int:
    return zlib.crc32(str(line).encode())


_in_stream = attrgetter("line", "part")


def _speaks_of_training(data: bytes) -> bool:
    lower = data.lower()
    # Models that answer were trained, too: their files and configurations say so.
    return bool(_OF_TRAINING.on(lower)) and any(
        _OF_TRAINING.on(_OF_MODELS.sub(b"", part)) for part in (lower[:_HEAD], lower)
    )
