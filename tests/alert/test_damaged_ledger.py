"""A damaged row of the ledger neither stops nor hides the others, is never sent twice, and is told once with its place."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.alert import delivery
from monitor.alert import ledger as ledgers
from monitor.alert.delivery import deliver, key_of, undelivered
from monitor.alert.evaluate import evaluate
from monitor.alert.ledger import Ledger
from monitor.alert.message import Message
from monitor.alert.news import AlertContext, news
from monitor.alert.rules import rules_of
from monitor.alert.sinks.names import sink_of
from monitor.cli.main import main
from monitor.errors import CannotDo
from tests.alert.jobs import at, job, minutes
from tests.alert.test_delivery import message, noted
from tests.cli.commands import SMP

SINK = sink_of("exec:true")
KEY = key_of(SINK)
BROKEN_UTF8 = "cast(x'7b22c328' as text)"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    out: list[str] = []
    monkeypatch.setattr(
        delivery, "sender", lambda _: lambda each, sink: out.append(each.title.removeprefix("CRITICAL: "))
    )
    return out


def _sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.execute(statement)


def _three(path: Path) -> None:
    """Rows 1 to 3 are to be sent."""
    ledger = Ledger(path)
    noted(ledger, SINK, message("one"), message("two"), message("three"))
    ledger.close()


_OTHER_ID = json.dumps(message("four").document())
_FUTURE = json.dumps({"version": 7, **message("two").document()})
_DAMAGE = {
    "cut off": ("message = substr(message, 1, 40)", "its message is cut off or changed"),
    "empty": ("message = ''", "its message is cut off or changed"),
    "gone": ("message = null", "its message is missing"),
    "a number": ("message = '7'", "its message is no object"),
    "a list": ("message = '[]'", "its message is no object"),
    "nothing in it": ("message = '{}'", "its message has no id"),
    "nested": (f"message = '{'[' * 5000}'", "its message is cut off or changed"),
    "bytes": ("message = cast(message as blob)", "its message is no text"),
    "no UTF-8": (f"message = {BROKEN_UTF8}", "its message is no UTF-8 text"),
    "UTF-16": (f"message = cast(x'{_OTHER_ID.encode('utf-16').hex()}' as text)", "its message is "),
    "a kind of its own": ("message = json_set(message, '$.kind', 'sung')", "its message has an odd kind"),
    "a title that is none": ("message = json_set(message, '$.title', 7)", "its message has an odd title"),
    "a value that is none": ("message = json_set(message, '$.value', 'x')", "its message has an odd value"),
    "NaN": ("message = replace(message, '4.0', 'NaN')", "its message has an odd value"),
    "a time that is none": ("message = json_set(message, '$.at', 'noon')", "its message has an odd at"),
    "another version": (f"message = '{_FUTURE}'", "its message is of a version that this program does not know"),
    "another message": (f"message = '{_OTHER_ID}'", "its message is another one than its id says"),
    "another id": ("id = 'x'", "its message is another one than its id says"),
    "no id": ("id = null", "its id is missing"),
    "no sink": ("sink = null", "its sink is missing"),
    "a sink that is none": ("sink = 'exec:true'", "its sink names no sink"),
    "a sink of bytes": (f"sink = {BROKEN_UTF8}", "its sink is no UTF-8 text"),
    "tries in words": ("tries = 'many'", "its tries is no count"),
    "tries below 0": ("tries = -1", "its tries is no count"),
    "next try in words": ("next_try = 'soon'", "its next_try is no time"),
    "an endless wait": ("next_try = 9e999", "its next_try is no time"),
    "created in words": ("created = 'today'", "its created is no time"),
    "sent in words": ("sent = 'yes'", "its sent is no time"),
}  # fmt: skip


@pytest.mark.parametrize("opened", ["before", "after"])
@pytest.mark.parametrize(("change", "why"), _DAMAGE.values(), ids=_DAMAGE)
def test_a_damaged_message_is_told_once_and_the_others_are_sent(
    tmp_path: Path, sent: list[str], change: str, why: str, opened: str
) -> None:
    path = tmp_path / "ledger"
    _three(path)
    early = Ledger(path) if opened == "before" else None
    _sql(path, f"update deliveries set {change} where rowid = 2")
    ledger = early or Ledger(path)
    outcome = deliver(ledger, SINK, sleep=lambda seconds: None, clock=lambda: 1000.0)
    assert sent == ["one", "three"]
    # What does not name the sink any more is found when a ledger is opened.
    (said,) = ledger.damage() or Ledger(path).damage()
    assert f"A row of the ledger {path} is damaged (row 2 of deliveries: {why}" in said
    place = re.search(r"kept there as row (\d+) of damaged", said)
    assert place
    assert Ledger(path).damage() == ledger.damage() == []
    assert (outcome.waiting, outcome.trouble) == (0, "")
    with closing(sqlite3.connect(path)) as db:
        (held,) = db.execute("select held from damaged where rowid = ?", (int(place[1]),)).fetchone()
    assert held.isascii()
    assert held.count(",") >= 8
    assert [line.startswith("row 2 of deliveries: its ") for line in undelivered(path).damaged] == [True]


def test_a_message_that_is_there_twice_is_sent_once(tmp_path: Path, sent: list[str]) -> None:
    path = tmp_path / "ledger"
    _three(path)
    copied = "create table copy as select * from deliveries"
    _sql(path, copied, "drop table deliveries", "alter table copy rename to deliveries")
    _sql(path, "insert into deliveries select * from deliveries where rowid = 2")
    ledger = Ledger(path)
    assert deliver(ledger, SINK, sleep=lambda seconds: None, clock=lambda: 1000.0).sent == 3
    assert ["row 4 of deliveries: it is there twice" in said for said in ledger.damage()] == [True]
    # A copy that comes when the first is sent.
    _sql(
        path,
        "insert into deliveries select * from deliveries where rowid = 1",
        "update deliveries set sent = null where rowid = 4",
    )
    assert deliver(ledger, SINK, sleep=lambda seconds: None, clock=lambda: 2000.0).sent == 0
    assert len(ledger.damage()) == 1
    assert sent == ["one", "two", "three"]


LEVELS = {"algo-1": [90.0] * 5 + [30.0] * 10 + [90.0] * 15}
RULE = rules_of(["gpu_utilization < 40 for 5m"])


def _look(ledger: Ledger, minute: float) -> list[Message]:
    """What is new in a look at a job as of a minute."""
    found = job(minutes({name: levels[: int(minute)] for name, levels in LEVELS.items()}), running=True, length=minute)  # type: ignore[misc]  # fmt: skip
    look = AlertContext(found, at(minute))
    return [*news(ledger, look, evaluate(found, RULE, at(minute)), {RULE[0].name: (KEY,)})]


@pytest.mark.parametrize(
    ("table", "change", "why"),
    [
        ("alerts", "number = 'first'", "its number is no count"),
        ("alerts", "number = null", "its number is missing"),
        ("alerts", "about = substr(about, 1, 9)", "its about is cut off or changed"),
        ("alerts", "about = '{\"sung\": 1}'", "its about has an odd sung"),
        ("alerts", "about = '[]'", "its about is no object"),
        ("alerts", f"about = {BROKEN_UTF8}", "its about is no UTF-8 text"),
        ("alerts", "since = 'noon'", "its since is no time"),
        ("alerts", "fired = 1e300", "its fired is no time"),
        ("alerts", "closed = x'00ff'", "its closed is no time"),
        ("alerts", f"key = {BROKEN_UTF8}", "its key is no UTF-8 text"),
        ("looks", "first = 'long ago'", "its first is no time"),
        ("looks", "first = null", "its first is missing"),
        ("looks", f"rule = {BROKEN_UTF8}", "its rule is no UTF-8 text"),
    ],
)
def test_what_is_remembered_of_an_alert_may_be_damaged_and_nothing_is_said_twice(
    tmp_path: Path, sent: list[str], table: str, change: str, why: str
) -> None:
    path = tmp_path / "ledger"
    ledger = Ledger(path)
    assert [each.kind for each in _look(ledger, 14)] == ["firing"]
    deliver(ledger, SINK, clock=lambda: 1.0)
    _sql(path, f"update {table} set {change}")
    again = Ledger(path)
    _look(again, 15)
    _look(again, 25)
    deliver(again, SINK, clock=lambda: 2.0)
    (said,) = again.damage()
    assert f"row 1 of {table}: {why}" in said
    assert [title.split(":")[0] for title in sent] == ["WARNING", "RESOLVED"]


def test_a_mark_that_is_damaged_is_no_mark(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.set_mark("published x", 5.0)
    _sql(tmp_path / "ledger", "update marks set at = 'then'")
    assert ledger.mark("published x") is None
    ledger.set_mark("published x", 6.0)
    assert ledger.mark("published x") == 6.0
    assert len(ledger.damage()) == 1


_ANYTHING = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(), st.binary())
_COLUMN = st.sampled_from(["id", "sink", "message", "created", "tries", "next_try", "sent", "trouble", "refused"])


@given(st.dictionaries(_COLUMN, _ANYTHING, min_size=1, max_size=3), st.booleans())
def test_whatever_stands_in_a_row_the_others_are_sent_and_nothing_loops(row: dict[str, Any], opened: bool) -> None:
    out: list[str] = []
    ledger = Ledger()
    noted(ledger, SINK, message("one"), message("two"), message("three"))
    changes = ", ".join(f"{name} = ?" for name in row)
    values = [value.encode("utf-8", "replace") if isinstance(value, str) else value for value in row.values()]
    ledger._db.execute(f"update deliveries set {changes} where rowid = 2", values)
    if opened:
        with ledger.change():
            ledger._make_ready()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delivery, "sender", lambda _: lambda each, sink: out.append(each.title))
        for now in (1e9, 2e9, 1e12):
            deliver(ledger, SINK, sleep=lambda seconds: None, clock=lambda now=now: now)  # type: ignore[misc]
    assert [title for title in out if title != "CRITICAL: two"] == ["CRITICAL: one", "CRITICAL: three"]
    assert out.count("CRITICAL: two") <= 1


def test_it_is_said_on_the_terminal_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("CONFIG", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    path = tmp_path / "state" / "trainwatch" / "alerts.sqlite"
    path.parent.mkdir(parents=True)
    _three(path)
    _sql(path, "update deliveries set message = substr(message, 1, 99) where rowid = 2")
    argv = ["alert", "--logs", SMP, "--when", "step_time > 1", "--notify", "exec:true"]
    assert main(argv) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith(
        f"trainwatch: A row of the ledger {path} is damaged (row 2 of deliveries: its message is cut off"
    )
    assert main(argv) == 1
    assert capsys.readouterr().err == ""


def _no_ledger(path: Path) -> Iterator[tuple[str, str]]:
    path.write_bytes(os.urandom(9000))
    yield "noise", "file is not a database"
    path.unlink()
    _three(path)
    path.write_bytes(path.read_bytes()[:5000])
    yield "cut off", "malformed"
    path.unlink()
    _three(path)
    _sql(path, "pragma user_version = 9")
    yield "a later version", "is of version 9; this program knows version 1. Use a newer version"
    path.unlink()
    _sql(path, "create table deliveries (other text)")
    yield "another form", "no such column"
    path.unlink()
    path.mkdir()
    yield "a folder", "cannot be used"
    path.rmdir()


def test_what_is_no_ledger_is_told_when_the_rule_is_given(tmp_path: Path) -> None:
    for what, words in _no_ledger(tmp_path / "ledger"):
        with pytest.raises(CannotDo, match=re.escape(words)):
            Ledger(tmp_path / "ledger")
        assert what


def test_a_ledger_that_cannot_be_written_is_told_when_the_rule_is_given(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    _three(path)
    # No journal can be made: nothing can be changed, though all can be read.
    (tmp_path / "ledger-journal").mkdir()
    with pytest.raises(CannotDo, match="cannot be used"):
        Ledger(path)


_HOLD = """
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("begin immediate")
print("held", flush=True)
time.sleep(60)
"""


def test_a_ledger_that_is_held_is_told_with_whose_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "_WAIT_S", 0.05)
    path = tmp_path / "ledger"
    _three(path)
    holder = subprocess.Popen([sys.executable, "-c", _HOLD, str(path)], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(CannotDo) as told:
            Ledger(path)
        whose = (
            {f"process {holder.pid}", "another process"}
            if not Path("/proc/locks").exists()
            else {f"process {holder.pid}"}
        )
        assert any(f"is locked by {who}" in str(told.value) for who in whose)
    finally:
        holder.kill()
        holder.wait()
    begun = time.monotonic()
    Ledger(path)
    assert time.monotonic() - begun < 10
