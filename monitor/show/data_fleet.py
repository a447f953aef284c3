"""What the Fleet page asks for: the facts of the archive's jobs, brought up to date in the background, and sums over them."""

from __future__ import annotations

import math
import os
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from monitor import settings
from monitor.archive.cache import user_cache
from monitor.archive.fleet_parts import FactStore
from monitor.archive.store import Store, store_of
from monitor.aws.calls import begin
from monitor.errors import TrainwatchError
from monitor.faults import fault
from monitor.fetch.source import JobQuery
from monitor.fleet.window import DateWindow
from monitor.model import JobSummary
from monitor.review.archiving import STATES, Archiver, ArchiveRequest
from monitor.review.fleet_facts import FleetDatabase, FleetFacts, FleetTables, fact_store
from monitor.show import data

#: An archive changes at night: a look at its list is enough, now and then.
_FRESH_S = 300.0
_REMEMBERED = 64
# While an archive is read for the first time: how often what is there is shown.
_SHOWN_EVERY_S, _MADE_EVERY_S = 0.5, 10.0


@dataclass(frozen=True, slots=True)
class FleetProgress:
    """How far the facts of the archive are read."""

    archive: str
    jobs: int | None = None
    """In the archive; None before the first look has ended."""
    progress: str = ""
    """What is under way; "" where nothing is."""
    unread: int = 0
    error: TrainwatchError | None = None
    generation: int = 0
    """Another one after each look that brought something."""
    looked_at: float = -math.inf


class Fleet:
    """The facts of one archive, for all visitors. A look is one thread's; whoever asks gets what is there."""

    def __init__(self, store: Store, facts: FactStore, sample: data.AccountChoice | None) -> None:
        self._store, self.facts, self._sample = store, facts, sample
        self._lock = threading.Lock()
        self._database = FleetDatabase.opened(facts, settings.read())
        # What was read before a restart is shown at once; what is new is looked for after that.
        self._state = FleetProgress(store.label, generation=0 if self._database is None else 1)
        self._waits = self._database is not None
        self._under_way: Future[None] | None = None
        self._made: OrderedDict[tuple[Any, ...], Any] = OrderedDict()

    def state(self) -> FleetProgress:
        """As it is; starts a look where the last one is some minutes ago, and the first view need not wait beside it."""
        with self._lock:
            running = self._under_way is not None and not self._under_way.done()
            if not running and time.monotonic() - self._state.looked_at > _FRESH_S:
                self._state = replace(self._state, progress="Looking for new jobs in the archive", error=None)
                if not self._waits:
                    self._under_way = begin(self._refresh)
            return self._state

    def drawn(self) -> None:
        """What is there is on the screen."""
        self._waits = False

    def made(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """What was made of the facts as they are now, once."""
        whole = (self._state.generation, *key)
        with self._lock:
            if whole in self._made:
                self._made.move_to_end(whole)
                return self._made[whole]
        found = make()
        with self._lock:
            self._made[whole] = found
            while len(self._made) > _REMEMBERED:
                self._made.popitem(last=False)
        return found

    def database(self) -> FleetDatabase:
        """The facts as they were after the last look that brought something."""
        with self._lock:
            if self._database is None:
                self._database = FleetDatabase.of(self.facts, settings.read())
            return self._database

    def _refresh(self) -> None:
        error: TrainwatchError | None = None
        try:
            if self._sample is not None:
                self._archive_the_sample(self._sample)
            self._read("")
        except TrainwatchError as found:
            error = found
        except Exception as found:
            error = fault(found, "Reading the archive")
        with self._lock:
            self._state = replace(self._state, progress="", error=error, looked_at=time.monotonic())

    def _archive_the_sample(self, account: data.AccountChoice) -> None:
        """The demo's jobs into the demo's own archive, which is gone with it; what is there by then is shown."""
        source, known = data.connect(account), settings.read()
        # The small ones first: so there is something to show sooner.
        jobs = sorted(source.find(JobQuery()).jobs, key=_node_seconds)
        ready: set[str] = set()

        def said(job: str, text: str) -> None:
            if text in STATES:
                ready.add(job)

        # What another page has read of them need not be read again.
        archiver = Archiver(self._store, known, user_cache(known.cache_bytes))
        asked = [ArchiveRequest.of(source, job) for job in jobs]
        under_way = begin(archiver.archive_all, asked, lambda: datetime.now(UTC), said)
        shown = 0
        while not under_way.done():
            progress = f"Archiving the sample jobs: {len(ready)} of {len(jobs)}"
            if len(ready) > shown:
                shown = len(ready)
                self._read(progress)
            self._show_progress(progress)
            time.sleep(_SHOWN_EVERY_S)
        under_way.result()

    def _read(self, progress: str) -> None:
        """Reads what is new, and makes it what is shown; of an archive that takes long, now and then on the way."""
        made_at = time.monotonic()

        def said(text: str) -> None:
            nonlocal made_at
            self._show_progress(progress or text)
            if time.monotonic() - made_at > _MADE_EVERY_S:
                self._show(None, 0)
                made_at = time.monotonic()

        read = FleetFacts(self._store, self.facts).update(said)
        if read.new or self._state.jobs != read.jobs:
            self._show(read.jobs, len(read.unread))

    def _show(self, jobs: int | None, unread: int) -> None:
        # Made here, so that no view waits for it.
        made = FleetDatabase.of(self.facts, settings.read())
        with self._lock:
            self._database = made
            self._state = replace(self._state, jobs=jobs, unread=unread, generation=self._state.generation + 1)

    def _show_progress(self, progress: str) -> None:
        with self._lock:
            self._state = replace(self._state, progress=progress)


def _node_seconds(job: JobSummary) -> float:
    """How long a job ran, or runs by now, times its instances."""
    begun = job.started or job.created
    ran_s = ((job.ended or datetime.now(UTC)) - begun).total_seconds() if begun else 0.0
    return ran_s * (job.instance_count or 1)


def fleet(account: data.AccountChoice) -> Fleet:
    """The archive that the dashboard shows, else the user's own. Errors of ``monitor.errors`` where it cannot be named."""
    shown = os.environ.get(settings.ARCHIVE_SHOWN)
    root = shown or settings.archive_root(settings.read())
    sample = account if os.environ.get(settings.SAMPLE_SHOWN) == "1" and not shown else None
    return _fleet(root, account.region, account.profile, sample)


@cache
def _fleet(root: str, region: str | None, profile: str | None, sample: data.AccountChoice | None) -> Fleet:
    store = store_of(root, region, profile)
    kept = fact_store(store.label)
    # Without a cache they live as long as the process; the system clears its own folder.
    return Fleet(store, kept or FactStore(Path(tempfile.mkdtemp(prefix="trainwatch-fleet-"))), sample)


def tables(found: Fleet, window: DateWindow, by: str) -> FleetTables:
    """The sums of a window."""
    made: FleetTables = found.made(("tables", window, by), lambda: found.database().tables(window, by))
    return made


def jobs(found: Fleet, window: DateWindow, by: str, owner: str | None, uses: tuple[str, ...]) -> Any:
    """The jobs behind a part of the bar."""
    return found.made(("jobs", window, by, owner, uses), lambda: found.database().jobs(window, by, owner, uses))
