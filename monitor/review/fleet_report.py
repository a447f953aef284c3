"""The report of one archive and one window: what is new there is read, the rest is remembered, the sums are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from monitor.archive.fleet_parts import FactStore
from monitor.archive.store import Store
from monitor.fleet.owners import Member, Only, Owners
from monitor.fleet.report import FleetReport
from monitor.fleet.summing import BEFORE, fleet_report
from monitor.fleet.window import Window
from monitor.review.fleet_facts import FleetFacts, Read
from monitor.settings import Settings, cache_folder


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
