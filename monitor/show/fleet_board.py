"""The Fleet page: where the GPU-hours of the archived jobs went. The answer, the bars that sum to the bill, the weeks, the
failures, and the jobs behind any part."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode

import pandas as pd
import streamlit as st
from streamlit import column_config as config

from monitor.charts.fleet import owners_bars, owners_frame, weeks_bars, weeks_frame
from monitor.choices import BY
from monitor.diagnose.headline import status_word
from monitor.fleet import window as windows
from monitor.fleet.facts import DEFINITIONS, USES, WASTE, Use
from monitor.fleet.sections import amount, cause_words, hours
from monitor.fleet.window import DateWindow
from monitor.installed import PROGRAM
from monitor.model.job import account_of, region_of
from monitor.review.fleet_facts import MOST_JOBS, FleetTables
from monitor.settings import ARCHIVE_SHOWN
from monitor.show import address, data, data_fleet
from monitor.show.drawing import draw_frames
from monitor.show.trouble import part, plain, show_error
from monitor.words import DASH, count, percent, phase, usd

_TIMES = {"7d": "7 days", "4w": "4 weeks", "13w": "13 weeks", "52w": "52 weeks"}
_DAYS = {"7d": 7, "4w": 28, "13w": 91, "52w": 364}
_FIRST_TIME = "4w"
_ALL_WASTE = "all that was wasted"
# More bars than that are no ranking any more.
_MOST_OWNERS = 12
_OTHERS = "all others"
# Ranked parts of the waste; the others are one row.
_MOST_PARTS = 12
# Of an amount, the instance-hours in it of which it is not known.
_MISSING = {"usd": "unpriced_instance_hours", "gpu_hours": "uncounted_instance_hours"}
# What legend and axis take of a chart on a page.
_AROUND_PX = 150


def show_state(state: data_fleet.FleetProgress) -> None:
    """What is under way or in the way; of an archive that is empty, how it is filled."""
    if state.error is not None:
        show_error(state.error, "fleet", "Reading the archive")
    if state.progress:
        st.caption(f":material/hourglass_empty: {plain(state.progress)}…")
    if not state.generation and not state.error:
        st.skeleton(96)
        st.skeleton(240)
    elif state.jobs == 0 and not state.progress:
        st.info(
            f"**No archive yet.** This page is about the jobs of the archive {plain(state.archive)}, which is empty. Fill it, "
            f"now and every night: `{PROGRAM} archive --all --since 14d`, or `{PROGRAM} nightly`.",
            icon=":material/inventory_2:",
        )
    if state.unread:
        st.caption(
            f":material/warning: {count(state.unread, 'job')} of the archive could not be read; they are not in here."
        )


def show_choice() -> tuple[DateWindow, str]:
    """Which time, by what; what is chosen stands in the address."""
    time, by = address.value("time"), address.value("by")
    time, by = time if time in _TIMES else _FIRST_TIME, by if by in BY else BY[0]
    address.shown("time", time)
    address.shown("by", by)
    with st.container(horizontal=True):
        st.segmented_control("Time", list(_TIMES), format_func=lambda name: _TIMES[name], **address.bound("time"))
        st.segmented_control("By", list(BY), format_func=str.capitalize, **address.bound("by"))
    return windows.since(timedelta(days=_DAYS[time]), datetime.now(UTC)), by


def show_fleet(found: data_fleet.Fleet, window: DateWindow, by: str) -> None:
    tables = data_fleet.tables(found, window, by)
    if not tables.jobs:
        st.info(f"No archived job ran in {window.name}. Choose a longer time.", icon=":material/info:")
        return
    unit = _unit(tables)
    _show_answer(tables, by, unit)
    part(None, "Where it went", _show_bars, tables, by, unit)
    part(None, "By cause", _show_causes, tables, by, unit)
    left, right = st.columns(2, gap="large")
    with left:
        part(None, "Week by week", _show_weeks, tables, unit)
    with right:
        part(None, "Failures", _show_failures, tables, unit)
    part(None, "Jobs", _show_jobs, found, window, by, tables, unit)


def _unit(tables: FleetTables) -> str:
    """What everything is measured in: USD where a price is known, else hours of GPUs or, without any, of instances."""
    totals = tables.by_owner[["usd", "gpu_hours"]].sum()
    return "usd" if totals["usd"] > 0 else "gpu_hours" if totals["gpu_hours"] > 0 else "instance_hours"


def _amount(value: float, unit: str) -> str:
    words = {"gpu_hours": "GPU-hours", "instance_hours": "instance-hours"}
    return usd(value) if unit == "usd" else f"{hours(value)} {words[unit]}"


def _title(unit: str) -> str:
    return {"usd": "USD", "gpu_hours": "GPU-hours", "instance_hours": "instance-hours"}[unit]


def _show_answer(tables: FleetTables, by: str, unit: str) -> None:
    rows = tables.by_owner
    total, uses = rows[unit].sum(), rows.groupby("use")[unit].sum()
    wasted = rows[rows["use"].isin(WASTE)]
    waste, unknown = wasted[unit].sum(), float(uses.get("unknown", 0.0))
    st.markdown(f"### {plain(_answer(wasted, waste, total, by, unit))}")
    said = f"{_amount(total, unit)} in {count(tables.jobs, 'job')}; {percent(100 * _part(uses, 'trained', total))} of it trained"
    said += f"; of {percent(100 * unknown / total)} nobody knows, which is neither" if unknown else ""
    gpu_hours = rows["gpu_hours"].sum()
    said += f". {hours(gpu_hours)} GPU-hours in all." if unit == "usd" and gpu_hours else "."
    missing = rows[_MISSING[unit]].sum() if unit in _MISSING else 0.0
    what = {"usd": "a known price", "gpu_hours": "a known number of GPUs"}.get(unit)
    said += f" {hours(missing)} instance-hours without {what} are in none of it." if missing else ""
    st.caption(plain(said))


def _answer(wasted: pd.DataFrame, waste: float, total: float, by: str, unit: str) -> str:
    if not waste:
        return "Nothing that is known to be wasted"
    worst = wasted.loc[wasted[unit].idxmax()]
    whose = {"untagged": f"jobs without a {by}"}.get(worst["owner"], f"{by} {worst['owner']}")
    return (
        f"{_amount(waste, unit)} bought nothing ({percent(100 * waste / total)}); the largest part is {worst['use']}, "
        f"{_amount(worst[unit], unit)} of {whose}"
    )


def _part(uses: pd.Series, use: str, total: float) -> float:
    return float(uses.get(use, 0.0)) / total if total else 0.0


def _ranked(tables: FleetTables, unit: str) -> list[str]:
    """Owners by what they wasted, then by what they used."""
    rows = tables.by_owner.assign(waste=lambda frame: frame[unit].where(frame["use"].isin(WASTE), 0.0))
    sums = rows.groupby("owner")[["waste", unit]].sum()
    return [str(name) for name in sums.sort_values(["waste", unit], ascending=False).index]


def _show_bars(tables: FleetTables, by: str, unit: str) -> None:
    order = _ranked(tables, unit)
    rows = tables.by_owner
    if len(order) > _MOST_OWNERS:
        kept = set(order[: _MOST_OWNERS - 1])
        rows = rows.assign(owner=rows["owner"].where(rows["owner"].isin(kept), _OTHERS))
        rows = rows.groupby(["owner", "use"], as_index=False)[[unit, "gpu_hours"]].sum()
        order = [*order[: _MOST_OWNERS - 1], _OTHERS]
    frame = owners_frame(list(zip(rows["owner"], rows["use"], rows[unit], rows["gpu_hours"], strict=True)))
    st.markdown(f"**By {by}, the most wasted first**")
    st.caption(
        plain(
            f"Each bar is all that was paid for, divided by what it was used for; together they are the bill, in {_title(unit)}."
        )
    )
    draw_frames(
        (f"chart-fleet-{by}", unit, *order),
        (frame,),
        lambda data: owners_bars(data, order, _title(unit), _AROUND_PX),
        f"{_title(unit)} by {by} and use; the figures are in the tables below",
    )
    with st.expander("What the uses mean", type="compact", icon=":material/menu_book:"):
        for use in USES:
            st.markdown(f"**{use}**: {plain(DEFINITIONS[use])}.")


def _show_weeks(tables: FleetTables, unit: str) -> None:
    rows = tables.by_week
    frame = weeks_frame(list(zip(rows["week"], rows["use"], rows[unit], strict=True)))
    st.markdown("**Week by week**")
    st.caption(plain(f"{_title(unit)} by use; weeks from Monday, UTC, the first and the last perhaps not whole."))
    draw_frames(
        ("chart-fleet-weeks", unit),
        (frame,),
        lambda data: weeks_bars(data, _title(unit)),
        f"{_title(unit)} a week, by use",
    )


def _show_failures(tables: FleetTables, unit: str) -> None:
    rows = tables.failures
    st.markdown("**Failures by first cause**")
    if rows.empty:
        st.caption("No job failed in this time.")
        return
    st.caption(
        plain(
            f"{count(int(rows['jobs'].sum()), 'job')}; what failed is the time after the last checkpoint that was seen."
        )
    )
    shown = pd.DataFrame(
        {
            "first cause": [cause_words(cause) for cause in rows["cause"]],
            "jobs": rows["jobs"],
            "failed": [_failed(row, unit) for row in rows.to_dict("records")],
        }
    )
    st.dataframe(shown, hide_index=True, key="fleet-failures")
    if rows["unknown_instance_hours"].any():
        st.caption("Not known: of jobs that made steps and were never seen to save.")


def _failed(row: Mapping[Hashable, Any], unit: str) -> str:
    value = row[unit]
    missing = row["unknown_instance_hours"] + (row[_MISSING[unit]] if unit in _MISSING else 0.0)
    return amount(_amount(value, unit), value, missing)


def _show_causes(tables: FleetTables, by: str, unit: str) -> None:
    """Waste by owner and cause, the largest first; with what trained and what is not known it sums to the bill."""
    rows, total = tables.parts, tables.parts[unit].sum()
    wasted = rows[rows["use"].isin(WASTE) & (rows[unit] > 0)].sort_values(
        [unit, "owner", "bucket"], ascending=[False, True, True]
    )
    ranked = [(row.owner, phase(row.bucket), row.use, getattr(row, unit)) for row in wasted[:_MOST_PARTS].itertuples()]
    others = wasted[_MOST_PARTS:]
    if len(others):
        ranked.append((f"{len(others):,} more", "", "wasted", others[unit].sum()))
    trained, unknown = (rows.loc[rows["use"] == use, unit].sum() for use in ("trained", "unknown"))
    nobody = f" and {_amount(unknown, unit)} of which nobody knows" if unknown else ""
    said = f"With {_amount(trained, unit)} that trained{nobody}, this is the bill: {_amount(total, unit)}."
    st.markdown(f"**What bought nothing, by {by} and cause**")
    st.caption(plain(f"The largest first, {_amount(wasted[unit].sum(), unit)} together. {said}"))
    if not ranked:
        return
    shares = [100 * row[3] / total for row in ranked]
    # The row of all others is not what the named ones are compared with.
    st.dataframe(
        pd.DataFrame(
            {
                by: [row[0] for row in ranked],
                "cause": [row[1] for row in ranked],
                "use": [row[2] for row in ranked],
                "amount": [_amount(row[3], unit) for row in ranked],
                "share of the bill": shares,
            }
        ),
        hide_index=True,
        height="content",
        key="fleet-causes",
        column_config={
            "share of the bill": config.ProgressColumn(
                "share of the bill", format="%.1f %%", min_value=0, max_value=max(shares[:_MOST_PARTS])
            )
        },
    )


def _show_jobs(found: data_fleet.Fleet, window: DateWindow, by: str, tables: FleetTables, unit: str) -> None:
    owners = _ranked(tables, unit)
    owner, use = address.value("owner"), address.value("use")
    owner = owner if owner in owners else None
    use = use if use in USES else None
    st.markdown("**The jobs behind it**")
    address.shown("owner", owner)
    address.shown("use", use)
    with st.container(horizontal=True):
        st.selectbox(by.capitalize(), owners, index=None, placeholder=f"any {by}", **address.bound("owner"))
        st.selectbox("Use", list(USES), index=None, placeholder=_ALL_WASTE, **address.bound("use"))
    uses: Sequence[Use] = [each for each in USES if each == use] or WASTE
    rows = data_fleet.jobs(found, window, by, owner, tuple(uses))
    if rows.empty:
        st.caption("No job.")
        return
    what = f"was {use}" if use else "bought nothing"
    st.caption(plain(f"What {what} in each job, the most first{_most(len(rows))}. A name opens the job."))
    st.dataframe(
        pd.DataFrame(
            {
                "job": [_link(row) for row in rows.to_dict("records")],
                **{_title(name): _known(rows, name) for name in dict.fromkeys((unit, "gpu_hours"))},
                by: rows["owner"],
                "status": [_status(row) for row in rows.to_dict("records")],
                "instances": [
                    f"{number} x {kind or DASH}"
                    for number, kind in zip(rows["instances"], rows["instance_type"], strict=True)
                ],
                "created": rows["created"],
            }
        ),
        hide_index=True,
        key="fleet-jobs",
        column_config={
            "job": config.LinkColumn("job", display_text=r"#(.+)$"),
            **{_title(name): config.NumberColumn(_title(name), format="%.2f") for name in (unit, "gpu_hours")},
            "created": config.DatetimeColumn("created", format="YYYY-MM-DD"),
        },
    )


def _status(row: Mapping[Hashable, Any]) -> str:
    """With the first cause, where there is one."""
    status, cause = row["status"], row["cause"]
    said = status_word(status) if isinstance(status, str) else DASH
    return f"{said}: {cause_words(cause)}" if isinstance(cause, str) else said


def _most(number: int) -> str:
    return f"; the first {MOST_JOBS}" if number >= MOST_JOBS else ""


def _known(rows: pd.DataFrame, unit: str) -> pd.Series:
    """Of each job; nothing where it is not known."""
    return rows[unit].mask(rows[_MISSING[unit]] > 0) if unit in _MISSING else rows[unit]


def _link(row: Mapping[Hashable, Any]) -> str:
    """To the page of the job, wherever it is; its name stands behind it."""
    name, arn = str(row["job"]), row["arn"] if isinstance(row["arn"], str) else ""
    if os.environ.get(ARCHIVE_SHOWN):
        # Of several of one name the ARN tells which.
        to = address.to(job=arn if arn and row["twins"] > 1 else name)
    elif row["account_name"] in {member.name for member in data.members()}:
        number = account_of(arn)
        to = address.to(job=name, region=region_of(arn), member=row["account_name"], account=number, profile=None)
    else:
        to = address.to(job=name)
    return f"job?{urlencode(to)}#{quote(name)}"
