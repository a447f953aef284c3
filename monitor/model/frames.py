"""The three frames of a run: their columns, and the one constructor of each that casts and fails loudly.

``line`` puts the rows of a stream in order, and is always known: from 1 it is the line's number; where the head of the stream
was not read, or only sums of its lines are known, rows have negative ones that end with -1, which are in order and no more.
So no rule meets a missing one, and a job that is read from its end takes the same way as one that is read from its head.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

# The five per-host metrics of a training job, under the names this program uses for them.
METRICS = ("gpu_utilization", "gpu_memory_utilization", "cpu_utilization", "memory_utilization", "disk_utilization")

#: The kind of an event that counts others: "1996998 nan" stands for so many further events of kind "nan" in its stream.
LEFT_OUT = "left-out"

_STEP_DTYPES: dict[str, str] = {
    "node": "str",
    "rank": "Int64",
    "step": "Int64",
    "timestamp": "datetime64[ms, UTC]",
    "step_time_s": "float64",
    "throughput": "float64",
    "throughput_unit": "str",
    "loss": "float64",
    "gpu_memory_gib": "float64",
    "format": "str",
    "kind": "str",
    "stream": "category",  # long, and the same in a million rows; categories are sorted texts
    "line": "int64",
    # Beyond the columns of the CSV:
    "total": "Int64",  # planned number of steps, where the line names it
    "segment": "Int64",  # 0, 1, ...: the counter began again
    "warm_up": "bool",  # a first report that contains tracing, compilation or allocation
    "reports": "Int64",  # how many reports the row stands for: 1, but where it is aggregated
    "learning_rate": "float64",  # printed beside the step
}
_METRIC_DTYPES: dict[str, str] = {
    "timestamp": "datetime64[ms, UTC]",
    "node": "str",
    "metric": "str",
    "value_pct": "float64",
    "period_s": "Int64",
}
_EVENT_DTYPES: dict[str, str] = {
    "timestamp": "datetime64[ms, UTC]",
    "node": "str",
    "rank": "Int64",
    "kind": "str",
    "text": "str",
    "stream": "str",
    "line": "int64",
}

_GPU_DTYPES: dict[str, str] = {
    "timestamp": "datetime64[ms, UTC]",
    "node": "str",
    "gpu": "int64",
    "utilization_pct": "float64",
    "memory_pct": "float64",
    "even": "bool",
}

_HOST_DTYPES: dict[str, str] = {
    "timestamp": "datetime64[ms, UTC]",
    "node": "str",
    "cores": "Int64",
    "full_cores": "Int64",
    "cpu_pct": "float64",
    "waiting_cores": "float64",
    "received_bytes_s": "float64",
    "sent_bytes_s": "float64",
    "even": "bool",
}

#: The columns that ``steps --format csv`` prints, in order.
STEP_CSV_COLUMNS = tuple(_STEP_DTYPES)[:13]


def _frame(rows: Any, dtypes: Mapping[str, str], what: str) -> pd.DataFrame:
    if not len(rows):
        return _empty(tuple(dtypes.items())).copy(deep=False)
    # A million steps are not held twice: who gives columns gives them away.
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows, copy=False)
    given = dict(frame.items())
    missing = [name for name in dtypes if name not in given]
    if missing:
        raise ValueError(f"a frame of {what} needs the columns {', '.join(missing)}")
    given |= {name: _categories(given[name]) for name, dtype in dtypes.items() if dtype == "category"}
    return framed(given, dtypes)


def framed(columns: Mapping[Any, pd.Series], dtypes: Mapping[str, str]) -> pd.DataFrame:
    """A frame of the columns of these names in these types. All are of one index, which is left out.

    It is made once, of columns that are touched only where they are not of their type: of few rows the making is most of
    the time.
    """
    typed = [
        column if _is(column.dtype, dtype) else column.astype(dtype)
        for column, dtype in ((columns[name], dtype) for name, dtype in dtypes.items())
    ]
    made = pd.concat(typed, axis=1)
    made.columns = _names(tuple(dtypes))
    return made.reset_index(drop=True)


@cache
def _names(columns: tuple[str, ...]) -> pd.Index:
    return pd.Index(columns)


def _is(own: Any, dtype: str) -> bool:
    # Whatever its categories are.
    return isinstance(own, pd.CategoricalDtype) if dtype == "category" else bool(own == _dtype(dtype))


@cache
def _dtype(name: str) -> Any:
    return pd.api.types.pandas_dtype(name)


@cache
def _empty(dtypes: tuple[tuple[str, str], ...]) -> pd.DataFrame:
    """Every run has some, and to cast the columns takes as long as for a thousand rows."""
    frame = pd.DataFrame({name: pd.Series([], dtype=dtype) for name, dtype in dtypes})
    for name in (name for name, dtype in dtypes if dtype == "category"):
        frame[name] = _categories(frame[name])
    return frame


def _categories(column: pd.Series) -> pd.Series:
    """The texts as categories in one form: those that occur, sorted."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype("str").astype("category")
    values: Any = column.array
    occurring = np.unique(values.codes)
    texts = values.categories.take(occurring[occurring >= 0]).tolist()
    if len(texts) == len(values.categories) and texts == sorted(texts) and values.categories.dtype == "str":
        return column
    column = column.cat.remove_unused_categories()
    return column.cat.set_categories(pd.Index(sorted(texts), dtype="str"))


