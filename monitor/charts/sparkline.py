"""A metric over a job in a line as small as a word: means over its nodes, a few points, gaps left open."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence

import pandas as pd

from monitor.charts.colors import BRUSH, NO_DATA

#: As many as a table's cell has room for.
POINTS = 36

_WIDTH, _HEIGHT, _EDGE = 48.0, 25.0, 1.0
# Drawn so much larger than it is shown: a table takes pictures as they come, also on a screen of fine dots.
_SCALE = 3


def sparkline(metrics: pd.DataFrame, metric: str) -> tuple[float | None, ...]:
    """Percent of one device, mean over the nodes, in equal pieces of time; None is a piece without data."""
    rows = metrics.loc[metrics["metric"] == metric, ["timestamp", "value_pct", "period_s"]]
    if rows.empty:
        return ()
    first, last = rows["timestamp"].min(), rows["timestamp"].max()
    length_s = (last - first).total_seconds()
    if length_s <= 0:
        return (float(rows["value_pct"].mean()),)
    # Pieces shorter than the metric's period would be empty where nothing is missing.
    period = rows["period_s"].max()
    pieces = POINTS if pd.isna(period) else min(POINTS, int(length_s / period) + 1)
    place = ((rows["timestamp"] - first).dt.total_seconds() / length_s * pieces).clip(upper=pieces - 1).astype(int)
    means = rows["value_pct"].groupby(place).mean().reindex(range(pieces))
    return tuple(None if pd.isna(each) else float(each) for each in means)


def picture(values: Sequence[float | None]) -> str | None:
    """The line from 0 to 100 % as the address of an SVG picture; None where there are no two values to draw.

    A table's own line charts know no gaps: they would need them filled or joined.
    """
    if sum(each is not None for each in values) < 2:
        return None
    across = (_WIDTH - 2 * _EDGE) / (len(values) - 1)
    path, pen_is_down = [], False
    for place, each in enumerate(values):
        if each is not None:
            x, y = _EDGE + place * across, _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * min(max(each, 0.0), 100.0) / 100
            # A value between two gaps is a dot: a line to where it is, with round ends.
            path.append(f"{'L' if pen_is_down else 'M'}{x:.1f} {y:.1f}" + ("" if pen_is_down else "h0"))
        pen_is_down = each is not None
    drawn = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH * _SCALE:.0f}" height="{_HEIGHT * _SCALE:.0f}" '
        f'viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" fill="none" stroke-linecap="round" stroke-linejoin="round">'
        f'<path d="M0 {_HEIGHT - 0.4:g}H{_WIDTH:g}" stroke="{NO_DATA}" stroke-width=".5" stroke-opacity=".6"/>'
        f'<path d="{"".join(path)}" stroke="{BRUSH}" stroke-width="1"/></svg>'
    )
    return f"data:image/svg+xml;base64,{b64encode(drawn.encode()).decode()}"
