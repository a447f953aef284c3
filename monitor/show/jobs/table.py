"""The jobs that need somebody first. One row a job for the table of the Jobs page, from the list and the reviews so far.

The list is shown before anything is reviewed. Reviews are made for the rows in view, as the browser tells, and for the most
urgent jobs; what a row shows of one is small and kept, so that a finished job is asked for once.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Any, cast
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from monitor.charts.sparkline import picture, sparkline
from monitor.diagnose.headline import status_word
from monitor.diagnose.verdict import LOUDNESS, Level, judge, mean_of, urgency_key
from monitor.diagnose.verdict import by_urgency as by_urgency
from monitor.diagnose.words.step_readings import came_by
from monitor.fetch.metrics.hosts import Glance
from monitor.model import JobSummary, Report, StepStats
from monitor.model.host_metrics import OF_GPUS
from monitor.review import Snapshot
from monitor.show import address, data
from monitor.show.grid import GridColumn, GridRow, Sorted, grid_state, show_grid
from monitor.show.shell import JOB_PAGE
from monitor.show.trouble import LOOKS
from monitor.words import duration, percent, step_seconds, usd

#: Reviewed whether they are in view or not, for the figures of the account: each review costs calls.
REVIEWED = 25
#: Taken to be in view until the browser says what is.
FIRST_SEEN = 20

_TABLE = "jobs_table"
_ORDER, _SORTED, _ASKED = "jobs_order", "jobs_sorted", "jobs_sort_asked"
_HEIGHT_PX = 735

_DTYPES: dict[str, str] = {
    "name": "str",
    "level": "str",
    "stands_out": "str",
    "recoverable_usd": "float64",
    "recoverable_usd_per_hour": "float64",
    "cost_usd": "float64",
    "status": "str",
    "started": "datetime64[s, UTC]",
    "ran_s": "float64",
    "gpu_pct": "float64",
    "gpu_course": "object",
    "instances": "str",
    "step_time": "str",
    "step_s": "float64",
    "step_came_by": "str",
    "gpu_memory_pct": "float64",
    "gpu_memory_course": "object",
}


@dataclass(frozen=True, slots=True)
class Standing:
    """One row's verdict: how loud, and in which words."""

    level: Level
    words: str


@dataclass(frozen=True, slots=True)
class RowReview:
    """What a review tells of a row; small, so that it can be kept of jobs that nobody looks at any more."""

    standing: Standing
    is_last: bool = False
    """Nothing more is to come: it need not be asked for again."""
    is_under_way: bool = False
    """The review that was asked for has told nothing yet."""
    is_partial: bool = False
    """It reads on."""
    status: str | None = None
    instance_type: str | None = None
    instance_count: int | None = None
    started: datetime | None = None
    ended: datetime | None = None
    reviewed_at: datetime | None = None
    cost_usd: float | None = None
    recoverable_usd: float | None = None
    recoverable_usd_per_hour: float | None = None
    gpu_pct: float | None = None
    gpu_memory_pct: float | None = None
    courses: tuple[tuple[float | None, ...], ...] = ((), ())
    """GPU and GPU memory over time."""
    step_time: str | None = None
    step_s: float | None = None
    step_came_by: str = ""
    """How it was come by, where it is not simply printed."""

    @property
    def is_reviewed(self) -> bool:
        return self.status is not None


_UNREVIEWED = RowReview(Standing("unreviewed", "not reviewed yet"))


def standing(snapshot: Snapshot | None) -> Standing:
    """What stands out in a row; never ``healthy`` unless it was reviewed, with data and without a warning."""
    if snapshot is None:
        return _UNREVIEWED.standing
    if snapshot.report is not None:
        verdict = judge(snapshot.report)
        return Standing(verdict.level, verdict.headline)
    if snapshot.error is not None:
        return Standing("unknown", f"Review failed: {snapshot.error.message}")
    return Standing("waiting", snapshot.progress or "reviewing…")


def row_review(snapshot: Snapshot) -> RowReview:
    """What a review told so far."""
    report = snapshot.report
    if report is None:
        return RowReview(standing(snapshot), is_under_way=snapshot.error is None)
    job, cost = report.job, report.cost
    return RowReview(
        standing(snapshot),
        snapshot.is_last,
        False,
        snapshot.working and not report.run.logs.complete,
        job.status,
        job.instance_type or " + ".join(sorted({group.instance_type for group in job.instance_groups})),
        job.instance_count,
        job.started,
        job.ended,
        report.reviewed_at,
        cost.usd,
        cost.recoverable_usd,
        cost.recoverable_usd_per_hour,
        mean_of(report, "gpu_utilization"),
        mean_of(report, "gpu_memory_utilization"),
        data.detail_of(report, "courses", lambda: _courses(report)),
        step_words(report.steps),
        None if report.steps is None else report.steps.median_s,
        came_by(report.run.logs.readings),
    )


