"""How did a metric go over a job, in a line as small as a word? Means over its nodes, a few points."""

from __future__ import annotations

import pandas as pd

#: As many as a table's cell has room for.
POINTS = 36


def sparkline(metrics: pd.DataFrame, metric: str) -> tuple[float | None, ...]:
    """Percent of one device, mean over the nodes, in equal pieces of time; None is a piece without data."""
    rows = metrics.loc[metrics["metric"] == metric, ["timestamp", "value_pct"]]
    if rows.empty:
        return ()
    first, last = rows["timestamp"].min(), rows["timestamp"].max()
    length_s = (last - first).total_seconds()
    if length_s <= 0:
        return (float(rows["value_pct"].mean()),)
    place = ((rows["timestamp"] - first).dt.total_seconds() / length_s * POINTS).clip(upper=POINTS - 1).astype(int)
    means = rows["value_pct"].groupby(place).mean()
    # Points further apart than a piece is long leave pieces empty that nothing is missing from.
    if len(means) < POINTS // 2:
        return tuple(float(each) for each in means)
    values = means.reindex(range(POINTS))
    return tuple(None if pd.isna(each) else float(each) for each in values)
