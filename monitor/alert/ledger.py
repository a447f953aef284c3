"""What has been said already, and what is still to be sent: a small database on disk, shared by all alerting processes.
Disks, hands and other programs leave rows that are not sound: they are told apart here.

Things are said once: what to say, and to whom, is one transaction here. Sending comes after it, by one process at a time for
each sink (``delivery``). A message's id follows from job, rule, node and number, not from a clock: a receiver can drop a
second one.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monitor.alert.locks import process_that_locks
from monitor.alert.message import Message, message_from, stored
from monitor.errors import CannotDo
from monitor.settings import no_home, user_folder

#: Table -> its columns and what they hold; one with "?" may be null.
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "looks": {"job": "text", "rule": "text", "first": "instant"},
    "marks": {"name": "text", "at": "instant"},
    "alerts": {
        "job": "text", "rule": "text", "key": "text", "number": "count", "since": "instant?", "fired": "instant?",
        "opened": "instant", "absent": "instant?", "closed": "instant?", "cleared": "instant?", "about": "subject",
    },
    "deliveries": {
        "id": "text", "sink": "sink", "message": "message", "created": "instant", "tries": "count",
        "next_try": "instant", "sent": "instant?", "trouble": "text", "refused": "instant?",
    },
}  # fmt: skip
#: What is there once.
KEYS: Mapping[str, tuple[str, ...]] = {
    "looks": ("job", "rule"),
    "marks": ("name",),
    "alerts": ("job", "rule", "key", "number"),
    "deliveries": ("id", "sink"),
}
_SINK = re.compile(r"(?P<shown>.+) [0-9a-f]{16}", re.DOTALL)
# Within the years that a date can have.
_LATEST_S = 250e9
_SUBJECT: Mapping[str, tuple[type, ...]] = {
    "node": (str,), "finding": (str,), "value": (int, float), "limit": (int, float), "unit": (str,),
}  # fmt: skip


def trouble_of(table: str, row: Mapping[str, Any]) -> str:
    """What is wrong with a row, as "its message is cut off"; "" where it is sound."""
    for name, kind in COLUMNS[table].items():
        if wrong := _wrong(kind, row[name]):
            return f"its {name} {wrong}"
    if table == "deliveries" and message_from(json.loads(row["message"])).id != row["id"]:
        return "its message is another one than its id says"
    return ""


def shown(sink: str) -> str:
    """The sink as people know it, of its name in the ledger."""
    match = _SINK.fullmatch(sink)
    return match["shown"] if match else sink


def dumped(values: Sequence[Any]) -> str:
    """A row's values in plain ASCII, so that they can be kept whatever they are."""
    return ", ".join(ascii(value) for value in values)


def _wrong(kind: str, value: Any) -> str:
    if value is None:
        return "" if kind.endswith("?") else "is missing"
    if kind.startswith("instant"):
        is_number = isinstance(value, int | float) and math.isfinite(value) and abs(value) <= _LATEST_S
        return "" if is_number else "is no time"
    if kind == "count":
        return "" if isinstance(value, int) and value >= 0 else "is no count"
    if not isinstance(value, str):
        return "is no text"
    # Bytes that are no UTF-8 were read as surrogates.
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        return "is no UTF-8 text"
    if kind == "sink":
        return "" if _SINK.fullmatch(value) else "names no sink"
    if kind in {"message", "subject"}:
        return _wrong_json(kind, value)
    return ""


def _wrong_json(kind: str, text: str) -> str:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return "is cut off or changed"
    if not isinstance(data, dict):
        return "is no object"
    if kind == "message":
        try:
            message_from(data)
        except ValueError as error:
            return str(error)
        return ""
    odd = [name for name, kinds in _SUBJECT.items() if not isinstance(data.get(name), (*kinds, type(None)))]
    odd += sorted(set(data) - set(_SUBJECT))
    return f"has an odd {odd[0]}" if odd else ""


_SCHEMA = """
create table if not exists looks (job text, rule text, first real, primary key (job, rule));
create table if not exists marks (name text primary key, at real);
create table if not exists alerts (
    job text, rule text, key text, number integer, since real, fired real, opened real,
    absent real, closed real, cleared real, about text, primary key (job, rule, key, number)
);
create table if not exists deliveries (
    id text, sink text, message text, created real, tries integer default 0, next_try real default 0, sent real,
    trouble text default '', refused real, primary key (id, sink)
);
create table if not exists damaged (origin text, place integer, why text, held text, at real, said integer default 0);
"""
#: Of the file; a newer one is a later program's, which must not be undone.
_VERSION = 1
_KEPT_S = 400 * 86400.0
#: What was set aside waits so long for somebody to send it again.
ASIDE_KEPT_S = 90 * 86400.0
_WAIT_S = 30.0
# What is still to be sent by itself.
_WAITS = "sent is null and refused is null"
#: Nobody is left in peace for longer after a failure.
LONGEST_WAIT_S = 3600.0


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """An alert that was said: the newest of its job, rule and key (a node, or a finding)."""

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
    created: float


