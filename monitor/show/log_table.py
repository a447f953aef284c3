"""The lines of a log as a table: when, who, how loud, what was recognised, and the line; a click shows it whole."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Any

import pandas as pd
import streamlit as st

from monitor.export.tables import as_csv
from monitor.review.log_filter import key_of
from monitor.review.log_lines import as_it_is
from monitor.show import log_address
from monitor.show.plain import plain
from monitor.words import zone_name

ROW_PX = 28
TABLE_PX = 520
# Beside a line that is shown whole, so that both are seen at once.
_BESIDE_PX = 380
# Wider than what is there: the other columns keep their widths then.
_LINE_PX = 1400
_DETAIL_PX = 260
# A line that fits the detail as it is needs no box of its own.
_LONG_LINE = 2_000
_HERE = "▶"


def show_table(
    shown: pd.DataFrame, marks: Sequence[str], zone: tzinfo, nodes: int, chosen: int | None, key: str, tail: bool
) -> None:
    """The table; ``marks`` of each row, ``chosen`` the place of the line that is looked at.

    A ``tail`` is scrolled to its bottom and stays there while lines come, unless the reader scrolls up.
    """
    columns = _columns(shown, marks, zone, nodes, chosen)
    name = f"logs-table-{key}"
    keys = [key_of(shown, place) for place in range(len(shown))] if len(shown) <= 400 else None

    def looked_at() -> None:
        rows = st.session_state[name]["selection"]["rows"]
        if not rows:
            log_address.move(event=None)
        elif rows[0] < len(shown):
            log_address.move(event=keys[rows[0]] if keys else key_of(shown, rows[0]))

    def draw(height: int) -> None:
        st.dataframe(
            columns,
            hide_index=True,
            row_height=ROW_PX,
            height=height,
            key=name,
            on_select=looked_at,
            selection_mode="single-row",
            selection_default={"selection": {"rows": [] if chosen is None else [chosen]}},
            column_config=_config(columns, shown),
            placeholder="",
            alt=f"{len(shown):,} log lines in time",
        )

    most_px = TABLE_PX if chosen is None else _BESIDE_PX
    whole_px = (len(shown) + 1) * ROW_PX + 2
    if tail and whole_px > most_px:
        with st.container(height=most_px, border=False, autoscroll=True, key=f"{name}-tail"):
            draw(whole_px)
    else:
        draw(min(whole_px, most_px))


def _columns(shown: pd.DataFrame, marks: Sequence[str], zone: tzinfo, nodes: int, chosen: int | None) -> pd.DataFrame:
    margin = list(marks)
    if chosen is not None:
        margin[chosen] = f"{_HERE} {margin[chosen]}".rstrip()
    columns: dict[str, Any] = {"Mark": margin, "Time": shown["time"].dt.tz_convert(zone)}
    if nodes > 1:
        columns["Node"] = shown["node"]
    if shown["rank"].notna().any():
        columns["Rank"] = shown["rank"]
    return pd.DataFrame(
        {**columns, "Level": shown["level"], "Recognised": shown["known"], "Line": shown["line"]}
    ).reset_index(drop=True)


def _config(columns: pd.DataFrame, shown: pd.DataFrame) -> dict[str, Any]:
    one_day = shown["time"].iloc[-1] - shown["time"].iloc[0] < pd.Timedelta(hours=20)
    marked = any(columns["Mark"])
    return {
        "Mark": st.column_config.TextColumn(
            "", width=180 if marked else 24, help="Findings that quote the line, phases that begin"
        ),
        "Time": st.column_config.DatetimeColumn(
            format="HH:mm:ss.SSS" if one_day else "D MMM HH:mm:ss.SSS", width=100 if one_day else 150
        ),
        "Node": st.column_config.TextColumn(width=66),
        "Rank": st.column_config.NumberColumn(width=50, format="%d"),
        "Level": st.column_config.TextColumn(width=64),
        "Recognised": st.column_config.TextColumn(width=210),
        "Line": st.column_config.TextColumn(width=_LINE_PX),
    }


def show_line(row: pd.Series, mark: str, zone: tzinfo) -> None:
    """One line as it is, with all that is known of it."""
    at = row["time"].to_pydatetime()
    rank = "" if pd.isna(row["rank"]) else f"rank {row['rank']}"
    said = (precise(at, zone), row["node"], rank, row["level"], row["known"], mark)
    with st.container(border=True):
        st.markdown(plain(" · ".join(part for part in said if part)))
        whole = as_it_is(row["whole"])
        st.code(whole, language=None, wrap_lines=True, height=_DETAIL_PX if len(whole) > _LONG_LINE else "content")
        notes = [f"Stream {plain(row['stream'])}. The address of this page leads back to this line."]
        if row["masked"]:
            notes.insert(0, "What looks like a secret is masked as ***.")
        if len(whole) > _LONG_LINE:
            notes.insert(0, f"{len(whole):,} characters.")
        st.caption(" ".join(notes))


def precise(at: datetime, zone: tzinfo) -> str:
    """``25 Sep 2026, 14:05:03.120 CEST``."""
    local = at.astimezone(zone)
    return f"{local:%d %b %Y, %H:%M:%S}.{at.microsecond // 1000:03d} {zone_name(at, zone)}".lstrip("0")


def csv_text(shown: pd.DataFrame, marks: Sequence[str]) -> str:
    """The lines that are shown, whole, with their times in UTC."""
    frame = shown.rename(columns={"known": "recognised", "line": "_cell", "whole": "line"}).assign(mark=list(marks))
    return as_csv(frame[["time", "stream", "node", "rank", "level", "recognised", "mark", "line"]])
