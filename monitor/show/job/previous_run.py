"""Which run came before this one, and what was set otherwise? A part of ``data``: asked in the background, and kept.

Two DescribeTrainingJob, and one ListTrainingJobs where the newest jobs do not hold it. Compared is what was given to both:
what a log tells of one run and not of the other would be no difference between them.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import streamlit as st

from monitor.diagnose.comparison.differences import Difference, differences
from monitor.errors import TrainwatchError
from monitor.fetch.source import JobQuery
from monitor.review.archived import Source
from monitor.review.run_names import base_and_stamp, previous
from monitor.show import data


@dataclass(frozen=True, slots=True)
class Earlier:
    """The run before; ``different`` is None where it could not be read. No name: there is none."""

    name: str | None = None
    different: tuple[Difference, ...] | None = None


def earlier(account: data.Account, name: str, names: Iterable[str]) -> Earlier | None:
    """What is known of the run before ``name``; None while it is being asked for."""
    if base_and_stamp(name) is None:
        return Earlier()
    asked = _asked(account, name, previous(name, names))
    return asked.result() if asked.done() else None


@st.cache_resource(show_spinner=False)
def _workers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2, "previous run")


@st.cache_resource(max_entries=256, ttl="1h", show_spinner=False)
def _asked(account: data.Account, name: str, known: str | None) -> Future[Earlier]:
    return _workers().submit(_ask, account, name, known)


def _ask(account: data.Account, name: str, known: str | None) -> Earlier:
    try:
        source: Source = data.shared_source(account)
        found = known or _listed(source, name)
        if found is None:
            return Earlier()
        return Earlier(found, differences((source.job(found), source.job(name))))
    except TrainwatchError:
        return Earlier(known)


def _listed(source: Source, name: str) -> str | None:
    stamped = base_and_stamp(name)
    assert stamped is not None
    return previous(name, [job.name for job in source.jobs(JobQuery(name_contains=stamped[0]))])