def _courses(report: Report) -> tuple[tuple[float | None, ...], ...]:
    metrics = report.run.metrics
    return tuple(sparkline(metrics, metric) for metric in OF_GPUS)


def settled(snapshots: Iterable[Snapshot]) -> bool:
    """Whether every review that was asked for has come to an end, good or bad."""
    return all(snapshot.report is not None or snapshot.error is not None for snapshot in snapshots)


def in_view(jobs: Sequence[JobSummary], order: Sequence[str], now: datetime) -> list[JobSummary]:
    """The jobs whose rows are in view, in the order in which they are to be reviewed."""
    seen = set(grid_state(_TABLE).seen)
    shown = [job for job in jobs if job.name in seen]
    return by_urgency(shown or _placed(jobs, order)[:FIRST_SEEN], now)


def row_reviews(account: data.AccountChoice, jobs: Sequence[JobSummary]) -> dict[str, RowReview]:
    """Has these jobs reviewed, the first of them first; gives what is known of them. Those with their last review are let be."""
    kept: dict[str, RowReview] = data.reviewed_rows(account)
    asked = {
        job.name: data.snapshot(account, job.name, 1 + place)
        for place, job in enumerate(jobs)
        if job.name not in kept or not kept[job.name].is_last
    }
    keep_rows(account, asked)
    return {job.name: kept[job.name] if job.name in kept else row_review(asked[job.name]) for job in jobs}


def keep_rows(account: data.AccountChoice, snapshots: Mapping[str, Snapshot]) -> None:
    """Keeps what is known of jobs that were reviewed: a review that begins anew does not take it back."""
    kept: dict[str, RowReview] = data.reviewed_rows(account)
    for name, snapshot in snapshots.items():
        if (found := row_review(snapshot)).is_reviewed:
            kept[name] = found


def worst_first(jobs: Sequence[JobSummary], reviewed: Mapping[str, RowReview]) -> list[str]:
    def rank(job: JobSummary) -> tuple[float, ...]:
        found, runs = reviewed.get(job.name, _UNREVIEWED), job.is_running
        gain = found.recoverable_usd_per_hour if runs else found.recoverable_usd
        return urgency_key(found.standing.level, runs, gain, found.cost_usd)

    return [job.name for job in sorted(jobs, key=rank)]


def wanted_order(jobs: Sequence[JobSummary], reviewed: Mapping[str, RowReview], frame: pd.DataFrame) -> list[str]:
    """The names as of now: worst first, or by the column whose head was clicked; what is not known comes last."""
    by = sorted_by()
    if by is None:
        return worst_first(jobs, reviewed)
    name, direction = by
    values = frame.assign(level=[LOUDNESS[level] for level in frame["level"]], step_time=frame["step_s"])
    # What a running job could save in an hour and what a finished one could have saved are not the same kind of money.
    keys = ["recoverable_usd_per_hour", "recoverable_usd"] if name == "recoverable_usd" else [name]
    ranked = values.sort_values(keys, ascending=direction == "ascending", na_position="last", kind="stable")
    return [str(each) for each in ranked["name"]]


def settled_order(of: Hashable) -> Sequence[str]:
    """The order of rows that was settled on for what is asked; nothing as long as there is none."""
    return cast(Sequence[str], st.session_state.get(_ORDER, {}).get((of, sorted_by()), ()))


def keep_order(of: Hashable, order: Sequence[str]) -> None:
    """Rows change places once, and not under the mouse while reviews come and go; later only when somebody asks."""
    st.session_state[_ORDER] = {(of, sorted_by()): order}


def may_move(of: Hashable) -> bool:
    """Whether rows may still change places: nobody has begun to move among them."""
    return grid_state(_TABLE).used != _about(of)


def _about(of: Hashable) -> str:
    return f"{zlib.crc32(repr(of).encode()):08x}"


def sort_again(of: Hashable) -> None:
    """In order as of now: jobs have become worse, or better, since the rows were put in order."""
    st.session_state.pop(_ORDER, None)
    st.session_state[_ASKED] = of


def wants_sorting(of: Hashable) -> bool:
    """Whether the rows are to be put in order now, wherever the reader is."""
    return bool(st.session_state.pop(_ASKED, None) == of)


