"""A fleet's report as the machine-readable document of ``fleet --format json``, and as rows of figures for CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from typing import Any

from monitor.fleet.facts import DEFINITIONS, SOURCES
from monitor.fleet.report import COVERS, FleetReport, Rate, Sum
from monitor.fleet.sections import headline

SCHEMA = 1
#: The columns of the CSV: a row a figure.
COLUMNS = ("table", "row", "measure", "value")


def fleet_document(report: FleetReport) -> dict[str, Any]:
    """Plain JSON types; unknown is null, instants are ISO 8601 UTC, shares are 0 to 1."""
    whole = {name: _plain(value) for name, value in _fields(report).items()}
    whole["window"] = {"name": report.window.name, **whole["window"]}
    whole["weeks"] = [
        {"week": week, "by_use": [{"use": use, **_plain(one)} for use, one in sums]} for week, sums in report.weeks
    ]
    for row, owner in zip(whole["by_owner"], report.by_owner, strict=True):
        row["by_use"] = [{"use": use, **_plain(one)} for use, one in owner.by_use]
    for row, failure in zip(whole["failures"], report.failures, strict=True):
        if failure.unknown.instance_hours and not failure.failed.instance_hours:
            row["failed"] = None
    whole["days"] = report.days and {"first": _plain(report.days[0]), "last": _plain(report.days[1])}
    if report.goodput is not None:
        whole["goodput"] = {"least": report.goodput[0], "most": report.goodput[1]}
    return {
        "schema": SCHEMA,
        "headline": " ".join(headline(report)),
        **whole,
        "definitions": dict(DEFINITIONS) | dict(SOURCES),
    }


def csv_rows(report: FleetReport) -> Iterator[tuple[str, str, str, Any]]:
    """(table, row, measure, value) of every figure: totals, then each table by what names its rows."""
    document = fleet_document(report)
    for name in ("total", "before", "waste", "goodput", "goodput_change", "all_failures", "recovery", "coverage"):
        for measure, value in (document[name] or {}).items():
            yield name, "all", measure, value
    yield "spot", "all", "usd", report.spot_usd
    yield "spot", "all", "jobs", report.spot_jobs
    for name, key in _NAMED.items():
        for row in document[name]:
            yield from _figures(name, "/".join(str(row[each]) for each in key), row, key)
    for week in document["weeks"]:
        for row in week["by_use"]:
            yield from _figures("weeks", f"{week['week']}/{row['use']}", row, ("use",))


_NAMED: Mapping[str, tuple[str, ...]] = {
    "by_use": ("use",),
    "by_cause": ("bucket", "use"),
    "by_owner": ("owner",),
    "by_finding": ("id",),
    "failures": ("cause",),
    "queues": ("instance_type",),
    "to_change": ("job", "finding"),
    "followed": ("after", "parameter"),
}


def _figures(
    table: str, row: str, told: Mapping[str, Any], key: tuple[str, ...]
) -> Iterator[tuple[str, str, str, Any]]:
    for measure, value in told.items():
        if measure in key or (table == "by_owner" and measure == "by_use"):
            continue
        if isinstance(value, Mapping):
            yield from ((table, row, f"{measure}_{name}", inner) for name, inner in value.items())
        elif isinstance(value, list):
            yield from ((table, row, f"{measure}_{end}", one) for end, one in zip(_ENDS, value, strict=False))
        else:
            yield table, row, measure, value


_ENDS = ("low", "mid", "high")


def _plain(value: Any) -> Any:
    if isinstance(value, Rate):
        interval = value.between_h_interval
        return {
            "node_hours": value.hours,
            "failures": value.events,
            "hours_between": value.between_h,
            "hours_between_low": interval[0] if interval else None,
            "hours_between_high": interval[1] if interval else None,
            "interval": COVERS,
            "per_1000_node_days": value.per_1000_days,
        }
    if isinstance(value, Sum):
        # Of what nobody knows a part is known at best: 0 is none.
        usd = None if value.unpriced_instance_hours and not value.usd else value.usd
        gpu_hours = None if value.uncounted_instance_hours and not value.gpu_hours else value.gpu_hours
        return _fields(value) | {"gpu_hours": gpu_hours, "usd": usd}
    if is_dataclass(value):
        return {name: _plain(item) for name, item in _fields(value).items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else value


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}
