"""A comparison on the page, while its jobs come in: those that have arrived are compared, the others show their
progress."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo

import streamlit as st

from monitor import words
from monitor.diagnose.comparison.compare import Comparison, letter
from monitor.diagnose.comparison.missing import missing
from monitor.diagnose.headline import facts, status_word
from monitor.diagnose.rights import of_list
from monitor.model import Report
from monitor.review import Snapshot
from monitor.show import data, links
from monitor.show.compare.answer import show_answer, told_above
from monitor.show.compare.difference import show_difference
from monitor.show.compare.export import show_export
from monitor.show.compare.figures import show_all_figures, show_figures
from monitor.show.compare.pictures import show_predicted, show_spread
from monitor.show.job.pace import pace_of
from monitor.show.pace import DONE, Pace
from monitor.show.parts import part
from monitor.show.plain import plain
from monitor.show.shell import JOB_PAGE
from monitor.show.trouble import show_error, show_rights, show_stale


def show_comparison(account: data.Account, names: Sequence[str], zone: tzinfo) -> Pace:
    """All of it; gives how soon it wants to be drawn again."""
    found = {name: data.snapshot(account, name) for name in names}
    reports = ready(found)
    waiting = [name for name, each in found.items() if each.report is None and each.error is None]
    failed = {name: each.error for name, each in found.items() if each.report is None and each.error is not None}
    part(None, "Missing rights", show_rights, of_list((), reports))
    if len(reports) > 1:
        with st.spinner("Comparing the step times…"):
            comparison = data.compared(reports)
        _board(account, comparison, found, zone)
    for name, error in failed.items():
        _not_reviewed(name)
        show_error(error, f"compare-{name}")
    for name in waiting:
        _progress(name, found[name])
    if len(reports) < 2 and waiting:
        _skeleton()
    elif len(reports) < 2:
        st.info(
            f"{words.count(len(reports), 'job')} of {len(found)} could be reviewed; a comparison needs two. Choose "
            "another.",
            title="Nothing to compare",
            icon=":material/compare_arrows:",
        )
    return soonest(found.values())


def soonest(snapshots: Iterable[Snapshot]) -> Pace:
    """How soon any of the jobs is to be looked at again."""
    return min((pace for each in snapshots if (pace := pace_of(each)) is not None), default=DONE)


def ready(found: Mapping[str, Snapshot]) -> tuple[Report, ...]:
    """The reports to compare: those before the first that is waited for, so that none changes its letter when it comes."""
    reports = []
    for each in found.values():
        if each.report is not None:
            reports.append(each.report)
        elif each.error is None:
            break
    return tuple(reports)


def _board(account: data.Account, comparison: Comparison, found: Mapping[str, Snapshot], zone: tzinfo) -> None:
    first = comparison.reports[0]
    part(first, "Verdict of the comparison", show_answer, comparison)
    with st.container(border=True, horizontal=True):
        with st.container(width="stretch"):
            part(first, "Jobs of the comparison", _jobs, comparison, found, zone)
        part(first, "Export of the comparison", show_export, account, comparison)
    part(first, "Differences of configuration", show_difference, comparison)
    with st.grid(2, min_column_width=430):
        with st.container(border=True, height="stretch"):
            part(first, "Chart of the step times", show_spread, comparison)
        with st.container(border=True, height="stretch"):
            part(first, "Chart of the figures", show_figures, comparison)
    part(first, "Predicted and measured", show_predicted, comparison)
    part(first, "Table of the figures", show_all_figures, comparison)
    part(first, "What cannot be compared", _to_know, comparison)


def _jobs(comparison: Comparison, found: Mapping[str, Snapshot], zone: tzinfo) -> None:
    """A line a job: its letter, the way to it, what it is and how old the figures are."""
    now = datetime.now(UTC)
    for place, report in enumerate(comparison.reports):
        snapshot, job = found[report.job.name], report.job
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.badge(letter(place), color="blue" if place == 0 else "gray")
            st.page_link(
                JOB_PAGE,
                label=plain(job.name),
                icon=":material/monitoring:",
                query_params=links.to(job=job.name),
            )
            parts = [status_word(job.status), *facts(report, zone)]
            if job.is_running and not report.archive and snapshot.updated_at is not None:
                parts.append(f"updated {words.ago(snapshot.updated_at, now)}")
            elif snapshot.working and snapshot.progress:
                parts.append(f"{snapshot.progress}…")
            st.caption(plain(" · ".join(parts)), width="content")
        if snapshot.error is not None:
            show_stale(snapshot.error, f"data from {words.instant(report.reviewed_at, zone)}")


def _to_know(comparison: Comparison) -> None:
    """What a reader should know before trusting the figures, and what cannot be compared, with the reason."""
    lacking = missing(comparison)
    # The answer above says it.
    above = {told_above(each) for each in comparison.against}
    notes = [note for note in comparison.notes if note not in above]
    if not lacking and not notes:
        return
    with st.container(border=True):
        st.markdown("**Notes, and what cannot be compared**")
        for note in notes:
            st.caption(f":material/info: {plain(note)}")
        for said in lacking:
            st.caption(f":material/visibility_off: {plain(said)}")


def _not_reviewed(name: str) -> None:
    st.markdown(f"**{plain(name)} is left out**")


def _progress(name: str, snapshot: Snapshot) -> None:
    said = snapshot.progress or "reviewing the job"
    st.caption(f":material/hourglass_empty: {plain(name)}: {plain(said)}…")
    st.skeleton(28)


def _skeleton() -> None:
    st.skeleton(96)
    with st.grid(2, min_column_width=430):
        for _ in range(2):
            st.skeleton(280)
