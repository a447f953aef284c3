"""Which of the progress bars in a stream is the training's, and which of its redraws are new steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from monitor.parse.rows import StepRow

BarKey = tuple[str, int | None]
"""(description, total)."""


@dataclass
class _Bar:
    key: BarKey
    places: list[int] = field(default_factory=list)
    """Index of each redraw among all rows of the stream and rank."""
    runs: int = 0
    distinct: int = 0


def training_rows(rows: Sequence[StepRow], planned_steps: int | None) -> list[StepRow]:
    """Of the redraws of one stream and rank, those of the bar that counts optimizer steps.

    It is the bar whose total is the number of steps that the trainer announced. Else a bar that is drawn in full
    between two redraws of another (an evaluation inside training) is out, as is one that only counts how often
    another ran (epochs); of what remains the one with the most steps is in.
    """
    totalled = {row.reading.bar for row in rows if row.reading.total is not None}
    # Without a total it is a training bar only past the end of one that had a total: the rest are downloads and such.
    rows = [row for row in rows if row.reading.total is not None or row.reading.bar in totalled]
    bars = _bars(rows)
    if len(bars) <= 1:
        return rows
    announced = {bar.key for bar in bars if planned_steps is not None and bar.key[1] == planned_steps}
    if announced:
        return [row for row in rows if _key(row) in announced or row.reading.total is None]
    out: set[BarKey] = set()
    for outer in bars:
        for inner in bars:
            if outer is inner or not _encloses(outer, inner):
                continue
            # An epoch bar moves once for each run of the bar inside it; a training bar moves on between them.
            out.add(inner.key if outer.distinct > 2 * inner.runs else outer.key)
    left = [bar for bar in bars if bar.key not in out] or bars
    best = max(left, key=lambda bar: (bar.distinct, -bar.places[0]))
    return [row for row in rows if row.reading.bar == best.key[0] and row.reading.total in (best.key[1], None)]


def _key(row: StepRow) -> BarKey:
    return (row.reading.bar, row.reading.total)


def _bars(rows: Sequence[StepRow]) -> list[_Bar]:
    bars: dict[BarKey, _Bar] = {}
    last: dict[BarKey, int] = {}
    seen: dict[BarKey, set[int]] = {}
    for place, row in enumerate(rows):
        if row.reading.total is None:
            continue  # past its total: the same bar
        key = _key(row)
        bar = bars.setdefault(key, _Bar(key))
        step = row.reading.step or 0
        if key not in last or step < last[key]:
            bar.runs += 1
            seen[key] = set()
        if step not in seen[key]:
            bar.distinct += 1
            seen[key].add(step)
        last[key] = step
        bar.places.append(place)
    return list(bars.values())


def _encloses(outer: _Bar, inner: _Bar) -> bool:
    return outer.places[0] < inner.places[0] and inner.places[-1] < outer.places[-1]


def renumbered(rows: Sequence[StepRow]) -> list[StepRow]:
    """The rows by the global step they print, where that follows the bar; else as they are.

    A bar that holds validation too goes on while the global step stands; before a redraw has a postfix the step of the
    row is not known.
    """
    counted = [row for row in rows if row.reading.counter is not None]
    counters = len({row.reading.counter for row in counted})
    # Large counters are printed rounded: one that stands while the bar moves tells nothing.
    if counters < 3 or counters * 4 < len({row.reading.step for row in rows if row.reading.step}):
        return list(rows)
    return [row._replace(reading=row.reading._replace(step=row.reading.counter)) for row in counted]


def drawn_at_once(rows: Sequence[StepRow]) -> int:
    """How many equal bars share the rows of a merged stream: each starts with one redraw at 0; at least 1."""
    zeros = 0
    for row in rows:
        if row.reading.step:
            break
        zeros += 1
    return max(1, zeros)
