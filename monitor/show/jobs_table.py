"""Which job needs me? One row a job for the table of the Jobs page, from the list and the reviews so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

import pandas as pd
import streamlit as st

from monitor.diagnose.headline import status_word
from monitor.diagnose.level import Level
from monitor.diagnose.verdict import judge, mean_of
from monitor.model import JobSummary
from monitor.review import Snapshot
from monitor.show.severity import LOOKS
from monitor.show.shell import JOB_PAGE
from monitor.words import DASH

#: Only the newest are reviewed unasked: each review costs calls.
REVIEWED = 25

_TABLE = "jobs_table"
_DRAWN = "jobs_drawn"
_ROW_PX = 35
_ROWS = 20

_COLUMNS: dict[str, str] = {
    "name": "str",
    "verdict": "object",
    "stands_out": "str",
    "status": "str",
    "instances": "str",
    "started": "object",
    "duration": "timedelta64[s]",
    "gpu_pct": "float64",
    "gpu_memory_pct": "float64",
    "step_s": "float64",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """One row's verdict: how loud, and in which words."""

    level: Level
    words: str


def standing(snapshot: Snapshot | None) -> Standing:
    """What stands out in a row; never ``healthy`` unless it was reviewed, with data and without a warning."""
    if snapshot is None:
        return Standing("unreviewed", "not reviewed")
    if snapshot.report is not None:
        verdict = judge(snapshot.report)
        return Standing(verdict.level, verdict.headline)
    if snapshot.error is not None:
        return Standing("unknown", f"could not be reviewed: {snapshot.error.message}")
    return Standing("waiting", snapshot.progress or "reviewing…")


def settled(snapshots: Mapping[str, Snapshot]) -> bool:
    """Whether every review that was asked for has come to an end, good or bad."""
    return all(snapshot.report is not None or snapshot.error is not None for snapshot in snapshots.values())


def rows(
    jobs: Sequence[JobSummary], snapshots: Mapping[str, Snapshot], now: datetime, zone: tzinfo, worst_first: bool
) -> pd.DataFrame:
    """The table, newest first or worst first; ``started`` is in the zone of the viewer, percent of one device."""
    entries = [(job, snapshots.get(job.name), standing(snapshots.get(job.name))) for job in jobs]
    if worst_first:
        entries.sort(key=lambda entry: (LOOKS[entry[2].level].rank, entry[0].status != "InProgress"))
    frame = pd.DataFrame([_row(*entry, now) for entry in entries], columns=list(_COLUMNS)).astype(_COLUMNS)
    frame["started"] = pd.to_datetime(frame["started"], utc=True).dt.tz_convert(zone)
    return frame


def _row(job: JobSummary, snapshot: Snapshot | None, stand: Standing, now: datetime) -> dict[str, object]:
    report = None if snapshot is None else snapshot.report
    instance_type, count = job.instance_type, job.instance_count
    started, ended, status = job.created, job.ended, job.status
    if report is not None:
        known = report.job
        instance_type = known.instance_type or " + ".join(
            sorted({group.instance_type for group in known.instance_groups})
        )
        count, started, ended, status = known.instance_count, known.started, known.ended, known.status or status
        now = report.reviewed_at if report.archive else now
    return {
        "name": job.name,
        "verdict": [word] if (word := LOOKS[stand.level].word) else [],
        "stands_out": stand.words,
        "status": status_word(status),
        "instances": instances_words(count, instance_type),
        "started": started,
        "duration": None if started is None else _whole_minutes((ended or now) - started),
        "gpu_pct": None if report is None else mean_of(report.nodes, "gpu_utilization"),
        "gpu_memory_pct": None if report is None else mean_of(report.nodes, "gpu_memory_utilization"),
        "step_s": None if report is None or report.steps is None else report.steps.median_s,
    }


def _whole_minutes(length: timedelta) -> timedelta:
    """Seconds count only where there is nothing else."""
    seconds = round(length.total_seconds())
    return timedelta(seconds=seconds if seconds < 60 else round(seconds / 60) * 60)


def instances_words(count: int | None, instance_type: str | None) -> str | None:
    """``4 x p4d.24xlarge``; None where neither is known."""
    short = (instance_type or "").replace("ml.", "")
    if count is None:
        return short or None
    return f"{count} × {short or 'unknown type'}"


def show_table(frame: pd.DataFrame) -> None:
    """Draws the rows; a click on one opens its job."""
    # A click names a row by its place; the place must be looked up in what was on the screen then.
    st.session_state[_DRAWN] = frame["name"].tolist()
    looks = [look for look in LOOKS.values() if look.word]
    config = st.column_config
    st.dataframe(
        frame,
        key=_TABLE,
        on_select=_open,
        selection_mode=["single-row", "single-cell"],
        hide_index=True,
        height="content" if len(frame) <= _ROWS else _ROWS * _ROW_PX,
        row_height=_ROW_PX,
        placeholder=DASH,
        alt="Training jobs, those that ask for action first; a click on a row opens the job",
        column_config={
            "name": config.TextColumn("Job", width=285),
            "verdict": config.MultiselectColumn(
                "Verdict", options=[look.word for look in looks], color=[look.colour for look in looks], width=85
            ),
            "stands_out": config.TextColumn("What stands out", width=275),
            "status": config.TextColumn("Status", width=80),
            "instances": config.TextColumn("Instances", width=120),
            "started": config.DatetimeColumn("Started", format="D MMM, HH:mm", width=95),
            "duration": config.NumberColumn("Duration", format="localized", width=90),
            "gpu_pct": config.ProgressColumn("GPU", format="%.0f %%", min_value=0, max_value=100, width=80),
            "gpu_memory_pct": config.ProgressColumn(
                "GPU memory", format="%.0f %%", min_value=0, max_value=100, width=80
            ),
            "step_s": config.NumberColumn("Step time", format="%.2f s", width=70),
        },
    )


def _open() -> None:
    state = st.session_state[_TABLE].selection
    chosen = chosen_job(state.rows, state.cells, st.session_state.get(_DRAWN, []))
    if chosen:
        st.switch_page(JOB_PAGE, query_params={"job": chosen})


def chosen_job(rows: Sequence[int], cells: Sequence[tuple[int, str]], drawn: Sequence[str]) -> str | None:
    """The job that a click on a row or a cell means; None where nothing is chosen, or the row is no longer there."""
    places = [*rows, *(row for row, _ in cells)]
    return drawn[places[0]] if places and places[0] < len(drawn) else None
