"""How a live chart keeps the viewer's zoom: the same specification each time, with the data beside it.

Altair and Streamlit both name inline data by a hash of its content, so every refresh would be a new specification and
the browser would draw the chart afresh. Here datasets are named by their place, and only they change.

A mark of a live chart is its row's, by the row's number: the browser then moves the marks that it has. Lines and areas
have none, so each refresh makes their points anew; Vega lets go of the old ones at once, unless rows come by way of a copy
(a field's groups, a parsed or computed field): then it keeps them until ten thousand have come together. So times are sent
as numbers, and not parsed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

_ROW = "_row"


def live(chart: Any) -> tuple[dict[str, Any], dict[str, pd.DataFrame]]:
    """As ``split``, for a page that goes on: marks are kept from one refresh to the next."""
    specification, frames = split(chart)
    return _kept(specification), {name: numbered(frame) for name, frame in frames.items()}


def numbered(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame as the specifications of ``live`` and ``placed`` want it."""
    return frame.assign(**{_ROW: np.arange(len(frame))})


def split(chart: Any) -> tuple[dict[str, Any], dict[str, pd.DataFrame]]:
    """The Vega-Lite specification with named data, and the frame behind each name; the chart is left as it was."""
    frames: dict[str, pd.DataFrame] = {}
    specification = _named(chart, frames).to_dict()
    # Altair's own theme: fonts, sizes and colors belong to the page that shows it.
    specification.pop("config", None)
    return specification, frames


def placed(chart: Any, frames: Sequence[pd.DataFrame]) -> tuple[dict[str, Any], dict[str, int]]:
    """As ``live``, with the place among ``frames`` for each name of data: to be kept, and drawn with other frames.

    What is drawn are the frames ``numbered``.
    """
    specification, named = split(chart)
    places = {id(frame): place for place, frame in enumerate(frames)}
    return _kept(specification), {name: places[id(frame)] for name, frame in named.items()}


def _kept(specification: dict[str, Any]) -> dict[str, Any]:
    """Every mark that is of one row, in all layers and parts, is joined to it by the row's number; nothing is parsed."""
    found: dict[str, Any] = {
        name: [_kept(part) for part in value] if name in ("layer", "hconcat", "vconcat", "concat") else value
        for name, value in specification.items()
    }
    if "name" in found.get("data", {}):
        found["data"] = {**found["data"], "format": {"parse": None}}
    mark = found.get("mark", {})
    # A key parts lines and areas as a color does: each row would be a line of its own.
    if mark and (mark if isinstance(mark, str) else mark["type"]) not in ("line", "area", "trail"):
        found["encoding"] = {**found.get("encoding", {}), "key": {"field": _ROW}}
    return found


def _named(chart: Any, frames: dict[str, pd.DataFrame]) -> Any:
    copy = chart.copy(deep=False)
    if isinstance(copy.data, pd.DataFrame):
        name = next((known for known, frame in frames.items() if frame is copy.data), f"data{len(frames)}")
        frames[name] = copy.data
        copy.data = alt.NamedData(name)
    if isinstance(copy, alt.LayerChart):
        copy.layer = [_named(layer, frames) for layer in copy.layer]
    return copy
