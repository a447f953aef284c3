"""The jobs that an archive contains, and what was read of one of them. What makes a job archived is a JSON file with all that
the tables cannot hold, and a checksum of each of them; frozen values become JSON, and come back by their types.

It is written last and holds a checksum of itself, so a job whose archive was interrupted, cut or changed is told from a
whole one.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pandas as pd

from monitor.archive.layout import (
    FRAMES,
    JOBS,
    LATER_FRAMES,
    OLD_NAMES,
    RUNS,
    SCHEMA,
    JobLocation,
    job_in,
    location_of,
    to_frame,
    value_of,
)
from monitor.archive.store import Store
from monitor.errors import BadCall, NoData, NoSuchJob
from monitor.model import (
    RUN_FRAMES,
    Gap,
    Job,
    LogCoverage,
    Price,
    ProfilerCoverage,
    Run,
    in_order_of_time,
    is_price,
)
from monitor.model.document import document


def fields_of(value: Any) -> Any:
    """All that ``value`` holds, in JSON's own types: what ``valued`` makes it of again."""
    return document(value, {}, lambda leaf: leaf.isoformat() if isinstance(leaf, datetime) else leaf)


def valued(kind: Any, data: Any) -> Any:
    """The value of type ``kind`` that ``fields_of`` made ``data`` of; fields that are absent keep their defaults.

    KeyError, TypeError or ValueError where the data are of another form.
    """
    if data is None or kind is Any:
        return data
    if isinstance(kind, type) and is_dataclass(kind):
        types = _types(kind)
        return kind(**{name: valued(types[name], item) for name, item in data.items() if name in types})
    if kind is datetime:
        return datetime.fromisoformat(data)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return valued(next(each for each in inner if each is not NoneType), data)
    if origin is tuple:
        return tuple(valued(inner[0], item) for item in data)
    if origin is Mapping:
        return {key: valued(inner[1], item) for key, item in data.items()}
    return data


@cache
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


_BODY = b', "run": '
_AGAIN = "Archive the job again."
# What nobody knows without a price.
_MONEY = frozenset({name for name in JOBS if "_usd" in name} | {"price_usd_per_instance_hour", "price_source"})


class NewerSchema(NoData):
    """Written by a later version of this program, which must not be undone."""


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """One file of a job."""

    path: str
    size_bytes: int
    sha256: str

    @classmethod
    def of(cls, path: str, data: bytes) -> ArchivedFile:
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
    parts: Mapping[str, ArchivedFile]
    """By the name of the table, and "report"."""
    row: Mapping[str, Any]
    """As in the table of jobs, so that a list of jobs needs no more than these files."""
    profiler: ProfilerCoverage | None = None
    beginnings: Mapping[str, str] = field(default_factory=dict)
    """Of log files: what tells them from others of their name."""


def to_bytes(manifest: Manifest) -> bytes:
    body = json.dumps(fields_of(manifest), indent=1).encode()
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


# A job that is replaced while it is read is read again, so often.
_LOOKS = 3
_JOB_ARN = re.compile(r"arn:[^/]*:training-job/(?P<name>.+)")


