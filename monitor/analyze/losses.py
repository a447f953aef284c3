"""How does the training loss develop, according to the one writer that logs most of it? Losses of evaluations are not
among them: their lines are no reports of a step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from monitor.analyze.codes import writers

#: A writer of a lower rank leads if it tells this share of what the one who tells most does.
_NEARLY_AS_MUCH = 0.9


@dataclass(frozen=True, slots=True)
class Losses:
    """What one writer said of its loss and its learning rate."""

    node: str
    rank: int | None
    """None where its lines name none."""
    writers: int
    """How many tell a loss or a learning rate."""
    rows: pd.DataFrame
    """In time: ``at step loss learning_rate bad``; ``bad`` is a loss that was printed as NaN or infinite."""


def losses(steps: pd.DataFrame, events: pd.DataFrame) -> Losses | None:
    """The leading writer's; None where no report with a time names a loss or a learning rate."""
    bad = (steps["loss"].abs() == np.inf) | _said_nan(steps, events)
    told = steps["loss"].notna() | steps["learning_rate"].notna() | bad
    rows = steps[told & steps["timestamp"].notna()]
    if rows.empty:
        return None
    rows = rows.assign(writer=writers(rows), bad=bad)
    counts = rows.groupby("writer")["writer"].transform("size")
    near = rows[counts >= _NEARLY_AS_MUCH * counts.max()].drop_duplicates("writer")
    first = near.sort_values(["rank", "node"], na_position="last", kind="stable").iloc[0]
    own = rows[rows["writer"] == first["writer"]].sort_values("timestamp", kind="stable")
    frame = pd.DataFrame(
        {
            "at": own["timestamp"],
            "step": own["step"],
            "loss": own["loss"].mask(own["bad"]),
            "learning_rate": own["learning_rate"],
            "bad": own["bad"],
        }
    ).reset_index(drop=True)
    rank = None if pd.isna(first["rank"]) else int(first["rank"])
    return Losses(str(first["node"]), rank, int(rows["writer"].nunique()), frame)


def _said_nan(steps: pd.DataFrame, events: pd.DataFrame) -> pd.Series:
    """Which reports without a loss stand in a line that says NaN; told by stream and time, since newest lines have no number."""
    found = pd.Series(False, index=steps.index)
    said = events[(events["kind"] == "nan") & events["timestamp"].notna()]
    near = steps[steps["loss"].isna() & steps["timestamp"].isin(said["timestamp"])]
    lines = pd.MultiIndex.from_arrays([said["stream"].astype("str"), said["timestamp"]])
    own = pd.MultiIndex.from_arrays([near["stream"].astype("str"), near["timestamp"]])
    found.loc[near.index] = own.isin(lines)
    return found
