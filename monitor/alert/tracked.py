"""The tracks of one metric of a job, or the reason why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from monitor.alert.track import Floats, Track


@dataclass(frozen=True, slots=True)
class Tracked:
    """One track a node, in the order of their names."""

    tracks: tuple[Track, ...] = ()
    unit: str = ""
    why_none: str = ""
    """A sentence; empty where there are tracks."""


def steps_done(steps: pd.DataFrame, node: str) -> Floats:
    """When each different step was first reported, in seconds since 1970 and in order: by the node or, where it prints
    none, by any."""
    rows = steps.loc[steps["timestamp"].notna(), ["node", "segment", "step", "timestamp"]]
    own = rows[rows["node"] == node]
    rows = (own if len(own) else rows).sort_values("timestamp")
    done: Floats = seconds(rows.drop_duplicates(["segment", "step"])["timestamp"]).to_numpy("float64")
    return done


def seconds(times: pd.Series) -> pd.Series:
    """Instants as seconds since 1970; NaN where there is none."""
    return (times - pd.Timestamp(0, tz="UTC")).dt.total_seconds()


def node_place(name: str | None) -> tuple[int, int, str]:
    """Sorts algo-2 before algo-10, and what has no name first."""
    tail = (name or "").rpartition("-")[2]
    return (1, int(tail), "") if tail.isdecimal() else (0 if not name else 2, 0, name or "")


def in_order(tracks: Sequence[Track]) -> tuple[Track, ...]:
    return tuple(sorted(tracks, key=lambda track: node_place(track.node)))
