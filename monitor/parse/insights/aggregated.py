"""An answer of statistics by stream and minute as a Steps frame: one row each, marked ``aggregated``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from monitor.model import steps_frame
from monitor.parse.columns import Floats
from monitor.parse.identity import Identity
from monitor.parse.insights.questions import Ask, instant_ms
from monitor.parse.numbers import LONGEST_STEP_S, number, process_number, whole_number

AGGREGATED = "aggregated"
_WARM_UP_RATIO = 1.5
_FEWEST = 3
_STEPS = ("firstStep", "lastStep")
# Beyond this there is neither a step nor a time (of the year 33658).
_LARGEST = 1e15

Row = Mapping[str, str]
"""One row of the answer: field -> printed value."""


class Meant(NamedTuple):
    """How the numbers relate to a step, as the lines that were read one by one show."""

    clock: bool = False
    """The time is a clock that never falls."""
    by_clock: bool = False
    """A clock stands beside the throughput: it tells how many samples a step takes."""
    samples_per_step: int | None = None
    """Of a trainer whose throughput gives the step time."""
    total: int | None = None
    factor: float = 1.0
    """A printed time times this is one step's, as the clock of the lines says."""
    by_lines: bool = False
    """No time is printed, or none that the clock of the lines bears out: it gives the time itself."""


def aggregated_steps(
    rows: Iterable[Row], ask: Ask, meant: Meant, identity: Identity, node_of_stream: Callable[[str], str]
) -> pd.DataFrame:
    """The Steps frame: a row a writer and minute, with the minute's last step, its median step time and ``reports``.

    A row without a time stands before them for the first report of each segment: when steps began is known exactly.

    A clock's minute gives the mean, by the difference to the minute before. Rows that tell no step are left out; of a
    minute that two answers hold parts of, the fuller part is kept.
    """
    writers: dict[tuple[str, str, str], dict[float, Row]] = {}
    for row in rows:
        minute_ms = instant_ms(row.get("minute", ""))
        if minute_ms is None or not _sensible(minute_ms) or not all(_counts(row.get(name)) for name in _STEPS):
            continue
        minutes = writers.setdefault((row.get("@logStream", ""), row.get("rank", ""), row.get("host", "")), {})
        if minute_ms not in minutes or _reports(row) > _reports(minutes[minute_ms]):
            minutes[minute_ms] = row
    frames = [
        _of_writer(stream, rank, host, [minutes[at] for at in sorted(minutes)], ask, meant, identity, node_of_stream)
        for (stream, rank, host), minutes in sorted(writers.items())
    ]
    return steps_frame(pd.concat(frames, ignore_index=True) if frames else ())


def _of_writer(
    stream: str,
    rank: str,
    host: str,
    rows: Sequence[Row],
    ask: Ask,
    meant: Meant,
    identity: Identity,
    node_of_stream: Callable[[str], str],
) -> pd.DataFrame:
    who = process_number(rank)
    timed = not ask.roles.isdisjoint({"time", "pace"})
    last = _column(rows, "lastStep")
    segment = np.cumsum(np.diff(last, prepend=last[0]) < 0)
    times = np.full(len(rows), np.nan)
    warm_up = np.zeros(len(rows), bool)
    for part in np.unique(segment):
        at = np.flatnonzero(segment == part)
        times[at] = _times([rows[i] for i in at.tolist()], meant, timed)
        warm_up[at[0]] = len(at) >= _FEWEST and times[at[0]] > _WARM_UP_RATIO * float(np.nanmedian(times[at]))
    rate = _column(rows, "rateMedian")
    at_ms = [_at(row.get("lastAt", "")) or instant_ms(row["minute"]) for row in rows]
    minutes = pd.DataFrame(
        {
            "node": identity.node_of(who, host, stream, node_of_stream(stream)),
            "rank": who,
            "step": last.astype(np.int64),
            "timestamp": pd.to_datetime(at_ms, unit="ms", utc=True),
            "step_time_s": times,
            "throughput": rate,
            "throughput_unit": np.where(np.isnan(rate), "", ask.unit),
            "loss": _column(rows, "lastLoss"),
            "gpu_memory_gib": np.nan,
            "format": ask.said.format,
            "kind": AGGREGATED,
            "stream": stream,
            "line": 0,
            "total": meant.total,
            "segment": segment,
            "warm_up": warm_up,
            "reports": [max(1, _reports(row)) for row in rows],
        }
    )
    return _with_first(minutes, rows)


