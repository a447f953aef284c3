"""What makes a job archived: a JSON file with all that the tables cannot hold, and a checksum of each of them.

It is written last and holds a checksum of itself, so a job whose archive was interrupted, cut or changed is told from a
whole one.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from monitor.archive.layout import JOBS, OLD_NAMES, SCHEMA
from monitor.archive.values import plain, valued
from monitor.errors import NoData
from monitor.model import Gap, Job, LogCoverage, Price, ProfilerCoverage, is_price

_BODY = b', "run": '
_AGAIN = "Archive the job again."
# What nobody knows without a price.
_MONEY = frozenset({name for name in JOBS if "_usd" in name} | {"price_usd_per_instance_hour", "price_source"})


class NewerSchema(NoData):
    """Written by a later version of this program, which must not be undone."""


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a job."""

    path: str
    size_bytes: int
    sha256: str

    @classmethod
    def of(cls, path: str, data: bytes) -> Part:
        return cls(path, len(data), hashlib.sha256(data).hexdigest())

    def is_in(self, data: bytes | None) -> bool:
        """Whether these are the bytes that were written."""
        return data is not None and len(data) == self.size_bytes and hashlib.sha256(data).hexdigest() == self.sha256


@dataclass(frozen=True, slots=True)
class Manifest:
    """One archived job, but for its frames."""

    job: Job
    reviewed_at: datetime
    """The ``now`` of its report."""
    is_final: bool
    """Another review would read the same of it."""
    reader: str
    """The version of the reader that made the frames."""
    gaps: tuple[Gap, ...]
    metrics_period_s: int | None
    logs: LogCoverage
    price: Price | None
    masked: tuple[str, ...]
    """Parameters whose values are secrets, and are not here."""
    parts: Mapping[str, Part]
    """By the name of the table, and "report"."""
    row: Mapping[str, Any]
    """As in the table of jobs, so that a list of jobs needs no more than these files."""
    profiler: ProfilerCoverage | None = None
    beginnings: Mapping[str, str] = field(default_factory=dict)
    """Of log files: what tells them from others of their name."""


def to_bytes(manifest: Manifest) -> bytes:
    body = json.dumps(plain(manifest), indent=1).encode()
    head = f'{{"schema": {SCHEMA}, "sha256": "{hashlib.sha256(body).hexdigest()}"'
    return b"".join([head.encode(), _BODY, body, b"}\n"])


def from_bytes(data: bytes, called: str) -> Manifest:
    """The manifest. NoData, with ``called`` for its name, where it is damaged or of another version."""
    body = _body(data, called)
    try:
        manifest: Manifest = valued(Manifest, body)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NoData(f"{called} is no archived job that can be read: {error}.", _AGAIN) from error
    if manifest.price is not None and not is_price(manifest.price.usd_per_instance_hour):
        # Settings once took any number for one.
        return replace(manifest, price=None)
    return manifest


def row_of(data: bytes, called: str) -> dict[str, Any]:
    """The row of the job alone. NoData as above.

    A list of 5,000 jobs reads 5,000 of these files in 0.7 s; as many Parquet files of one row take at least five times as long.
    """
    row = _body(data, called).get("row")
    if not isinstance(row, dict):
        raise NoData(f"{called} is not a readable archived job.", _AGAIN)
    # A column that came later is null in what was written before, or had another name.
    whole = {name: row.get(name, row.get(OLD_NAMES.get(name, name))) for name in JOBS} | row
    unknown = () if is_price(whole["price_usd_per_instance_hour"]) else _MONEY
    return {name: None if name in unknown or _is_odd(value) else value for name, value in whole.items()}


def _is_odd(value: Any) -> bool:
    """NaN and endless numbers, which no column holds."""
    return isinstance(value, float) and not math.isfinite(value)


def _body(data: bytes, called: str) -> dict[str, Any]:
    head, found, body = data.partition(_BODY)
    try:
        told = json.loads(head + b"}")
        schema, digest = told["schema"], told["sha256"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise NoData(f"{called} is no archived job, or its head is damaged.", _AGAIN) from None
    if schema != SCHEMA:
        why = f"{called} has version {schema} of the archive's schema; this program reads version {SCHEMA}."
        if isinstance(schema, int) and schema > SCHEMA:
            raise NewerSchema(why, "Use a newer version of this program.")
        raise NoData(why, _AGAIN)
    body = body.removesuffix(b"}\n")
    if not found or hashlib.sha256(body).hexdigest() != digest:
        raise NoData(f"{called} was truncated or changed after it was written.", _AGAIN)
    try:
        out: dict[str, Any] = json.loads(body)
    except (ValueError, RecursionError):
        raise NoData(f"{called} was written by another program.", _AGAIN) from None
    return out
