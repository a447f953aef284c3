"""Who wrote an event, and when: its rank where only the text names it, and one clock for lines with and without a time."""

from __future__ import annotations

import pandas as pd

# "[Rank 3]" of c10d and Megatron, "[rank3]:" of PyTorch, "rank=3" of an event's fixed form.
_NAMED = r"\[[Rr]ank ?(\d{1,6})\]|\brank=(\d{1,6})\b"

_EPOCH = pd.Timestamp(0, tz="UTC")


def with_writers(events: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """The events with ``rank`` filled from their texts where it is not known, and then ``node`` from other lines of the
    same rank."""
    unknown = events["rank"].isna()
    if not unknown.any():
        return events
    named = events.loc[unknown, "text"].str.extract(_NAMED)
    ranks = pd.to_numeric(named[0].fillna(named[1])).astype("Int64").dropna()
    out = events.copy()
    out.loc[ranks.index, "rank"] = ranks
    both = pd.concat([frame.loc[frame["rank"].notna(), ["rank", "node"]] for frame in (steps, events)])
    places = both[both["node"] != ""].drop_duplicates("rank").set_index("rank")["node"]
    placed = out.loc[ranks.index, "rank"].map(places).dropna()
    out.loc[placed.index, "node"] = placed
    return out


def moments(*frames: pd.DataFrame) -> tuple[list[pd.Series], bool]:
    """A sortable time (ms) for the rows of each frame, and whether it orders rows of different streams.

    A line without a time has that of the newest line before it in its stream, else of the first one after it. Times
    within a stream never fall: there the order of the lines counts. Where a stream has no times at all, the rows of each
    stream are in order and nothing is said about different streams.
    """
    rows = pd.concat([frame[["stream", "line", "timestamp"]] for frame in frames], keys=range(len(frames)))
    rows = rows.sort_values(["stream", "line"], kind="stable")
    millis = (rows["timestamp"] - _EPOCH).dt.total_seconds() * 1000
    streams = rows["stream"]
    known = millis.groupby(streams, observed=True).cummax().groupby(streams, observed=True).ffill()
    known = known.groupby(streams, observed=True).bfill()
    comparable = not known.isna().any() or streams.nunique() <= 1
    known = known.fillna(0.0)
    return [
        known.xs(place) if len(frame) else pd.Series(dtype="float64") for place, frame in enumerate(frames)
    ], comparable