def _with_first(minutes: pd.DataFrame, rows: Sequence[Row]) -> pd.DataFrame:
    """The minutes, and before those that begin a segment its first report, which they then no longer count."""
    first_step = _column(rows, "firstStep")
    first_ms = np.array([_at(row.get("firstAt", "")) for row in rows], dtype=np.float64)
    begins = np.diff(minutes["segment"].to_numpy(), prepend=-1) > 0
    own = begins & (minutes["reports"].to_numpy() > 1) & ~np.isnan(first_ms) & ~np.isnan(first_step)
    if not own.any():
        return minutes
    first = minutes[own].copy()
    first["step"] = first_step[own].astype(np.int64)
    first["timestamp"] = pd.to_datetime(first_ms[own], unit="ms", utc=True)
    first[["step_time_s", "throughput", "loss"]] = np.nan
    first["throughput_unit"], first["warm_up"], first["reports"] = "", False, 1
    minutes.loc[own, "reports"] -= 1
    # The index is the minute's: the first report sorts before it.
    return pd.concat([first, minutes]).sort_index(kind="stable")


def _times(rows: Sequence[Row], meant: Meant, timed: bool) -> Floats:
    """Seconds of a step in each minute of one segment; NaN where none can be told."""
    median = _column(rows, "median")
    if meant.by_lines:
        return _bounded(_by_lines(rows))
    if meant.clock:
        times = _differenced(rows, _column(rows, "least"), _column(rows, "most"))
    elif meant.by_clock:
        clock = _differenced(rows, _column(rows, "clockFrom"), _column(rows, "clockTo"))
        with np.errstate(divide="ignore", invalid="ignore"):
            samples = clock / _column(rows, "mean")
        known = samples[np.isfinite(samples) & (samples > 0)]
        # The mean of a minute's reports against its clock: the median over minutes leaves out checkpoints.
        times = median * float(np.median(known)) if len(known) else clock
    elif meant.samples_per_step is not None:
        times = median * meant.samples_per_step
    else:
        # Of a throughput alone it is the time of one sample or token.
        times = median if timed else np.full(len(rows), np.nan)
    return _bounded(times * meant.factor)


def _bounded(times: Floats) -> Floats:
    return np.where((times > 0) & (times < LONGEST_STEP_S), times, np.nan)


def _by_lines(rows: Sequence[Row]) -> Floats:
    """Seconds a step between the last reports of two minutes; of the first minute between its own first and last."""
    last_ms = np.array([_at(row.get("lastAt", "")) for row in rows], dtype=np.float64)
    first_ms = np.array([_at(row.get("firstAt", "")) for row in rows], dtype=np.float64)
    done = np.diff(_column(rows, "lastStep"), prepend=_column(rows, "firstStep")[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(done > 0, np.diff(last_ms, prepend=first_ms[0]) / 1000 / done, np.nan)


def _differenced(rows: Sequence[Row], least: Floats, most: Floats) -> Floats:
    """Clock seconds a step: from the end of the minute before, for the first minute within itself."""
    first, last = _column(rows, "firstStep"), _column(rows, "lastStep")
    elapsed, done = np.diff(most, prepend=least[0]), np.diff(last, prepend=first[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((elapsed > 0) & (done > 0), elapsed / done, np.nan)


def _column(rows: Sequence[Row], name: str) -> Floats:
    return np.array([number(row.get(name)) for row in rows], dtype=np.float64)


def _counts(printed: str | None) -> bool:
    value = number(printed)
    return value is not None and 0 <= value < _LARGEST


def _at(printed: str) -> float | None:
    at_ms = instant_ms(printed)
    return at_ms if at_ms is not None and _sensible(at_ms) else None


def _sensible(at_ms: float) -> bool:
    return 0 <= at_ms < _LARGEST


def _reports(row: Row) -> int:
    return whole_number(number(row.get("reports"))) or 0
