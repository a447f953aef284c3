"""What is made of reports and charts, once for all viewers and refreshes. Pages use it through ``monitor.show.data``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import streamlit as st

from monitor.diagnose.comparison.compare import Comparison, compare
from monitor.model import Report

Made = TypeVar("Made")


class OfReport(Protocol):
    """What ``make`` makes of a report, made once for all viewers and refreshes of that report; not to be changed."""

    def __call__(self, report: Report, what: str, make: Callable[[], Made]) -> Made: ...


class OfReports(Protocol):
    """The same of reports held against each other."""

    def __call__(self, reports: tuple[Report, ...], what: str, make: Callable[[], Made]) -> Made: ...


def _cache(name: str, most: int, ttl: str | None = "10m") -> Callable[..., Any]:
    """A cache of ``most`` values, by all arguments but the last one, which makes a value."""

    def made(which: object, what: str, _make: Callable[[], Any]) -> Any:
        return _make()

    # Streamlit tells caches apart by the names of their functions.
    made.__qualname__ = f"made {name}"
    return st.cache_resource(max_entries=most, ttl=ttl, show_spinner=False)(made)


def _of_reports(name: str, most: int) -> OfReports:
    cache = _cache(name, most)

    def of_reports(reports: tuple[Report, ...], what: str, make: Callable[[], Made]) -> Made:
        which = tuple((report.job.arn, report.job.name, report.reviewed_at) for report in reports)
        made: Made = cache(which, what, make)
        return made

    return of_reports


def _of_report(name: str, most: int) -> OfReport:
    cache = _of_reports(name, most)
    return lambda report, what, make: cache((report,), what, make)


of_report = _of_report("of a report", 128)
#: For all rows of a job in another order: they are large, and a running job has new ones at each look.
ordered_of = _of_report("in order", 8)
#: For small values of which a report has many: what each threshold says of it.
said_of = _of_report("of a threshold", 4096)
of_comparison = _of_reports("of a comparison", 8)
# What is read of a report holds its steps; what is made of two is small.
_of_one, _of_two = _of_reports("of one of several", 16), _of_reports("of a pair", 128)
_specification = _cache("of a chart", 128, None)


def _of_one_or_two(reports: tuple[Report, ...], what: str, make: Callable[[], Made]) -> Made:
    return (_of_one if len(reports) == 1 else _of_two)(reports, what, make)


def compared(reports: tuple[Report, ...]) -> Comparison:
    """The comparison of these reports, worked out once for all viewers and refreshes; of three jobs of which one runs on,
    the pair of the others is not worked out again."""
    return of_comparison(reports, "comparison", lambda: compare(reports, _of_one_or_two))


def specification(what: tuple[str | int | bool, ...], make: Callable[[], Made]) -> Made:
    """What ``make`` makes of a chart that is the same for all data, made once; not to be changed.

    To build a specification takes longer than to work out a plan.
    """
    made: Made = _specification(what, "", make)
    return made