def sorted_by() -> Sorted | None:
    """The column whose head was clicked; None is worst first."""
    return cast("Sorted | None", st.session_state.get(_SORTED))


def label_of(name: str) -> str:
    """What the head of a column says."""
    return next(column.label for column in _COLUMNS if column.name == name)


def _sort(name: str) -> None:
    """A click on the head of a column: the largest first, then the smallest, then worst first again."""
    before = sorted_by()
    first: tuple[str, str] = (name, "ascending" if name in _TEXTS else "descending")
    second = (name, "descending" if name in _TEXTS else "ascending")
    st.session_state[_SORTED] = first if before is None or before[0] != name else second if before == first else None


def _placed(jobs: Sequence[JobSummary], order: Sequence[str]) -> list[JobSummary]:
    """In ``order``, jobs that it lacks first: they are new."""
    places = {name: place for place, name in enumerate(order)}
    return sorted(jobs, key=lambda job: (places.get(job.name, -1), not job.is_running))


def rows(
    jobs: Sequence[JobSummary],
    reviewed: Mapping[str, RowReview],
    now: datetime,
    order: Sequence[str] = (),
    glances: Mapping[str, Glance] | None = None,
) -> pd.DataFrame:
    """The table, in ``order``, jobs that it lacks first; percent is of one device."""
    seen = glances or {}
    entries = [
        _row(job, reviewed.get(job.name, _UNREVIEWED), seen.get(job.name, Glance()), now)
        for job in _placed(jobs, order)
    ]
    return pd.DataFrame(entries, columns=list(_DTYPES)).astype(_DTYPES)


def _row(job: JobSummary, found: RowReview, glance: Glance, now: datetime) -> dict[str, object]:
    started = found.started if found.is_reviewed else job.started
    ended = found.ended if found.is_reviewed else job.ended
    now = found.reviewed_at or now
    gpu, memory = glance.gpu_pct or found.courses[0], glance.gpu_memory_pct or found.courses[1]
    return {
        "name": job.name,
        "level": found.standing.level,
        "stands_out": found.standing.words,
        "recoverable_usd": found.recoverable_usd,
        "recoverable_usd_per_hour": found.recoverable_usd_per_hour,
        "cost_usd": found.cost_usd,
        "status": status_word(found.status or job.status),
        "started": started or job.created,
        # As of its review, like all that the row says.
        "ran_s": None if started is None else ((ended or now) - started).total_seconds(),
        "gpu_pct": found.gpu_pct if found.is_reviewed else _mean(glance.gpu_pct),
        "gpu_course": gpu or None,
        "instances": instances_words(
            found.instance_count if found.is_reviewed else job.instance_count,
            found.instance_type if found.is_reviewed else job.instance_type,
        ),
        "step_time": found.step_time,
        "step_s": found.step_s,
        "step_came_by": found.step_came_by or None,
        "gpu_memory_pct": found.gpu_memory_pct if found.is_reviewed else _mean(glance.gpu_memory_pct),
        "gpu_memory_course": memory or None,
    }


def step_words(steps: StepStats | None) -> str | None:
    """``4.10 s ±1 %``: the median, and half of what lies between p10 and p90."""
    if steps is None or steps.median_s is None:
        return None
    words = step_seconds(steps.median_s)
    if not steps.median_s or steps.p10_s is None or steps.p90_s is None:
        return words
    return f"{words} ±{percent(50 * (steps.p90_s - steps.p10_s) / steps.median_s)}"