def steps_frame(rows: Any = ()) -> pd.DataFrame:
    """The Steps frame: one row a report (``STEP_CSV_COLUMNS`` and ``total segment warm_up reports learning_rate``), columns
    cast.

    Rows may be a frame, a list of dicts or a dict of columns; of the last two columns each may be missing. ValueError names
    others that are.
    """
    frame = pd.DataFrame(rows, copy=False) if len(rows) else pd.DataFrame(rows)
    for name, otherwise in (("reports", 1), ("learning_rate", float("nan"))):
        if len(frame) and name not in frame.columns:
            frame[name] = otherwise
    return _frame(frame, _STEP_DTYPES, "steps")


def metrics_frame(rows: Any = ()) -> pd.DataFrame:
    """The Metrics frame: ``timestamp node metric value_pct period_s``, value_pct already 0-100 of one device."""
    return _frame(rows, _METRIC_DTYPES, "metrics")


def events_frame(rows: Any = ()) -> pd.DataFrame:
    """The Events frame: ``timestamp node rank kind text stream line``."""
    return _frame(rows, _EVENT_DTYPES, "events")


def gpus_frame(rows: Any = ()) -> pd.DataFrame:
    """The Gpus frame: ``timestamp node gpu utilization_pct memory_pct even``, a row for each sample of one GPU.

    ``even`` marks the samples of minutes that were chosen evenly over the job; the others were read for what they hold, and
    do not count where it matters how usual something is. Times are those of the node's own clock: samples of two nodes are
    never matched.
    """
    return _frame(rows, _GPU_DTYPES, "GPUs")


def hosts_frame(rows: Any = ()) -> pd.DataFrame:
    """The Hosts frame: a row for each sample of a node's cores and network, of the minutes in which they were asked for.

    ``timestamp node cores full_cores cpu_pct waiting_cores received_bytes_s sent_bytes_s even``: ``cpu_pct`` is the mean of
    the cores that are not full, ``waiting_cores`` how many wait for I/O. ``even`` as in the Gpus frame.
    """
    return _frame(rows, _HOST_DTYPES, "hosts")


#: Name -> what makes it, of all frames of a run.
RUN_FRAMES: Mapping[str, Callable[[Any], pd.DataFrame]] = {
    "steps": steps_frame,
    "metrics": metrics_frame,
    "events": events_frame,
    "gpus": gpus_frame,
    "hosts": hosts_frame,
}


def moment_of(stamp: Any) -> datetime | None:
    """The time of a cell of a frame; None for NaT."""
    return None if pd.isna(stamp) else stamp.to_pydatetime()


def line_numbers(line: pd.Series) -> pd.Series:
    """The numbers of lines, of a frame's column ``line``; missing where only their order is known."""
    numbers = line.astype("Int64")
    return numbers.mask(numbers < 1)


def in_order_of_time(steps: pd.DataFrame, events: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both frames with ``line`` in the order of times, for rows of which no line is known.

    Rows of one time keep their order, events before steps; those without a time stand first.
    """
    rows = pd.concat(
        [frame[["stream", "timestamp"]].astype({"stream": "str"}) for frame in (events, steps)], ignore_index=True
    )
    rows = rows.sort_values("timestamp", kind="stable", na_position="first")
    lines = (-1 - rows.groupby("stream").cumcount(ascending=False)).sort_index().to_numpy("int64")
    return steps.assign(line=lines[len(events) :]), events.assign(line=lines[: len(events)])
