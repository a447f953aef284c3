"""A chart as a static picture: SVG that takes its words' color and font from the page around it, and loads nothing.

Vega's own converter draws it. No script is left in the file: it opens from an e-mail, offline, and under any policy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import pandas as pd
import vl_convert

from monitor.charts import elements

#: Wide enough for a day of minutes; the page scales it down.
WIDTH_PX = 980

_CONFIG: dict[str, Any] = {
    "background": None,
    "font": "sans-serif",
    # What a mark means stands in the text beside the chart; a name for each of 10,000 cells would be most of the file.
    "aria": False,
    "view": {"stroke": None},
    "axis": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "titleFontWeight": "normal",
        "domainColor": "currentColor",
        "domainOpacity": 0.35,
        "tickColor": "currentColor",
        "tickOpacity": 0.35,
        "gridColor": "currentColor",
        "gridOpacity": 0.12,
        "labelFontSize": 11,
    },
    "legend": {"labelColor": "currentColor", "titleColor": "currentColor", "labelFontSize": 11, "columnPadding": 24},
    "text": {"color": "currentColor"},
    "range": {
        "category": list(elements.SERIES),
        "heatmap": list(elements.BUSY),
        "ramp": list(elements.BUSY),
    },
}
_LONG = re.compile(r"(\d\.\d)\d+")
_RGB = re.compile(r"rgb\((\d+), (\d+), (\d+)\)")
_XMLNS = re.compile(r' xmlns(:\w+)?="[^"]*"')
# Text between tags is left alone: it is a name or a figure.
_TAG = re.compile(r"<[^>]+>")
_PLACES = re.compile(r'((?: d| transform| x\d?| y\d?| width| height)=")([^"]*)"')


def svg(chart: Any, name: str) -> str:
    """The chart, its times in UTC; ``name`` keeps its inner names apart from those of other charts on a page."""
    return picture(*elements.split(chart), name)


def picture(specification: dict[str, Any], frames: Mapping[str, pd.DataFrame], name: str) -> str:
    """As ``svg``, of a specification with the frames behind the names in it; the specification is sized on the way."""
    _sized(specification)
    # A file shows the same hours wherever it is made and opened.
    elements.in_utc(specification)
    rows = ",".join(
        f"{json.dumps(key)}:{frame.to_json(orient='records', date_format='iso', date_unit='ms')}"
        for key, frame in frames.items()
    )
    whole = f'{json.dumps(specification)[:-1]},"datasets":{{{rows}}}}}'
    drawn: str = vl_convert.vegalite_to_svg(whole, config=_CONFIG, allowed_base_urls=[])
    return _slim(drawn, name)


def _sized(specification: dict[str, Any]) -> None:
    parts = specification.get("vconcat")
    for view in parts if parts else [specification]:
        view["width"] = WIDTH_PX


def _slim(drawn: str, name: str) -> str:
    """Without what a page needs not: names of the format (they look like addresses), digits beyond a tenth of a pixel."""

    def shorter(found: re.Match[str]) -> str:
        tag = _PLACES.sub(lambda place: place[1] + _LONG.sub(r"\1", place[2]) + '"', _XMLNS.sub("", found[0]))
        tag = _RGB.sub(lambda rgb: "#{:02x}{:02x}{:02x}".format(*map(int, rgb.groups())), tag)
        return tag.replace(' id="', f' id="{name}-').replace("url(#", f"url(#{name}-")

    slim = _TAG.sub(shorter, drawn)
    # Its size is a shape: the page gives the width.
    return re.sub(r'^(<svg [^>]*?) width="[\d.]+" height="[\d.]+"', r"\1", slim, count=1)
