"""The head of a job: its status, where it runs and since when, what it cost, how old the figures are.

The run before it, and what was set otherwise, is asked in the background and kept: two DescribeTrainingJob, and one
ListTrainingJobs where the newest jobs do not hold it. Compared is what was given to both: what a log tells of one run and not of
the other would be no difference between them.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, tzinfo

import streamlit as st

from monitor import words
from monitor.aws.console import job_url, s3_url, streams_url
from monitor.diagnose.comparison.comparability import Difference, differences
from monitor.diagnose.headline import facts, outlook, status_word
from monitor.diagnose.words.report import like_words
from monitor.errors import TrainwatchError
from monitor.fetch.logs.events import prefix
from monitor.fetch.source import JobQuery
from monitor.model import Job, Report
from monitor.review import Snapshot
from monitor.review.archived import Source
from monitor.review.run_names import base_and_stamp, previous, short_names
from monitor.show import data
from monitor.show.compare import address as compare_address
from monitor.show.plain import plain
from monitor.show.severity import Colour
from monitor.show.shell import COMPARE_PAGE

_STATUS_COLOURS: dict[str, Colour] = {"InProgress": "blue", "Completed": "green", "Failed": "red"}


_STATE_SIGNS = {"completed": "✓", "failed": "✕", "stopped": "■"}


def tab_title(report: Report) -> str:
    """What the browser's tab says: ``● stalled · gpt2-60b``; a dot is a job that goes on."""
    stalled = report.job.is_running and any(finding.id == "stall" for finding in report.warnings)
    state = "stalled" if stalled else status_word(report.job.status)
    sign = "●" if report.job.is_running else _STATE_SIGNS.get(state, "")
    return f"{sign} {state} · {short_names((report.job.name,))[0]}".strip()


def show_header(report: Report, snapshot: Snapshot, zone: tzinfo, now: datetime) -> None:
    """One line of facts and, of a running job, one of how it goes on."""
    job = report.job
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(status_word(job.status), color=_STATUS_COLOURS.get(job.status or "", "gray"))
        st.markdown(plain(" · ".join(facts(report, zone))), width="stretch")
        if snapshot.updated_at is not None:
            st.caption(_updated(report, snapshot.updated_at, snapshot.working, zone, now), width="content")
    if clauses := outlook(report, zone):
        st.caption(plain(" · ".join(clauses)))


def show_links(report: Report, account: data.Account, names: Iterable[str]) -> bool:
    """The previous run with the settings that differ, and AWS's own pages of the job; whether more is still to come."""
    job = report.job
    found = earlier(account, job.name, names)
    urls = _console(job) if has_console(report, account) else []
    before = found.name if found is not None else None
    different = found.different if found is not None else None
    if not urls and (before is None or different is None):
        return found is None
    with st.container(horizontal=True, vertical_alignment="center"):
        if before is not None and different is not None:
            st.caption(plain(like_words(before, different)), width="content")
            to = compare_address.link(before, job.name)
            st.page_link(COMPARE_PAGE, label="Compare them", icon=":material/compare_arrows:", query_params=to)
        for label, url in urls:
            st.link_button(label, url, icon=":material/open_in_new:", type="tertiary")
    return found is None


def _console(job: Job) -> list[tuple[str, str]]:
    """AWS's own pages: of the job, of its logs, and of what it writes to S3."""
    pages = (
        ("SageMaker console", job_url(job.arn)),
        ("CloudWatch logs", streams_url(job.arn, prefix(job.name))),
        ("Model in S3", s3_url(job.arn, job.outputs.model or "")),
        ("Checkpoints in S3", s3_url(job.arn, job.outputs.checkpoints or "")),
    )
    return [(label, url) for label, url in pages if url is not None]


def has_console(report: Report, account: data.Account) -> bool:
    """Whether AWS's console knows the job: not that of a sample, of another service's address, or of an archive alone."""
    place = data.place(account)
    return report.job.source == "aws" and not report.archive and place.endpoint is None and place.region is not None


def _updated(report: Report, at: datetime, working: bool, zone: tzinfo, now: datetime) -> str:
    """How old the figures are; a time of day where the page does not go on, since "12 s ago" would stand for ever."""
    if report.archive or not report.job.is_running:
        return f"Reviewed {words.instant(at, zone)}"
    return f"Updated {words.ago(at, now)}{', refreshing' if working else ''}"


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