@dataclass(frozen=True, slots=True)
class Archived:
    """One job as it was archived."""

    run: Run
    manifest: Manifest
    broken: tuple[str, ...] = ()
    """The files beside the frames that are missing or not those that were written: engines read these."""

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What is to be said of them."""
        if not self.broken:
            return ()
        are, them = ("files are", "them") if self.broken[1:] else ("file is", "it")
        why = f"The archive's {' and '.join(self.broken)} {are} missing or damaged; this report does not need {them}."
        return (Gap("archive", why, _AGAIN),)


class Archive:
    """The jobs in one store. Reads what it is asked for, and remembers nothing."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def find(self, name: str) -> Manifest:
        """The job of that name or ARN. NoSuchJob names the nearest; BadCall where several have the name."""
        arn = _JOB_ARN.fullmatch(name)
        known = list(self.store.listed(RUNS))
        paths = [path for path in known if f"/job={value_of(arn['name'] if arn else name)}/" in path]
        found = [manifest for path in paths if (manifest := self._manifest(path)) is not None]
        if arn:
            found = [manifest for manifest in found if manifest.job.arn == name]
        if not found:
            raise self._no_such_job(name, known)
        if len(found) > 1:
            listed = ", ".join(sorted(manifest.job.arn or "one from log files" for manifest in found))
            raise BadCall(
                f"The archive {self.store.label} contains {len(found)} jobs named {name}: {listed}.",
                f"Name one by its ARN: --archive {self.store.label} ARN.",
            )
        return found[0]

    def at(self, location: JobLocation) -> Manifest | None:
        """The job in a place, None where none is there. NoData where it is damaged, or a later version wrote it."""
        return self._manifest(location.run)

    def row_at(self, location: JobLocation) -> Mapping[str, Any]:
        """The row of a job as engines read it, for what is left when the rest is damaged; empty where it is, too."""
        data = self.store.read(location.table("jobs"))
        try:
            (row,) = [] if data is None else to_frame(data).to_dict("records")
        except Exception:  # Arrow has many errors of its own for what is no Parquet
            return {}
        return {str(name): None if pd.isna(value) else value for name, value in row.items()}

    def load(self, manifest: Manifest) -> Archived:
        """A job with its frames. NoData where these are not the ones that were archived with it."""
        for _ in range(_LOOKS):
            data = {name: self.store.read(part.path) for name, part in manifest.parts.items()}
            broken = tuple(name for name, part in manifest.parts.items() if not part.is_in(data[name]))
            newer = self.at(location_of(manifest.job)) if broken else None
            if newer is None or newer == manifest:
                break
            manifest = newer  # it was replaced meanwhile
        for name in FRAMES:
            if name in broken or (name not in data and name not in LATER_FRAMES):
                # What an interrupted writer leaves of a job that was archived before, too.
                raise NoData(
                    f"The archive of {manifest.job.name} in {self.store.label} is incomplete: its {name} are "
                    f"{'missing' if data.get(name) is None else 'not the ones that belong to it'}.",
                    _AGAIN,
                )
        frames = {name: to_frame(part) for name, part in data.items() if name in FRAMES and part is not None}
        if frames["steps"]["line"].isna().any() or frames["events"]["line"].isna().any():
            # Archives were written so where the head of a stream could not be read.
            frames["steps"], frames["events"] = in_order_of_time(frames["steps"], frames["events"])
        run = Run(
            job=manifest.job,
            gaps=manifest.gaps,
            metrics_period_s=manifest.metrics_period_s,
            logs=manifest.logs,
            profiler=manifest.profiler,
            **{name: made(frames.get(name, ())) for name, made in RUN_FRAMES.items()},
        )
        return Archived(run, manifest, broken)

    def broken(self, manifest: Manifest) -> tuple[str, ...]:
        """The parts that are missing or not those that were written, by their checksums: every file is read."""
        return tuple(name for name, part in manifest.parts.items() if not part.is_in(self.store.read(part.path)))

    def only(self) -> str:
        """The name of the one job there is. NoData where there is none, BadCall where there are several."""
        names = sorted({job_in(path) for path in self.store.listed(RUNS)})
        if not names:
            raise NoData(f"The archive {self.store.label} contains no jobs.", "Archive one first: archive JOB.")
        if len(names) > 1:
            some = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
            raise BadCall(
                f"The archive {self.store.label} contains {len(names)} jobs ({some}).",
                f"Name one: archive:{self.store.label}/JOB.",
            )
        return names[0]

    def _manifest(self, path: str) -> Manifest | None:
        data = self.store.read(path)
        return None if data is None else from_bytes(data, f"{self.store.label}/{path}")

    def _no_such_job(self, name: str, paths: Iterable[str]) -> NoData | NoSuchJob:
        if any(f"/job={value_of(name)}/" in path for path in self.store.listed(f"{FRAMES[0]}/")):
            why = f"The archive of {name} in {self.store.label} was started but not completed."
            return NoData(why, _AGAIN)
        names = sorted({job_in(path) for path in paths})
        near = [other for other in names if name in other][:3] or difflib.get_close_matches(name, names, n=3)
        guess = f"Did you mean {' or '.join(near)}?" if near else "List its jobs:"
        where = "" if near else f" jobs --archive {self.store.label}"
        return NoSuchJob(f"There is no job '{name}' in the archive {self.store.label}.", f"{guess}{where}")
