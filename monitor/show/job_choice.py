"""The choice of a job. The input for it on all pages about one job: its name, a part of it, or one of the newest.

For a name that no job has: the jobs whose names contain it, a click away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import streamlit as st

from monitor.errors import NoSuchJob, TrainwatchError
from monitor.installed import PROGRAM
from monitor.show import data
from monitor.show.trouble import calm, plain, show_error
from monitor.words import count

#: So many of the newest can be taken with a click.
NEWEST = 12


def choose_job(
    account: data.AccountChoice,
    key: str,
    chosen: str | None,
    choose: Callable[[str | None], None],
    width: int | Literal["stretch"] = "stretch",
) -> None:
    """The input, showing ``chosen``; ``choose`` gets the name of what is chosen then, before the page is drawn."""
    names = [job.name for job in data.jobs(account).jobs]
    st.session_state[key] = chosen

    def moved() -> None:
        asked: str | None = st.session_state[key]
        choose(asked and (the_one(names, asked) or asked))

    st.selectbox(
        "Job",
        names,
        index=None,
        key=key,
        # A link may name a job older than the list.
        accept_new_options=True,
        filter_mode="contains",
        placeholder="Choose a job, or type part of its name",
        icon=":material/search:",
        label_visibility="collapsed",
        on_change=calm("Choosing a job", moved),
        width=width,
    )


def show_newest(account: data.AccountChoice, key: str, choose: Callable[[str], None]) -> None:
    """The newest jobs, to take one with a click; where none can be listed, why."""
    listing = data.jobs(account)
    if listing.error:
        show_error(listing.error, "list", "Listing jobs")
    names = [job.name for job in listing.jobs[:NEWEST]]
    st.session_state[key] = None
    if not names and listing.error is None:
        no_jobs(account)
    if names:
        st.pills("Newest jobs", names, key=key, on_change=calm("Choosing a job", lambda: choose(st.session_state[key])))


def no_jobs(account: data.AccountChoice) -> None:
    """What an account, region or archive without any job says."""
    place = data.origin(account)
    if place.archive:
        st.info(f"Archive some with `{PROGRAM} archive`.", title="No jobs in this archive", icon=":material/inbox:")
        return
    st.info(
        f"Change region or profile in the sidebar, top left, or look at sample jobs with `{PROGRAM} demo`.",
        title=f"No training jobs in {plain(place.region)}" if place.region else "No training jobs",
        icon=":material/inbox:",
    )


def the_one(names: Sequence[str], part: str) -> str | None:
    """The name that is meant: the whole of it, or a part that no other one has; None where none or several may be."""
    wanted = part.strip().casefold()
    found = [name for name in names if wanted in name.casefold()]
    whole = [name for name in found if name.casefold() == wanted]
    return next(iter(whole or found), None) if len(whole or found) == 1 else None


_MOST = 5


def show_alike(
    account: data.AccountChoice,
    name: str,
    error: TrainwatchError | None,
    page: str,
    link: Callable[[str], dict[str, str]],
) -> None:
    """Links to ``page`` with each of the newest jobs whose name has ``name`` in it; nothing where another thing went wrong."""
    if not isinstance(error, NoSuchJob):
        return
    found = [job.name for job in data.jobs(account).jobs if name.casefold() in job.name.casefold()]
    if found:
        st.caption(
            f"{count(len(found), 'job')} with this in the name:"
            if len(found) <= _MOST
            else f"The newest {_MOST} with this in the name:"
        )
    for other in found[:_MOST]:
        st.page_link(page, label=plain(other), icon=":material/monitoring:", query_params=link(other))
