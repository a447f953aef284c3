"""What has been said already, and what is still to be sent? A small database on disk, shared by all alerting processes.

That something is to be said, and to whom, is written down in one step before anything is sent; that it was sent, after.
Whoever is killed in between leaves it to the next process, which sends it again under the same id.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from monitor.alert.message import Message, message_from
from monitor.errors import CannotDo

_SCHEMA = """
create table if not exists looks (job text, rule text, first real, primary key (job, rule));
create table if not exists marks (name text primary key, at real);
create table if not exists alerts (
    job text, rule text, key text, number integer, since real, fired real, opened real,
    absent real, closed real, cleared real, about text, primary key (job, rule, key, number)
);
create table if not exists deliveries (
    id text, sink text, message text, created real, tries integer default 0, next_try real default 0, sent real,
    trouble text default '', primary key (id, sink)
);
"""
_KEPT_S = 400 * 86400.0
_WAIT_S = 30.0
#: Nobody is left in peace for longer after a failure.
LONGEST_WAIT_S = 3600.0


@dataclass(frozen=True, slots=True)
class Told:
    """An alert that was said: the newest of its job, rule and key (a node, or a finding)."""

    key: str
    number: int
    since: float | None
    fired: float | None
    absent: float | None
    """A finding was first missed then."""
    closed: float | None
    """That it is over was said then; None while it is open."""
    cleared: float | None
    about: str
    """The subject of the alert, as JSON."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A message that one sink has not got yet."""

    message: Message
    sink: str
    tries: int


def ledger_file(environ: Mapping[str, str] | None = None) -> Path:
    """``$XDG_STATE_HOME/trainwatch/alerts.sqlite`` (``~/.local/state`` otherwise)."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_STATE_HOME") or str(Path("~/.local/state").expanduser())
    return Path(base) / "trainwatch" / "alerts.sqlite"


class Ledger:
    """The database; with ``path`` None in memory, for what need not outlive the process."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        with self._translating():
            if path is not None:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                # Messages name jobs and nodes: its owner's business alone.
                path.touch(0o600)
            self._db = sqlite3.connect(path or ":memory:", timeout=_WAIT_S, isolation_level=None)
            self._db.execute("pragma synchronous = full")
            with self.change():
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    self._db.execute(statement)

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def change(self) -> Iterator[None]:
        """All of a block or nothing of it; meanwhile no other process changes anything."""
        with self._translating():
            self._db.execute("begin immediate")
            try:
                yield
            except BaseException:
                self._db.execute("rollback")
                raise
            self._db.execute("commit")

    def first_look(self, job: str, rule: str, now: float) -> float:
        """When a rule was first asked of a job: now, if never before."""
        self._db.execute("insert or ignore into looks values (?, ?, ?)", (job, rule, now))
        found = self._db.execute("select first from looks where job = ? and rule = ?", (job, rule)).fetchone()
        return float(found[0])

    def mark(self, name: str) -> float | None:
        """How far something has come."""
        with self._translating():
            found = self._db.execute("select at from marks where name = ?", (name,)).fetchone()
        return None if found is None else float(found[0])

    def set_mark(self, name: str, at: float) -> None:
        """Notes how far it has come now."""
        with self.change():
            self._db.execute("insert or replace into marks values (?, ?)", (name, at))

    def newest(self, job: str, rule: str) -> dict[str, Told]:
        """By key, the newest alert of each."""
        rows = self._db.execute(
            "select key, number, since, fired, absent, closed, cleared, about from alerts where job = ? and rule = ? "
            "order by number",
            (job, rule),
        )
        return {row[0]: Told(*row) for row in rows}

    def open(
        self,
        job: str,
        rule: str,
        key: str,
        number: int,
        since: float | None,
        fired: float | None,
        now: float,
        about: str,
    ) -> None:
        """Notes that an alert was said."""
        self._db.execute(
            "insert into alerts (job, rule, key, number, since, fired, opened, about) values (?, ?, ?, ?, ?, ?, ?, ?)",
            (job, rule, key, number, since, fired, now, about),
        )

    def end(self, job: str, rule: str, key: str, number: int, cleared: float, now: float) -> None:
        """Notes that an alert is over."""
        self._db.execute(
            "update alerts set closed = ?, cleared = ? where job = ? and rule = ? and key = ? and number = ?",
            (now, cleared, job, rule, key, number),
        )

    def miss(self, job: str, rule: str, key: str, number: int, since: float | None) -> None:
        """Notes since when a finding is missed; None: it is there again."""
        self._db.execute(
            "update alerts set absent = ? where job = ? and rule = ? and key = ? and number = ?",
            (since, job, rule, key, number),
        )

    def add(self, message: Message, sink: str, now: float) -> None:
        """Notes that a sink is to get a message."""
        self._db.execute(
            "insert or ignore into deliveries (id, sink, message, created) values (?, ?, ?, ?)",
            (message.id, sink, json.dumps(message.document()), now),
        )

    def pending(self, sink: str, now: float) -> list[Pending]:
        """What a sink has not got, the oldest first; nothing while it is left in peace after a failure."""
        with self._translating():
            rows = self._db.execute(
                "select message, sink, tries, next_try from deliveries where sink = ? and sent is null "
                # As they were written down: by its clock, which may be set back, an end could come before its beginning.
                "order by rowid",
                (sink,),
            ).fetchall()
        # A wait that is longer than any was told before the clock was set back.
        if any(now < row[3] <= now + LONGEST_WAIT_S for row in rows):
            return []
        return [Pending(message_from(json.loads(row[0])), row[1], row[2]) for row in rows]

    def count_pending(self, sink: str) -> int:
        with self._translating():
            query = "select count(*) from deliveries where sink = ? and sent is null"
            return int(self._db.execute(query, (sink,)).fetchone()[0])

    def sent(self, pending: Pending, now: float) -> None:
        """Notes that it was sent."""
        with self.change():
            self._db.execute(
                "update deliveries set sent = ?, trouble = '' where id = ? and sink = ?",
                (now, pending.message.id, pending.sink),
            )

    def failed(self, pending: Pending, next_try: float, trouble: str) -> None:
        """Notes that it could not be sent, and when to try again."""
        with self.change():
            self._db.execute(
                "update deliveries set tries = tries + 1, next_try = ?, trouble = ? where id = ? and sink = ?",
                (next_try, trouble, pending.message.id, pending.sink),
            )

    def forget(self, now: float) -> None:
        """Drops what is more than a year old."""
        with self.change():
            self._db.execute("delete from deliveries where coalesce(sent, created) < ?", (now - _KEPT_S,))
            self._db.execute("delete from alerts where opened < ?", (now - _KEPT_S,))

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            raise CannotDo(
                f"The ledger of alerts {self.path or ''} cannot be used: {why}.",
                "Check its folder, move the file away, or name another one with --ledger.",
            ) from error
