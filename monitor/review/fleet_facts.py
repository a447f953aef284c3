"""The facts of all jobs of an archive, and its report for a window: what is new there is read, what was read before is kept.

Exactly once: a job is told by its place and the stamp of its file there, so a run that was killed goes on where it was, and a
second one reads nothing but what was archived since.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from monitor.archive import manifest as manifests
from monitor.archive.fleet_parts import FactStore, days_of
from monitor.archive.layout import RUNS, to_frame, to_rows
from monitor.archive.store import Store
from monitor.errors import NoData
from monitor.fetch.background import side_by_side
from monitor.fleet.facts import JobFacts, Member, Only, Owners, facts_of
from monitor.fleet.report import FleetReport
from monitor.fleet.summing import BEFORE, fleet_report
from monitor.fleet.window import Window
from monitor.review.run_names import base_of
from monitor.settings import Settings, cache_folder

# Jobs a part: what a kill can cost.
_BATCH = 1000
# Of a far archive, jobs that are read at the same time.
_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Read:
    """What a look at the archive brought."""

    jobs: int
    """In the archive."""
    new: int
    """Read now."""
    unread: tuple[str, ...]
    """What could not be read, in words."""


class FleetFacts:
    """The facts of the jobs of one archive; ``kept`` is where they outlive the process, None for nowhere."""

    def __init__(self, store: Store, kept: FactStore | None) -> None:
        self._store = store
        self._kept = kept
        self._here: dict[str, JobFacts] = {}

    def update(self, said: Callable[[str], None] = lambda text: None) -> Read:
        """Reads what is new; ``said`` is told how far it is."""
        listed = self._store.listed(RUNS)
        known = self._kept.stamps() if self._kept is not None else {}
        fresh = {path: stamp for path, stamp in listed.items() if known.get(path) != stamp}
        unread: list[str] = []
        done = 0
        todo = list(fresh.items())
        for batch in (todo[place : place + _BATCH] for place in range(0, len(todo), _BATCH)):
            found = list(self._of(batch))
            facts = [each for each in found if isinstance(each, JobFacts)]
            unread += [each for each in found if isinstance(each, str)]
            if self._kept is not None:
                self._kept.keep(facts)
            else:
                self._here |= {each.key: each for each in facts}
            done += len(batch)
            said(f"{done:,} of {len(fresh):,} new jobs of the archive read")
        if self._kept is not None and (fresh or known.keys() - listed.keys()):
            self._kept.settle(listed)
        return Read(len(listed), len(fresh), tuple(unread))

    def load(self, first: date, last: date) -> list[JobFacts]:
        """Those of the jobs that were there on any of these days, and at least those."""
        return list(self._here.values()) if self._kept is None else self._kept.load(first, last)

    def days(self) -> tuple[date, date] | None:
        """The first and the last on which any job was there; None where no job is."""
        if self._kept is not None:
            return self._kept.days()
        found = sorted(day for facts in self._here.values() for day in days_of(facts))
        return (found[0], found[-1]) if found else None

    def _of(self, batch: Iterable[tuple[str, str]]) -> Iterable[JobFacts | str | None]:
        read = side_by_side(self._one, batch, _AT_ONCE) if self._store.is_far else map(self._one, batch)
        return list(read)

    def _one(self, listed: tuple[str, str]) -> JobFacts | str | None:
        path, stamp = listed
        data = self._store.read(path)
        if data is None:
            return None  # deleted since
        called = f"{self._store.label}/{path}"
        try:
            return facts_in(path, stamp, data, self._store.read, called)
        except NoData as error:
            return str(error)


def facts_in(path: str, stamp: str, run: bytes, read: Callable[[str], bytes | None], called: str) -> JobFacts:
    """The facts of the job whose record (in ``runs/``) is ``run``; ``read`` gives the other files of the archive. NoData where
    they are damaged. Whoever has the files may call it: it is the same on one machine and on many."""
    row = manifests.row_of(run, called)
    folder, _, file = path.removeprefix(RUNS).rpartition("/")
    id = file.removeprefix("run-").removesuffix(".json")
    try:
        document = _document(read(f"reports/{folder}/report-{id}.json"))
        findings = _rows(read(f"findings/{folder}/part-{id}.parquet"))
        failed = row.get("status") == "Failed" and row.get("step_reports")
        saved_at = _saved_at(read(f"events/{folder}/part-{id}.parquet")) if failed else None
        return facts_of(path, stamp, base_of(str(row["job_name"])), row, document, findings, saved_at)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, OSError) as error:
        raise NoData(
            f"{called}: its report or its findings are damaged ({error}).", "Archive the job again."
        ) from error


def _document(data: bytes | None) -> Mapping[str, Any]:
    if data is None:
        raise ValueError("the report is missing")
    document: Mapping[str, Any] = json.loads(data)
    return document


def _rows(data: bytes | None) -> Sequence[Mapping[str, Any]]:
    if data is None:
        raise ValueError("the findings are missing")
    return to_rows(data)


def _saved_at(data: bytes | None) -> datetime | None:
    """When the log last said that a checkpoint was saved."""
    if data is None:
        return None
    events = to_frame(data)
    at = events.loc[events["kind"] == "checkpoint-end", "timestamp"].dropna()
    return at.max().to_pydatetime() if len(at) else None


@dataclass(frozen=True, slots=True)
class Made:
    """A report, and what was read for it."""

    report: FleetReport
    read: Read


def kept_facts(archive: str) -> FactStore | None:
    """Where the facts of an archive are kept; None where caches are turned off."""
    folder = cache_folder()
    return None if folder is None else FactStore.of(folder, archive)


def owners_of(settings: Settings) -> Owners:
    """How the settings tell whose a job is."""
    members = {each.number: Member(each.name, each.team, each.project) for each in settings.accounts if each.number}
    return Owners(settings.team_tag, settings.project_tag, members)


def made(
    store: Store,
    window: Window,
    now: datetime,
    by: str,
    settings: Settings,
    *,
    only: Only = Only(),
    keep: bool = True,
    said: Callable[[str], None] = lambda text: None,
) -> Made:
    """``said`` is told how far the jobs are read. Errors of ``monitor.errors`` where the archive cannot be read."""
    facts = FleetFacts(store, kept_facts(store.label) if keep else None)
    read = facts.update(said)
    first = min(window.before.start, window.start - BEFORE)
    # Recoveries come after a window's end, too.
    jobs = facts.load(first, max(window.end, now.date()))
    owner = owners_of(settings).by(by)
    report = fleet_report(store.label, jobs, window, now, by, owner, len(read.unread), only, facts.days())
    return Made(report, read)
