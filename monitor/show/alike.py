"""Which job was meant? For a name that no job has: the jobs whose names contain it, a click away."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from monitor.errors import NoSuchJob, TrainwatchError
from monitor.show import data
from monitor.show.plain import plain
from monitor.words import count

_MOST = 5


def show_alike(
    account: data.Account,
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