def csv_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """``rows`` for a spreadsheet: units in the names, one value a cell."""
    return pd.DataFrame(
        {
            "job": frame["name"],
            "verdict": [LOOKS[cast(Level, level)].word for level in frame["level"]],
            "what_stands_out": frame["stands_out"],
            "recoverable_usd": frame["recoverable_usd"].round(2),
            "recoverable_usd_per_hour": frame["recoverable_usd_per_hour"].round(2),
            "cost_usd": frame["cost_usd"].round(2),
            "status": frame["status"],
            "started": frame["started"],
            "ran_s": frame["ran_s"].round(),
            "nodes": frame["instances"],
            "gpu_utilization_pct": frame["gpu_pct"].round(1),
            "gpu_memory_utilization_pct": frame["gpu_memory_pct"].round(1),
            "step_time": frame["step_time"],
            "step_time_came_by": frame["step_came_by"],
        }
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return sum(known) / len(known) if known else None


def instances_words(count: int | None, instance_type: str | None) -> str | None:
    """``4 x p4d.24xlarge``; None where neither is known."""
    short = (instance_type or "").replace("ml.", "")
    if count is None:
        return short or None
    return f"{count} × {short or 'unknown type'}"


#: Behind a step time that is not simply printed.
MARK = "*"
MARKED = f"{MARK} not simply as printed: point at it for how it was come by."
_COURSE = "The last 3 h of a running job, all of a finished one; gaps are missing data."
# In the order in which they stand; what a narrow window has no room for goes first.
_COLUMNS = (
    GridColumn("name", "Job", "minmax(120px,8fr)", "name"),
    GridColumn("level", "Verdict", "88px", "badge"),
    GridColumn("stands_out", "What stands out", "minmax(150px,7fr)", room_px=560),
    GridColumn(
        "recoverable_usd",
        "Recoverable",
        "94px",
        "number",
        "What the findings say could be saved: per hour for a running job, in total for a finished one.",
        330,
    ),
    GridColumn("cost_usd", "Cost", "72px", "number", "So far, at on-demand prices.", 640),
    GridColumn("status", "Status", "78px", room_px=450),
    GridColumn("started", "Started", "100px", "number", room_px=860),
    GridColumn("ran_s", "Ran for", "76px", "number", "Since training started.", 940),
    GridColumn(
        "gpu_pct",
        "GPU over time",
        "98px",
        "course",
        f"Mean of one GPU while it worked; of a job not reviewed yet, over its last 3 h. {_COURSE}",
        1020,
    ),
    GridColumn("instances", "Nodes", "120px", room_px=1140),
    GridColumn(
        "step_time", "Step time", "102px", "number", f"Median, ± half the spread from p10 to p90. {MARKED}", 1340
    ),
    GridColumn("gpu_memory_pct", "GPU memory", "98px", "course", f"Share of GPU memory in use. {_COURSE}", 1500),
)
_TEXTS = frozenset({"name", "level", "stands_out", "status", "instances"})


def cells(frame: pd.DataFrame, zone: tzinfo) -> list[GridRow]:
    """The rows as they are written."""
    return [
        GridRow(
            row.name,
            (
                row.name,
                (look.word, look.colour) if (look := LOOKS[row.level]).word else "",
                row.stands_out,
                _recoverable(row.recoverable_usd, row.recoverable_usd_per_hour),
                _or_none(row.cost_usd, usd),
                row.status,
                _or_none(row.started, lambda at: _started(at, zone)),
                _or_none(row.ran_s, duration),
                (_or_none(row.gpu_pct, percent), picture(row.gpu_course or ())),
                _or_none(row.instances, str),
                _step_time(row.step_time, row.step_came_by),
                (_or_none(row.gpu_memory_pct, percent), picture(row.gpu_memory_course or ())),
            ),
            f"job?{urlencode(address.to(job=row.name))}",
        )
        for row in frame.itertuples(index=False)
    ]


def _or_none(value: object, written: Callable[[Any], str]) -> str | None:
    return None if pd.isna(value) else written(value)


def _step_time(written: Any, came: Any) -> str | tuple[str, str] | None:
    """With a mark where it is not simply printed, and how it was come by for who points at it."""
    if pd.isna(written) or pd.isna(came):
        return _or_none(written, str)
    return f"{written}{MARK}", f"{written}, {came}"


def _recoverable(in_all_usd: float, an_hour_usd: float) -> str | None:
    return _or_none(in_all_usd, usd) if pd.isna(an_hour_usd) else f"{usd(an_hour_usd)}/h"


def _started(at: pd.Timestamp, zone: tzinfo) -> str:
    return f"{at.astimezone(zone):%d %b, %H:%M}".lstrip("0")


def show_table(frame: pd.DataFrame, of: Hashable, zone: tzinfo) -> None:
    """Draws the rows of what is asked for; a click on one, or Enter, opens its job."""
    columns = [replace(column, help=f"{column.help}{' ' if column.help else ''}Click to sort.") for column in _COLUMNS]
    show_grid(
        _TABLE,
        columns,
        cells(frame, zone),
        alt="Training jobs. Arrow keys move, Enter opens a job, Space selects it for a comparison.",
        height_px=_HEIGHT_PX,
        opened=lambda name: st.switch_page(JOB_PAGE, query_params=address.to(job=name)),
        several=True,
        tells=True,
        about=_about(of),
        sorts=_sort,
        sorted_by=sorted_by(),
    )


def chosen(frame: pd.DataFrame) -> list[str]:
    """The jobs whose boxes are ticked, the one that was started first in front: what others are compared against."""
    ticked = frame[frame["name"].isin(grid_state(_TABLE).chosen)]
    return [str(name) for name in ticked.sort_values("started", kind="stable")["name"]]
