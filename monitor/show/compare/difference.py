"""In which parameters do the compared jobs differ, and where was each value read? What is the same is counted."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from monitor.diagnose.comparison.compare import Comparison, letter
from monitor.diagnose.comparison.differences import Difference, alike, own
from monitor.diagnose.comparison.rows import difference_rows
from monitor.masking import MASK
from monitor.show import data
from monitor.show.plain import plain
from monitor.words import DASH, count

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
    names = [letter(place) for place in range(len(comparison.reports))]
    rows = [
        (*row, _read_from(each, names))
        for row, each in zip(difference_rows(comparison), comparison.different, strict=True)
    ]
    return pd.DataFrame(rows, columns=["Parameter", *names, "Read from"], dtype="str")


def alike_table(same: Sequence[Difference]) -> pd.DataFrame:
    """Parameter, value, where it was read."""
    rows = []
    for each in same:
        places = list(dict.fromkeys(place for place in each.read_from if place is not None))
        value = next((value for value in each.values if value is not None), None)
        rows.append((each.parameter, DASH if value is None else str(value), " · ".join(places)))
    return pd.DataFrame(rows, columns=["Parameter", "Value", "Read from"], dtype="str")


def _read_from(each: Difference, names: Sequence[str]) -> str:
    """One place where all were read in the same, else one a job."""
    known = [(name, place) for name, place in zip(names, each.read_from, strict=True) if place is not None]
    places = {place for _, place in known}
    if len(places) == 1:
        return places.pop()
    return " · ".join(f"{name}: {place}" for name, place in known)


def _how_many(different: Sequence[Difference]) -> str:
    return f": {count(len(different), 'parameter')}" if different else ""


def _named(different: Sequence[Difference]) -> str:
    shown = ", ".join(each.parameter for each in different[:6])
    return shown if len(different) <= 6 else f"{shown} and {len(different) - 6} more"


def _left_out(names: Sequence[str]) -> str:
    if not names:
        return ""
    shown = ", ".join(names[:5])
    more = "" if len(names) <= 5 else f" and {len(names) - 5} more"
    return f"Left out because every run has its own: {shown}{more}."
