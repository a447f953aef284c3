"""How a live chart keeps the viewer's zoom: the same specification each time, with the data beside it.

Altair and Streamlit both name inline data by a hash of its content, so every refresh would be a new specification and
the browser would draw the chart afresh. Here datasets are named by their place, and only they change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd


def split(chart: Any) -> tuple[dict[str, Any], dict[str, pd.DataFrame]]:
    """The Vega-Lite specification with named data, and the frame behind each name; the chart is left as it was."""
    frames: dict[str, pd.DataFrame] = {}
    specification = _named(chart, frames).to_dict()
    # Altair's own theme: fonts, sizes and colours belong to the page that shows it.
    specification.pop("config", None)
    return specification, frames


def placed(chart: Any, frames: Sequence[pd.DataFrame]) -> tuple[dict[str, Any], dict[str, int]]:
    """The specification and, by name of its data, the place among ``frames``: to be kept, and drawn with other frames."""
    specification, named = split(chart)
    places = {id(frame): place for place, frame in enumerate(frames)}
    return specification, {name: places[id(frame)] for name, frame in named.items()}


def _named(chart: Any, frames: dict[str, pd.DataFrame]) -> Any:
    copy = chart.copy(deep=False)
    if isinstance(copy.data, pd.DataFrame):
        name = next((known for known, frame in frames.items() if frame is copy.data), f"data{len(frames)}")
        frames[name] = copy.data
        copy.data = alt.NamedData(name)
    if isinstance(copy, alt.LayerChart):
        copy.layer = [_named(layer, frames) for layer in copy.layer]
    return copy
