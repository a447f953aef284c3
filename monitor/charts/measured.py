"""One metric of all nodes: which node is odd, and what is the mean, the lowest and the highest of each stretch of time?

Rows are put in order once (``measured``); what is drawn of them, for all of a job or for a part of it, follows quickly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.charts.time_axis import Span

#: So many columns at most, and so many cells: about the pixels there are, and 256 nodes stay quick in a browser.
COLUMNS = 180
CELLS = 24_000
#: Points of one line at most.
POINTS = 400
#: Nodes with a row of their own at most: as many as a row can be told from its neighbors.
ROWS = 64
#: Nodes whose means lie closer than this keep their natural order: no false ranking, no jumping rows.
ALIKE_POINTS = 3.0

_FACTORS = (1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 240, 480, 1440)
_CELL_DTYPES = {
    "node": "str",
    "order": "int64",
    "start": "datetime64[ms, UTC]",
    "end": "datetime64[ms, UTC]",
    "mean_pct": "float64",
    "low_pct": "float64",
    "high_pct": "float64",
    "points": "int64",
}
_ACROSS_DTYPES = {
    "at": "datetime64[ms, UTC]",
    "low": "float64",
    "p10": "float64",
    "median": "float64",
    "mean": "float64",
    "p90": "float64",
    "high": "float64",
    "points": "int64",
}
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Measured:
    """The values of a metric, by node (its place in ``names``) and then by time, in percent of one device."""

    names: tuple[str, ...]
    """Nodes with and without data, in their natural order."""
    node: Ints
    at_ms: Ints
    """Where the period of the value begins, in Unix milliseconds."""
    value: Floats
    period_ms: int

    @property
    def observed(self) -> frozenset[str]:
        """The nodes with data."""
        return frozenset(self.names[place] for place in np.unique(self.node))

    def within(self, span: Span | None) -> Measured:
        """The values whose period lies in the span, in part at least; all of them for None."""
        if span is None:
            return self
        start, end = (round(edge.timestamp() * 1000) for edge in span)
        kept = (self.at_ms + self.period_ms > start) & (self.at_ms < end)
        return Measured(self.names, self.node[kept], self.at_ms[kept], self.value[kept], self.period_ms)

    def means(self) -> dict[str, float]:
        """Node -> mean, of those with data."""
        sums, counts = _sums(self.node, self.value, len(self.names))
        return {name: sums[place] / counts[place] for place, name in enumerate(self.names) if counts[place]}


def measured(metrics: pd.DataFrame, metric: str, nodes: Sequence[str]) -> Measured:
    """The rows of one metric, put in order; those without a value are none."""
    chosen = metrics[(metrics["metric"] == metric) & metrics["value_pct"].notna()]
    periods = chosen["period_s"].dropna()
    period_ms = 1000 * (int(periods.max()) if len(periods) else 60)
    codes, found = pd.factorize(chosen["node"])
    names = tuple(sorted({*(str(name) for name in found), *nodes}, key=_number))
    places = np.array([names.index(str(name)) for name in found], dtype="int64")
    node = places[codes] if len(codes) else np.zeros(0, "int64")
    at_ms = chosen["timestamp"].to_numpy("datetime64[ms]").astype("int64")
    turn = np.lexsort((at_ms, node))
    return Measured(names, node[turn], at_ms[turn], chosen["value_pct"].to_numpy("float64")[turn], period_ms)


def node_order(rows: Measured) -> list[str]:
    """The nodes, those whose mean is furthest from the median node first; the rest and nodes without data by number."""
    means = rows.means()
    middle = float(np.median(list(means.values()))) if means else 0.0
    far = {name: abs(mean - middle) for name, mean in means.items() if abs(mean - middle) >= ALIKE_POINTS}
    outliers = sorted(far, key=lambda name: -far[name])
    return outliers + [name for name in rows.names if name not in far]


def drawn_nodes(rows: Measured, first: Sequence[str] = ()) -> list[str]:
    """The nodes that have a row, from top to bottom: those in ``first`` that there are, then as ``node_order`` has them."""
    known = set(rows.names)
    return list(dict.fromkeys([*(name for name in first if name in known), *node_order(rows)]))[:ROWS]


def bucket_seconds(rows: Measured, columns: int = COLUMNS) -> int:
    """Seconds of one column: the period, or the smallest round multiple of it that fits the time into ``columns``."""
    return _bucket_ms(rows, columns) // 1000


def columns_for(nodes: int) -> int:
    """How many columns a heatmap of so many nodes may have."""
    return max(40, min(COLUMNS, CELLS // max(nodes, 1)))


def cells(
    rows: Measured, columns: int = COLUMNS, within: Span | None = None, order: Sequence[str] | None = None
) -> pd.DataFrame:
    """One row a node and bucket of time that has data: ``node order start end mean_pct low_pct high_pct points``.

    Of the nodes in ``order`` alone, where one is given; else of all, as ``node_order`` has them.

    A bucket is a whole number of periods, at most ``columns`` over the time there is, and its edges do not move as time
    goes on; at the edges of ``within`` it is cut.
    """
    rows = rows.within(within)
    if not len(rows.node):
        return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in _CELL_DTYPES.items()})
    width = _bucket_ms(rows, columns)
    first, sizes, slot = _runs(rows.node, rows.at_ms // width)
    start_ms = slot * width
    end_ms = start_ms + width
    if within is not None:
        low, high = (round(edge.timestamp() * 1000) for edge in within)
        start_ms, end_ms = np.maximum(start_ms, low), np.minimum(end_ms, high)
    places = {name: place for place, name in enumerate(node_order(rows) if order is None else order)}
    node = rows.node[first]
    orders = np.array([places.get(name, -1) for name in rows.names], dtype="int64")
    frame = pd.DataFrame(
        {
            "node": pd.Categorical.from_codes(node, categories=list(rows.names)),
            "order": orders[node],
            "start": _instants(start_ms),
            "end": _instants(end_ms),
            "mean_pct": np.add.reduceat(rows.value, first) / sizes,
            "low_pct": np.minimum.reduceat(rows.value, first),
            "high_pct": np.maximum.reduceat(rows.value, first),
            "points": sizes,
        }
    )
    return frame[frame["order"] >= 0].astype(_CELL_DTYPES).reset_index(drop=True)


def across(rows: Measured, points: int = POINTS) -> pd.DataFrame:
    """All nodes together, a row a bucket of time: ``at low p10 median mean p90 high points``, and an empty one in a hole."""
    if not len(rows.node):
        return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in _ACROSS_DTYPES.items()})
    width = _bucket_ms(rows, points)
    slots = rows.at_ms // width
    turn = np.lexsort((rows.value, slots))
    value, slots = rows.value[turn], slots[turn]
    first, sizes, slot = _runs(np.zeros(len(slots), "int64"), slots)
    frame = pd.DataFrame(
        {
            "at": _instants(slot * width + width // 2),
            "low": np.minimum.reduceat(value, first),
            **{name: _at_share(value, first, sizes, share) for name, share in _SHARES.items()},
            "mean": np.add.reduceat(value, first) / sizes,
            "high": np.maximum.reduceat(value, first),
            "points": sizes,
        }
    )
    hole = np.flatnonzero(np.diff(slot) > 1)
    if len(hole):
        nothing = pd.DataFrame({"at": _instants((slot[hole] + 1) * width + width // 2), "points": 0})
        frame = pd.concat([frame, nothing]).sort_values("at", kind="stable", ignore_index=True)
    return frame[list(_ACROSS_DTYPES)].astype(_ACROSS_DTYPES)


_SHARES = {"p10": 0.1, "median": 0.5, "p90": 0.9}


def _at_share(ordered: Floats, first: Ints, sizes: Ints, share: float) -> Floats:
    """The quantile of each run of values in order, interpolated."""
    exact = first + share * (sizes - 1)
    low = np.floor(exact).astype("int64")
    high = np.minimum(low + 1, first + sizes - 1)
    found: Floats = ordered[low] + (exact - low) * (ordered[high] - ordered[low])
    return found


def _runs(node: Ints, slot: Ints) -> tuple[Ints, Ints, Ints]:
    """Where a new pair of node and slot begins, how long it is, and its slot."""
    new = np.ones(len(node), dtype=bool)
    new[1:] = (node[1:] != node[:-1]) | (slot[1:] != slot[:-1])
    first = np.flatnonzero(new)
    return first, np.diff(np.append(first, len(node))), slot[first]


def _bucket_ms(rows: Measured, columns: int) -> int:
    if not len(rows.at_ms):
        return rows.period_ms
    span_ms = int(rows.at_ms.max() - rows.at_ms.min()) + rows.period_ms
    fitting = (rows.period_ms * factor for factor in _FACTORS if span_ms <= columns * rows.period_ms * factor)
    return next(fitting, rows.period_ms * -(-span_ms // (columns * rows.period_ms)))


def _sums(node: Ints, value: Floats, count: int) -> tuple[Floats, Ints]:
    sums = np.bincount(node, value, count).astype("float64")
    return sums, np.bincount(node, minlength=count).astype("int64")


def _instants(ms: Ints) -> pd.Series:
    return pd.Series(ms.astype("datetime64[ms]")).dt.tz_localize("UTC")


def instant_of(ms: float) -> datetime:
    """The moment of so many Unix milliseconds."""
    moment: datetime = pd.Timestamp(round(ms), unit="ms", tz="UTC").to_pydatetime()
    return moment


def _number(name: str) -> tuple[str, int, str]:
    found = re.search(r"(\d+)$", name)
    return (name[: found.start()], int(found.group()), name) if found else (name, -1, name)
