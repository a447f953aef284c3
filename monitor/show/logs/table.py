"""The lines of a log as a table: when, who, which level, the line and what was recognized in it; a click shows the
whole line."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from datetime import datetime, tzinfo

import pandas as pd
import streamlit as st

from monitor.export.tables import as_csv
from monitor.review.log_lines import as_it_is, key_of
from monitor.show.grid import Column, Row, show_grid
from monitor.show.logs import address as log_address
from monitor.show.logs.address import View
from monitor.show.trouble import plain
from monitor.words import zone_name

TABLE_PX = 560
# Beside a line that is shown whole, so that both are seen at once.
_BESIDE_PX = 400
_DETAIL_PX = 260
# A line that fits the detail as it is needs no box of its own.
_LONG_LINE = 2_000
_TONES = {"error": "error", "warning": "warning"}


def show_table(
    view: View, shown: pd.DataFrame, marks: Sequence[str], zone: tzinfo, nodes: int, chosen: int | None, tail: bool
) -> None:
    """The table; ``marks`` of each row, ``chosen`` the place of the line that is looked at.

    A ``tail`` is scrolled to its end and stays there while lines come, unless the reader scrolls up.
    """
    keys = _keys(shown)
    looked_at = None if chosen is None else keys[chosen]

    def opened(key: str) -> None:
        # What is looked at already is let go.
        place = None if key == looked_at or key not in keys else keys.index(key)
        log_address.move(event=None if place is None else key_of(shown, place))

    show_grid(
        f"logs-table-{zlib.crc32(repr((view.job, view.ask, view.wanted)).encode()):08x}",
        _columns(shown, any(marks), nodes),
        _rows(shown, keys, marks, zone, nodes),
        alt=f"{len(shown):,} log lines by time. Arrow keys move, Enter shows a line whole.",
        height_px=TABLE_PX if chosen is None else _BESIDE_PX,
        opened=opened,
        looked_at=looked_at,
        ends_in_view=tail and chosen is None,
        tight=True,
    )


def _keys(shown: pd.DataFrame) -> list[str]:
    """One a line; the same text at the same moment is told apart by its turn."""
    found = shown["time"].astype("int64").astype("str") + "-" + shown["digest"].astype("str")
    turn = found.groupby(found).cumcount()
    return [f"{key}-{again}" if again else key for key, again in zip(found, turn, strict=True)]


def _one_day(shown: pd.DataFrame) -> bool:
    return bool(shown["time"].iloc[-1] - shown["time"].iloc[0] < pd.Timedelta(hours=20))


def _columns(shown: pd.DataFrame, marked: bool, nodes: int) -> list[Column]:
    """What a narrow window has no room for leaves; the line stays."""
    found = [Column("time", "Time", "98px" if _one_day(shown) else "146px")]
    if nodes > 1:
        found.append(Column("node", "Node", "70px", room_px=560))
    if shown["rank"].notna().any():
        found.append(Column("rank", "Rank", "52px", "number", room_px=900))
    found += [Column("level", "Level", "72px", room_px=760), Column("line", "Line", "minmax(200px,1fr)", "code")]
    found.append(Column("known", "Recognized", "180px", help="What Trainwatch read from the line", room_px=1000))
    if marked:
        found.append(
            Column(
                "mark", "Found", "140px", help="Findings that quote the line, phases that start with it", room_px=860
            )
        )
    return found


def _rows(shown: pd.DataFrame, keys: Sequence[str], marks: Sequence[str], zone: tzinfo, nodes: int) -> list[Row]:
    form = "%H:%M:%S" if _one_day(shown) else "%d %b %H:%M:%S"
    times = shown["time"].dt.tz_convert(zone)
    when = times.dt.strftime(form) + "." + times.dt.strftime("%f").str[:3]
    columns = [when]
    if nodes > 1:
        columns.append(shown["node"])
    if shown["rank"].notna().any():
        columns.append(shown["rank"].astype("str").where(shown["rank"].notna(), ""))
    columns += [shown["level"], shown["line"], shown["known"]]
    if any(marks):
        columns.append(pd.Series(marks))
    tones = shown["level"].map(_TONES).fillna("")
    return [Row(key, cells, tone=tone) for key, tone, *cells in zip(keys, tones, *columns, strict=True)]


def show_line(row: pd.Series, mark: str, zone: tzinfo) -> None:
    """One line as it is, with all that is known of it."""
    at = row["time"].to_pydatetime()
    rank = "" if pd.isna(row["rank"]) else f"rank {row['rank']}"
    said = (precise(at, zone), row["node"], rank, row["level"], row["known"], mark)
    with st.container(border=True):
        st.markdown(plain(" · ".join(part for part in said if part)))
        whole = as_it_is(row["whole"])
        st.code(whole, language=None, wrap_lines=True, height=_DETAIL_PX if len(whole) > _LONG_LINE else "content")
        notes = [f"Stream {plain(row['stream'])}. This page's address leads back to this line."]
        if row["masked"]:
            notes.insert(0, "Anything that looks like a secret is masked as ***.")
        if len(whole) > _LONG_LINE:
            notes.insert(0, f"{len(whole):,} characters.")
        st.caption(" ".join(notes))


def precise(at: datetime, zone: tzinfo) -> str:
    """``25 Sep 2026, 14:05:03.120 CEST``."""
    return f"{precise_day(at, zone)} {zone_name(at, zone)}"


def precise_day(at: datetime, zone: tzinfo) -> str:
    """``25 Sep 2026, 14:05:03.120``."""
    return f"{at.astimezone(zone):%d %b %Y}, {precise_time(at, zone)}".lstrip("0")


def precise_time(at: datetime, zone: tzinfo) -> str:
    """``14:05:03.120``."""
    return f"{at.astimezone(zone):%H:%M:%S}.{at.microsecond // 1000:03d}"


def csv_text(shown: pd.DataFrame, marks: Sequence[str]) -> str:
    """The lines that are shown, whole, with their times in UTC."""
    frame = shown.rename(columns={"known": "recognized", "line": "_cell", "whole": "line"}).assign(mark=list(marks))
    return as_csv(frame[["time", "stream", "node", "rank", "level", "recognized", "mark", "line"]])
