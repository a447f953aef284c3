"""What is made of reports and charts, once for all viewers and refreshes. Pages use it through ``monitor.show.data``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import streamlit as st

from monitor.diagnose.compared import Comparison, compare
from monitor.model import Report

Kept = TypeVar("Kept")


@st.cache_resource(max_entries=128, ttl="10m", show_spinner=False)
def _of_report(arn: str, name: str, reviewed_at: datetime, what: str, _make: Callable[[], Any]) -> Any:
    return _make()


def of_report(report: Report, what: str, make: Callable[[], Kept]) -> Kept:
    """What ``make`` makes of a report, made once for all viewers and refreshes of that report; not to be changed."""
    kept: Kept = _of_report(report.job.arn, report.job.name, report.reviewed_at, what, make)
    return kept


@st.cache_resource(max_entries=8, ttl="10m", show_spinner=False)
def _ordered(arn: str, name: str, reviewed_at: datetime, what: str, _make: Callable[[], Any]) -> Any:
    return _make()


def ordered_of(report: Report, what: str, make: Callable[[], Kept]) -> Kept:
    """As ``of_report``, for all rows of a job in another order: they are large, and a running job has new ones at each look."""
    kept: Kept = _ordered(report.job.arn, report.job.name, report.reviewed_at, what, make)
    return kept


@st.cache_resource(max_entries=4096, ttl="10m", show_spinner=False)
def _said(arn: str, name: str, reviewed_at: datetime, what: str, _make: Callable[[], Any]) -> Any:
    return _make()


def said_of(report: Report, what: str, make: Callable[[], Kept]) -> Kept:
    """As ``of_report``, for small values of which a report has many: what each threshold says of it."""
    kept: Kept = _said(report.job.arn, report.job.name, report.reviewed_at, what, make)
    return kept


_Reports = tuple[tuple[str, str, datetime], ...]


# What is read of a report holds its steps; what is made of two is small.
@st.cache_resource(max_entries=16, ttl="10m", show_spinner=False)
def _of_one(which: _Reports, what: str, _make: Callable[[], Any]) -> Any:
    return _make()


@st.cache_resource(max_entries=128, ttl="10m", show_spinner=False)
def _of_two(which: _Reports, what: str, _make: Callable[[], Any]) -> Any:
    return _make()


@st.cache_resource(max_entries=8, ttl="10m", show_spinner=False)
def _of_all(which: _Reports, what: str, _make: Callable[[], Any]) -> Any:
    return _make()


def _of_reports(reports: tuple[Report, ...], what: str, make: Callable[[], Kept]) -> Kept:
    which = tuple((report.job.arn, report.job.name, report.reviewed_at) for report in reports)
    kept: Kept = (_of_one if len(reports) == 1 else _of_two)(which, what, make)
    return kept


def compared(reports: tuple[Report, ...]) -> Comparison:
    """The comparison of these reports, worked out once for all viewers and refreshes; of three jobs of which one runs on,
    the pair of the others is not worked out again."""
    found: Comparison = of_comparison(reports, "comparison", lambda: compare(reports, _of_reports))
    return found


def of_comparison(reports: tuple[Report, ...], what: str, make: Callable[[], Kept]) -> Kept:
    """What ``make`` makes of reports held against each other, made once; not to be changed."""
    which = tuple((report.job.arn, report.job.name, report.reviewed_at) for report in reports)
    kept: Kept = _of_all(which, what, make)
    return kept


@st.cache_resource(max_entries=128, show_spinner=False)
def _specification(what: tuple[str | int | bool, ...], _make: Callable[[], Any]) -> Any:
    return _make()


def specification(what: tuple[str | int | bool, ...], make: Callable[[], Kept]) -> Kept:
    """What ``make`` makes of a chart that is the same for all data, made once; not to be changed."""
    kept: Kept = _specification(what, make)
    return kept
