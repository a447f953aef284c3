"""A comparison on the page, while its jobs come in: those that have arrived are compared, the others show their
progress. The answer, whether the same work is compared, and the parameters in which the jobs differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo

import pandas as pd
import streamlit as st

from monitor import words
from monitor.diagnose.comparison.comparability import ParameterDifference, alike, own
from monitor.diagnose.comparison.compare import Comparison, PairComparison, letter
from monitor.diagnose.comparison.rows import difference_rows, missing
from monitor.diagnose.comparison.words import beside_words, headline, summary_words, work_words
from monitor.diagnose.headline import facts, status_word
from monitor.diagnose.rights import of_list
from monitor.masking import MASK
from monitor.model import Report
from monitor.review import Snapshot
from monitor.show import address, data
from monitor.show.compare.figures import show_all_figures, show_export, show_figures, show_predicted, show_spread
from monitor.show.pace import DONE, Pace, pace_of
from monitor.show.shell import JOB_PAGE, show_link
from monitor.show.trouble import Colour, part, plain, show_error, show_rights, show_stale
from monitor.words import DASH, count


def show_comparison(account: data.AccountChoice, names: Sequence[str], zone: tzinfo) -> Pace:
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


def _board(account: data.AccountChoice, comparison: Comparison, found: Mapping[str, Snapshot], zone: tzinfo) -> None:
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
            show_link(JOB_PAGE, plain(job.name), address.to(job=job.name))
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
    above = {otherwise_sentence(each) for each in comparison.against}
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


_BADGES: dict[str, tuple[str, Colour]] = {
    "faster": (":material/trending_up:", "green"),
    "slower": (":material/trending_down:", "orange"),
    "cannot tell": (":material/question_mark:", "gray"),
    "not comparable": (":material/block:", "gray"),
}


def show_answer(comparison: Comparison) -> None:
    """One banner for two jobs; of more, what it comes to and a line each."""
    if len(comparison.against) == 1:
        _banner(comparison)
        return
    names = [letter(place) for place in range(1, len(comparison.reports))]
    with st.container(border=True):
        st.markdown(f"**{plain(summary_words(comparison.against, names))}**")
        for place in range(1, len(comparison.reports)):
            title, body = verdict_texts(comparison, place)
            icon, colour = _BADGES[comparison.against[place - 1].answer]
            st.markdown(f":{colour}-badge[{icon} {letter(place)}] **{plain(title)}.** {plain(body)}")


def verdict_texts(comparison: Comparison, number: int) -> tuple[str, str]:
    """The verdict on one job in a few words, and what stands behind it."""
    result, name = comparison.against[number - 1], letter(number)
    first, other = comparison.figures[0], comparison.figures[number]
    found = headline(result, name, (first.step_s, other.step_s))
    parts = [found.body]
    if not result.is_of_one_job:
        # A verdict for the same samples says already how many a step has.
        if result.verdict == "cannot tell" or result.work is None or result.work.unit is None:
            parts.append(work_words(result, name, (first.samples_per_step, other.samples_per_step)))
        parts += [beside_words(result), otherwise_sentence(result)]
    return found.title, " ".join(part for part in parts if part)


def otherwise_sentence(result: PairComparison) -> str:
    """That the times of the two were come by differently: beside a verdict, and else among the notes."""
    return result.otherwise if result.unlike is None else ""


def _banner(comparison: Comparison) -> None:
    title, body = (plain(words) for words in verdict_texts(comparison, 1))
    icon, _ = _BADGES[answer := comparison.against[0].answer]
    match answer:
        case "faster":
            st.success(body, title=title, icon=icon)
        case "slower":
            st.warning(body, title=title, icon=icon)
        case _:
            st.info(body, title=title, icon=icon)


#: So many differences are read at a glance; the rest is behind a scroll.
ROWS = 8


def show_difference(comparison: Comparison) -> None:
    """What differs as a table, what is the same behind a click."""
    different = comparison.different
    same, left_out = data.of_comparison(
        comparison.reports, "alike", lambda: (alike(comparison.jobs), own(comparison.jobs))
    )
    with st.container(border=True):
        st.markdown(f"**What differs in their configuration{_how_many(different)}**")
        if different:
            st.dataframe(
                difference_table(comparison),
                key="compare-differences",
                hide_index=True,
                height="content" if len(different) <= ROWS else 36 * (ROWS + 1),
                alt=f"What differs: {_named(different)}",
            )
        else:
            st.markdown("Nothing in the known configuration.")
        said = _left_out(left_out)
        if any(MASK in str(value) for each in (*different, *same) for value in each.values):
            st.caption(
                f":material/lock: {plain(MASK)} replaces anything that looks like a secret; secrets are never stored."
            )
        if not same:
            st.caption(plain(f"No parameter is known to be the same. {said}"))
            return
        with st.expander(
            f"{count(len(same), 'parameter')} {'is' if len(same) == 1 else 'are'} the same",
            icon=":material/drag_handle:",
            key="compare-alike",
        ):
            st.dataframe(
                alike_table(same),
                key="compare-alike-table",
                hide_index=True,
                alt=f"{count(len(same), 'parameter')} with the same value in all jobs",
            )
            if said:
                st.caption(plain(said))


def difference_table(comparison: Comparison) -> pd.DataFrame:
    """Parameter, its value in each job, where these were read."""
    names = comparison.letters
    rows = [
        (*row, _read_from(each, names))
        for row, each in zip(difference_rows(comparison), comparison.different, strict=True)
    ]
    return pd.DataFrame(rows, columns=["Parameter", *names, "Read from"], dtype="str")


def alike_table(same: Sequence[ParameterDifference]) -> pd.DataFrame:
    """Parameter, value, where it was read."""
    rows = []
    for each in same:
        places = list(dict.fromkeys(place for place in each.read_from if place is not None))
        value = next((value for value in each.values if value is not None), None)
        rows.append((each.parameter, DASH if value is None else str(value), " · ".join(places)))
    return pd.DataFrame(rows, columns=["Parameter", "Value", "Read from"], dtype="str")


def _read_from(each: ParameterDifference, names: Sequence[str]) -> str:
    """One place where all were read in the same, else one a job."""
    known = [(name, place) for name, place in zip(names, each.read_from, strict=True) if place is not None]
    places = {place for _, place in known}
    if len(places) == 1:
        return places.pop()
    return " · ".join(f"{name}: {place}" for name, place in known)


def _how_many(different: Sequence[ParameterDifference]) -> str:
    return f": {count(len(different), 'parameter')}" if different else ""


def _named(different: Sequence[ParameterDifference]) -> str:
    shown = ", ".join(each.parameter for each in different[:6])
    return shown if len(different) <= 6 else f"{shown} and {len(different) - 6} more"


def _left_out(names: Sequence[str]) -> str:
    if not names:
        return ""
    shown = ", ".join(names[:5])
    more = "" if len(names) <= 5 else f" and {len(names) - 5} more"
    return f"Left out because every run has its own: {shown}{more}."
