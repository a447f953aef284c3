"""Where in a chart is what a finding is about? A band over its span, on top of any chart over time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import altair as alt
import pandas as pd

from monitor.charts.colours import MARKED


def marked(chart: alt.LayerChart, spans: Sequence[tuple[datetime, datetime]], height: int) -> alt.LayerChart:
    """The chart, small, with each span as a framed band; a span without length is a line.

    Over a chart that speaks by its colors the band is a frame alone.
    """
    coloured = any(isinstance(layer.mark, alt.MarkDef) and layer.mark.type == "rect" for layer in chart.layer)
    frame = pd.DataFrame(spans, columns=["from", "to"]).astype(dict.fromkeys(("from", "to"), "datetime64[ms, UTC]"))
    band = (
        alt.Chart(frame)
        .mark_rect(color=MARKED, fillOpacity=0.0 if coloured else 0.14, stroke=MARKED, strokeWidth=2, tooltip=None)
        .encode(x=alt.X("from:T"), x2="to:T")
    )
    return alt.layer(*chart.layer, band).properties(height=height)