@dataclass(frozen=True, slots=True)
class SetAside:
    """A message that a sink will not get by itself any more."""

    message: Message
    sink: str
    """As the ledger calls it."""
    why: str
    at: float

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> SetAside:
        """A row of deliveries."""
        return cls(message_from(json.loads(row["message"])), row["sink"], row["trouble"], row["refused"])

    @property
    def shown(self) -> str:
        """The sink, without what may be secret."""
        return shown(self.sink)


def ledger_file(environ: Mapping[str, str] | None = None) -> Path | None:
    """``$XDG_STATE_HOME/trainwatch/alerts.sqlite`` (``~/.local/state`` otherwise); None for a user without a home."""
    folder = user_folder("STATE", environ)
    return folder / "alerts.sqlite" if folder else None


def durable(path: Path | None) -> Path:
    """The path; CannotDo where there is none, and what is said would be forgotten with the process."""
    if path is None:
        raise no_home("the ledger of alerts", "STATE", ", or name a file with --ledger")
    return path


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
            # One text that is none must not keep the others from being read.
            self._db.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
            self._db.execute("pragma synchronous = full")
            with self.change():
                self._make_ready()

    def _make_ready(self) -> None:
        found = int(self._db.execute("pragma user_version").fetchone()[0])
        if found > _VERSION:
            raise CannotDo(
                f"The ledger of alerts {self.path} is of version {found}; this program knows version {_VERSION}.",
                "Use a newer version of this program, or name another ledger with --ledger.",
            )
        for statement in filter(str.strip, _SCHEMA.split(";")):
            self._db.execute(statement)
        if "refused" not in {row[1] for row in self._db.execute("pragma table_info(deliveries)")}:
            self._db.execute("alter table deliveries add column refused real")
        # Always written, so that a file which cannot be changed is told now and not when something is to be said.
        self._db.execute(f"pragma user_version = {_VERSION}")
        for table in COLUMNS:
            # Of what was sent only that counts.
            self._sound(table, "where typeof(sent) not in ('real', 'integer')" if table == "deliveries" else "")

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def change(self) -> Iterator[None]:
        """All of a block or nothing of it; meanwhile no other process changes anything."""
        with self._translating():
            self._db.execute("begin immediate")
            try:
                yield
                self._db.execute("commit")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("rollback")
                raise

    def first_check(self, job: str, rule: str, now: float) -> float:
        """When a rule was first asked of a job: now, if never before."""
        found = self._sound("looks", "where job = ? and rule = ?", (job, rule))
        if not found:
            self._db.execute("insert into looks values (?, ?, ?)", (job, rule, now))
        return float(found[0]["first"]) if found else now

    def mark(self, name: str) -> float | None:
        """How far something has come."""
        with self.change():
            found = self._sound("marks", "where name = ?", (name,))
        return float(found[0]["at"]) if found else None

    def set_mark(self, name: str, at: float) -> None:
        """Notes how far it has come now."""
        with self.change():
            self._db.execute("delete from marks where name = ?", (name,))
            self._db.execute("insert into marks values (?, ?)", (name, at))

    def newest(self, job: str, rule: str) -> dict[str, LedgerEntry]:
        """By key, the newest alert of each."""
        rows = self._sound("alerts", "where job = ? and rule = ?", (job, rule))
        names = ("number", "since", "fired", "absent", "closed", "cleared", "about")
        return {
            row["key"]: LedgerEntry(*(row[name] for name in names))
            for row in sorted(rows, key=lambda row: row["number"])
        }

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
            (message.id, sink, json.dumps(stored(message)), now),
        )

    def pending(self, sink: str, now: float) -> list[Pending]:
        """What a sink has not got, the oldest first; nothing while it is left in peace after a failure."""
        with self.change():
            # As they were written down: by its clock, which may be set back, an end could come before its beginning.
            rows = self._sound("deliveries", f"where sink = ? and {_WAITS}", (sink,))
        # A wait that is longer than any was told before the clock was set back.
        if any(now < row["next_try"] <= now + LONGEST_WAIT_S for row in rows):
            return []
        return [Pending(message_from(json.loads(row["message"])), sink, row["tries"], row["created"]) for row in rows]

    def count_pending(self, sink: str) -> int:
        with self._translating():
            query = f"select count(*) from deliveries where sink = ? and {_WAITS}"
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

    def refuse(self, pending: Pending, now: float, why: str) -> SetAside:
        """Sets a message aside that its sink refuses for good."""
        with self.change():
            self._db.execute(
                "update deliveries set tries = tries + 1, refused = ?, trouble = ? where id = ? and sink = ?",
                (now, why, pending.message.id, pending.sink),
            )
        return SetAside(pending.message, pending.sink, why, now)

    def set_aside(self) -> list[SetAside]:
        """All that was set aside and not sent again, the oldest first."""
        with self.change():
            rows = self._sound("deliveries", "where sent is null and refused is not null")
        return [SetAside.of_row(row) for row in rows]

    def try_again(self, aside: SetAside, sinks: Sequence[str], now: float) -> None:
        """A message that was set aside waits again, for these sinks in place of the one it was for, and at once."""
        with self.change():
            self._db.execute("delete from deliveries where id = ? and sink = ?", (aside.message.id, aside.sink))
            for sink in sinks:
                self.add(aside.message, sink, now)
                self._db.execute("update deliveries set next_try = 0 where sink = ?", (sink,))

    def damage(self) -> list[str]:
        """A sentence for each row that was found damaged and not told yet: what is wrong, and where it is."""
        with self.change():
            rows = self._db.execute("select rowid, origin, place, why from damaged where said = 0").fetchall()
            self._db.execute("update damaged set said = 1 where said = 0")
        return [
            f"A row of the ledger {self.path} is damaged (row {place} of {origin}: {why}); it is left out, and kept there as "
            f"row {row} of damaged."
            for row, origin, place, why in rows
        ]

    def forget(self, now: float) -> None:
        """Drops what is more than a year old, and what was set aside and left lying."""
        with self.change():
            self._db.execute("delete from deliveries where refused < ?", (now - ASIDE_KEPT_S,))
            self._db.execute("delete from damaged where at < ?", (now - ASIDE_KEPT_S,))
            self._db.execute("delete from deliveries where coalesce(sent, created) < ?", (now - _KEPT_S,))
            self._db.execute("delete from alerts where opened < ?", (now - _KEPT_S,))

    def _sound(self, table: str, where: str = "", values: Sequence[object] = ()) -> list[dict[str, Any]]:
        """The rows that can be relied on, in the order in which they were written. Within a change: others go aside."""
        names = [*COLUMNS[table]]
        query = f"select rowid, {', '.join(names)} from {table} {where} order by rowid"
        sound: dict[tuple[Any, ...], dict[str, Any]] = {}
        for place, *found in self._db.execute(query, values).fetchall():
            row = dict(zip(names, found, strict=True))
            key = tuple(row[name] for name in KEYS[table])
            why = trouble_of(table, row)
            if not why and (key in sound or (table == "deliveries" and self._was_sent(place, *key))):
                why = "it is there twice"
            if why:
                self._db.execute(
                    "insert into damaged (origin, place, why, held, at) values (?, ?, ?, ?, strftime('%s'))",
                    (table, place, why, dumped(found)),
                )
                self._db.execute(f"delete from {table} where rowid = ?", (place,))
            else:
                sound[key] = row
        return [*sound.values()]

    def _was_sent(self, place: int, id: str, sink: str) -> bool:
        """Whether another row says so of the same message."""
        query = "select 1 from deliveries where id = ? and sink = ? and sent is not null and rowid <> ?"
        return self._db.execute(query, (id, sink, place)).fetchone() is not None

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY:
                raise self._unusable(str(error)) from error
            holder = process_that_locks(self.path) if self.path else "another process"
            raise CannotDo(
                f"The ledger of alerts {self.path} is locked by {holder}, which did not let go of it for {_WAIT_S:.0f} s.",
                "Try again, or end that process.",
            ) from error
        except (sqlite3.Error, OSError) as error:
            raise self._unusable((error.strerror or "") if isinstance(error, OSError) else str(error)) from error

    def _unusable(self, why: str) -> CannotDo:
        return CannotDo(
            f"The ledger of alerts {self.path or ''} cannot be used: {why}.",
            "Check its folder, move the file away, or name another one with --ledger.",
        )
