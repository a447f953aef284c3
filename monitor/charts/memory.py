"""What fills a GPU, and does it fit? A bar by component for the start and one for the change, against the device's limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import pandas as pd

from monitor.charts.colours import LIMIT, MEMORY_PARTS, NOT_SPLIT, WORDS

#: Below the first share of the limit a change fits, above the second it does not.
SURE_SHARE, HOPELESS_SHARE = 0.85, 1.10
BAR_PX = 38
HEIGHT = 350
# Whisker and whole stand below their bar.
_BELOW_PX = BAR_PX / 2 + 12


@dataclass(frozen=True, slots=True)
class Filling:
    """One bar: GiB by component where they are known; ``low``, ``expected`` and ``high`` of the whole, which may have been
    measured and then differ from the components' sum."""

    name: str
    parts: Mapping[str, float]
    low_gib: float | None = None
    expected_gib: float | None = None
    high_gib: float | None = None

    @property
    def lane(self) -> str:
        """Its name and its whole: the two lines at its left."""
        return self.name if self.expected_gib is None else f"{self.name}|{self.expected_gib:.1f} GiB"


def parts(fillings: Sequence[Filling]) -> pd.DataFrame:
    """Rows ``bar order part from_gib to_gib gib``; a whole that nothing divides is one part."""
    rows = []
    for order, filling in enumerate(fillings):
        split = dict(filling.parts)
        if not split and filling.expected_gib is not None:
            split = {NOT_SPLIT: filling.expected_gib}
        at = 0.0
        # In one order, whatever the order of the equations.
        for part in [*(name for name in MEMORY_PARTS if name in split), *(split.keys() - MEMORY_PARTS.keys())]:
            rows.append((filling.lane, order, part, at, at + split[part], split[part]))
            at += split[part]
    columns = {
        "bar": "str",
        "order": "int64",
        "part": "str",
        "from_gib": "float64",
        "to_gib": "float64",
        "gib": "float64",
    }
    return pd.DataFrame(rows, columns=list(columns)).astype(columns)


def wholes(fillings: Sequence[Filling]) -> pd.DataFrame:
    """Rows ``bar order low_gib expected_gib high_gib`` of the bars whose whole is known; without a range all three are one."""
    rows = [
        (
            filling.lane,
            order,
            filling.expected_gib if filling.low_gib is None else filling.low_gib,
            filling.expected_gib,
            filling.expected_gib if filling.high_gib is None else filling.high_gib,
        )
        for order, filling in enumerate(fillings)
        if filling.expected_gib is not None
    ]
    columns = {"bar": "str", "order": "int64"} | dict.fromkeys(("low_gib", "expected_gib", "high_gib"), "float64")
    return pd.DataFrame(rows, columns=list(columns)).astype(columns)


def limits(limit_gib: float | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The limit, and the two lines around it; both empty where it is not known."""
    known = [] if limit_gib is None else [limit_gib]
    at = pd.DataFrame({"at_gib": known, "label": [f"limit {gib:,.0f} GiB" for gib in known]})
    around = [(share * gib, f"{100 * share:.0f} %") for gib in known for share in (SURE_SHARE, HOPELESS_SHARE)]
    dtypes = {"at_gib": "float64", "label": "str"}
    return at.astype(dtypes), pd.DataFrame(around, columns=["at_gib", "label"]).astype(dtypes)


def memory_bars(shown: pd.DataFrame, whole: pd.DataFrame, limit: pd.DataFrame, around: pd.DataFrame) -> alt.LayerChart:
    """Stacked bars, out of ``parts``, with the range of the whole as a whisker below (``wholes``), the limit as a line, 85
    and 110 % of it dashed (``limits``)."""
    where = alt.Y(
        "bar:N",
        sort=alt.EncodingSortField("order", op="min"),
        # A bar's name and, below it, its whole.
        axis=alt.Axis(title=None, ticks=False, domain=False, labelExpr="split(datum.value, '|')", labelFontWeight=600),
    )
    gib = alt.Axis(title="GiB on the fullest GPU", grid=False, tickCount=6)
    bars = (
        alt.Chart(shown)
        .mark_bar(height=BAR_PX, stroke="white", strokeWidth=0.7)
        .encode(
            x=alt.X("from_gib:Q", axis=gib, scale=alt.Scale(zero=True)),
            x2="to_gib:Q",
            y=where,
            color=alt.Color(
                "part:N",
                scale=alt.Scale(domain=list(MEMORY_PARTS), range=list(MEMORY_PARTS.values())),
                legend=alt.Legend(title=None, orient="top", columns=3, symbolType="square", symbolStrokeWidth=0),
            ),
            tooltip=[
                alt.Tooltip("part:N", title="holds"),
                alt.Tooltip("gib:Q", title="GiB", format=".2f"),
            ],
        )
    )
    told = [
        alt.Tooltip("expected_gib:Q", title="expected, GiB", format=".1f"),
        alt.Tooltip("low_gib:Q", title="at least, GiB", format=".1f"),
        alt.Tooltip("high_gib:Q", title="at most, GiB", format=".1f"),
    ]
    whisker = (
        alt.Chart(whole)
        .mark_rule(color=WORDS, strokeWidth=2, yOffset=_BELOW_PX)
        .encode(x=alt.X("low_gib:Q"), x2="high_gib:Q", y=where, tooltip=told)
    )
    ends = [
        alt.Chart(whole)
        .mark_tick(color=WORDS, thickness=2, size=8, yOffset=_BELOW_PX)
        .encode(x=alt.X(f"{end}:Q"), y=where, tooltip=told)
        for end in ("low_gib", "high_gib")
    ]
    expected = (
        alt.Chart(whole)
        .mark_point(shape="diamond", filled=True, color=WORDS, size=70, opacity=1, yOffset=_BELOW_PX)
        .encode(x=alt.X("expected_gib:Q"), y=where, tooltip=told)
    )
    dashed = (
        alt.Chart(around)
        .mark_rule(color=LIMIT, strokeDash=[4, 3], opacity=0.7)
        .encode(x=alt.X("at_gib:Q"), tooltip=[alt.Tooltip("label:N", title="of the GPU's memory")])
    )
    line = (
        alt.Chart(limit)
        .mark_rule(color=LIMIT, strokeWidth=2)
        .encode(x=alt.X("at_gib:Q"), tooltip=[alt.Tooltip("label:N", title="the GPU's memory")])
    )
    sign = (
        alt.Chart(limit)
        .mark_text(color=LIMIT, fontWeight=600, align="right", dx=-5, baseline="top")
        .encode(x=alt.X("at_gib:Q"), y=alt.value(0), text="label:N")
    )
    return alt.layer(bars, dashed, line, whisker, *ends, expected, sign).properties(height=HEIGHT)
