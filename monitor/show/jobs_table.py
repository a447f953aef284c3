"""Which job needs me? One row a job for the table of the Jobs page, from the list and the reviews so far."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pandas as pd
import streamlit as st

from monitor.charts.sparkline import picture, sparkline
from monitor.diagnose.headline import status_word
from monitor.diagnose.level import Level
from monitor.diagnose.stakes import stakes
from monitor.diagnose.verdict import judge, mean_of
from monitor.fetch.glance import Glance
from monitor.model import JobSummary, StepStats
from monitor.review import Snapshot
from monitor.show import data, links
from monitor.show.severity import LOOKS
from monitor.show.shell import JOB_PAGE
from monitor.words import DASH, percent, step_seconds

#: Only the newest are reviewed unasked: each review costs calls.
REVIEWED = 25

_TABLE = "jobs_table"
_DRAWN = "jobs_drawn"
_ORDER = "jobs_order"
_ROW_PX = 35
_ROWS = 20
_RECENT = timedelta(days=1)
_BEGINNING = datetime.min.replace(tzinfo=UTC)

_COLUMNS: dict[str, str] = {
    "name": "str",
    "verdict": "object",
    "stands_out": "str",
    "at_stake_usd": "float64",
    "status": "str",
    "instances": "str",
    "duration": "timedelta64[s]",
    "gpu_pct": "float64",
    "gpu_course": "object",
    "gpu_memory_pct": "float64",
    "gpu_memory_course": "object",
    "step_time": "str",
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
        return Standing("unknown", f"review failed: {snapshot.error.message}")
    return Standing("waiting", snapshot.progress or "reviewing…")


def settled(snapshots: Mapping[str, Snapshot]) -> bool:
    """Whether every review that was asked for has come to an end, good or bad."""
    return all(snapshot.report is not None or snapshot.error is not None for snapshot in snapshots.values())


def to_review(jobs: Sequence[JobSummary], now: datetime) -> tuple[JobSummary, ...]:
    """The few that are reviewed unasked: those that run, those that failed within a day, the newest of the rest."""

    def rank(job: JobSummary) -> int:
        failed = job.status == "Failed" and now - (job.ended or job.created or _BEGINNING) < _RECENT
        return 0 if is_running(job) else 1 if failed else 2

    return tuple(sorted(jobs, key=rank)[:REVIEWED])


def is_running(job: JobSummary) -> bool:
    return job.status in {"InProgress", "Stopping"}


def worst_first(jobs: Sequence[JobSummary], snapshots: Mapping[str, Snapshot]) -> list[str]:
    """The names, what asks for action first: by how loud it is, then by what is at stake, then what runs, then the newest."""

    def rank(job: JobSummary) -> tuple[float, ...]:
        snapshot = snapshots.get(job.name)
        stake = None if snapshot is None or snapshot.report is None else stakes(snapshot.report).at_stake_usd
        return LOOKS[standing(snapshot).level].rank, -(stake or 0.0), not is_running(job)

    return [job.name for job in sorted(jobs, key=rank)]


def kept_order(
    of: Hashable, jobs: Sequence[JobSummary], snapshots: Mapping[str, Snapshot], settled: bool
) -> Sequence[str]:
    """The order of rows: that of the list until all reviews are in, then worst first; it stays until something else is asked.

    Rows change places once, and not under the mouse while reviews come and go.
    """
    kept: dict[Hashable, list[str]] = st.session_state.setdefault(_ORDER, {})
    if of not in kept and settled:
        kept.clear()
        kept[of] = worst_first(jobs, snapshots)
    return kept.get(of, ())


def sort_again() -> None:
    """Worst first as of now: jobs have become worse, or better, since the rows were put in order."""
    st.session_state.pop(_ORDER, None)


def rows(
    jobs: Sequence[JobSummary],
    snapshots: Mapping[str, Snapshot],
    now: datetime,
    order: Sequence[str] = (),
    glances: Mapping[str, Glance] | None = None,
) -> pd.DataFrame:
    """The table, in ``order``, jobs that it lacks first; percent is of one device."""
    places = {name: place for place, name in enumerate(order)}
    wanted = sorted(jobs, key=lambda job: (places.get(job.name, -1), not is_running(job)))
    seen = glances or {}
    entries = [_row(job, snapshots.get(job.name), seen.get(job.name, Glance()), now) for job in wanted]
    return pd.DataFrame(entries, columns=list(_COLUMNS)).astype(_COLUMNS)


def _row(job: JobSummary, snapshot: Snapshot | None, glance: Glance, now: datetime) -> dict[str, object]:
    report = None if snapshot is None else snapshot.report
    stand = standing(snapshot)
    instance_type, count = job.instance_type, job.instance_count
    started, ended, status = job.started or job.created, job.ended, job.status
    gpu, memory = glance.gpu_pct, glance.gpu_memory_pct
    means = [_mean(gpu), _mean(memory)]
    if report is not None:
        known = report.job
        instance_type = known.instance_type or " + ".join(
            sorted({group.instance_type for group in known.instance_groups})
        )
        count, started, ended, status = known.instance_count, known.started, known.ended, known.status or status
        now = report.reviewed_at if report.archive else now
        metrics = ("gpu_utilization", "gpu_memory_utilization")
        means = [mean_of(report.nodes, metric) for metric in metrics]
        if not gpu:
            gpu, memory = data.said_of(
                report, "courses", lambda: tuple(sparkline(report.run.metrics, metric) for metric in metrics)
            )
    return {
        "name": job.name,
        "verdict": [word] if (word := LOOKS[stand.level].word) else [],
        "stands_out": stand.words,
        "at_stake_usd": None if report is None else stakes(report).at_stake_usd,
        "status": status_word(status),
        "instances": instances_words(count, instance_type),
        "duration": None if started is None else _whole_minutes((ended or now) - started),
        "gpu_pct": means[0],
        "gpu_course": gpu or None,
        "gpu_memory_pct": means[1],
        "gpu_memory_course": memory or None,
        "step_time": None if report is None else step_words(report.steps),
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
            "verdict": frame["verdict"].str.join(" "),
            "what_stands_out": frame["stands_out"],
            "at_stake_usd_per_hour": frame["at_stake_usd"].round(2),
            "status": frame["status"],
            "nodes": frame["instances"],
            "ran_s": frame["duration"].dt.total_seconds(),
            "gpu_utilization_pct": frame["gpu_pct"].round(1),
            "gpu_memory_utilization_pct": frame["gpu_memory_pct"].round(1),
            "step_time": frame["step_time"],
        }
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return sum(known) / len(known) if known else None


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
    pictures = {name: [picture(each or ()) for each in frame[name]] for name in ("gpu_course", "gpu_memory_course")}
    st.dataframe(
        frame.assign(**pictures),
        key=_TABLE,
        on_select=_open,
        selection_mode=["single-row", "single-cell"],
        hide_index=True,
        height="content" if len(frame) <= _ROWS else _ROWS * _ROW_PX,
        row_height=_ROW_PX,
        placeholder=DASH,
        alt="Training jobs, those that ask for action first; a click on a row opens the job",
        column_config={
            "name": config.TextColumn("Job", width=268),
            "verdict": config.MultiselectColumn(
                "Verdict", options=[look.word for look in looks], color=[look.colour for look in looks], width=78
            ),
            "stands_out": config.TextColumn("What stands out", width=250),
            "at_stake_usd": config.NumberColumn(
                "At stake/h",
                format="dollar",
                width=72,
                help="What somebody who acts now could gain in an hour: what is wasted, or what the best advice would save "
                "(by model), whichever is more.",
            ),
            "status": config.TextColumn("Status", width=74),
            "instances": config.TextColumn("Nodes", width=118),
            "duration": config.NumberColumn(
                "Ran", format="compact", width=62, help="Hours and minutes since training started."
            ),
            "gpu_pct": config.NumberColumn(
                "GPU",
                format="%.0f %%",
                width=50,
                help="Mean of one GPU over the time of work; of a job that was not reviewed, over its last 3 h.",
            ),
            "gpu_course": config.ImageColumn("0–100 %", width=66, help=_COURSE),
            "gpu_memory_pct": config.NumberColumn(
                "Memory", format="%.0f %%", width=58, help="Of GPU memory, like GPU."
            ),
            "gpu_memory_course": config.ImageColumn("0–100 %", width=66, help=_COURSE),
            "step_time": config.TextColumn("Step time", width=95, help="Median, and half of the way from p10 to p90."),
        },
    )


_COURSE = "A running job's last 3 h, a finished one's whole time; open where data is missing."


def _open() -> None:
    state = st.session_state[_TABLE].selection
    chosen = chosen_job(state.rows, state.cells, st.session_state.get(_DRAWN, []))
    if chosen:
        st.switch_page(JOB_PAGE, query_params=links.to(job=chosen))


def chosen_job(rows: Sequence[int], cells: Sequence[tuple[int, str]], drawn: Sequence[str]) -> str | None:
    """The job that a click on a row or a cell means; None where nothing is chosen, or the row is no longer there."""
    places = [*rows, *(row for row, _ in cells)]
    return drawn[places[0]] if places and places[0] < len(drawn) else None
