"""What can never work is said when a rule is given, before a job is looked at; and a lock that is held is told with whose."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from monitor.alert import delivery, locks, rules
from monitor.alert.delivery import check, deliver
from monitor.alert.ledger import Ledger
from monitor.alert.locks import taking_turns
from monitor.alert.sinks.names import sink_of
from monitor.cli.alert_text import not_sent
from monitor.cli.main import main
from monitor.errors import BadCall, CannotDo
from tests.alert.test_delivery import message, noted

NEVER_READ = "/nonexistent/never-read.log"


@pytest.fixture(autouse=True)
def _own_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for kind in ("CONFIG", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))


def _file(folder: Path, name: str, text: str, mode: int) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    ("name", "text", "mode", "words"),
    [
        ("missing", None, 0, "is not there"),
        ("folder", None, 0, "is a folder"),
        ("plain", "#!/bin/sh\n", 0o644, "may not be run"),
        ("headless", "echo hello\n", 0o755, "has no first line that says what runs it"),
        ("empty", "", 0o755, "has no first line that says what runs it"),
        ("orphan", "#!/no/such/shell -e\n", 0o755, "is to be run by /no/such/shell, which is not there"),
        ("dos", "#!/bin/sh\r\n", 0o755, r"is to be run by '/bin/sh\r', which is not there"),
        ("env", "#!/usr/bin/env no-such-python\n", 0o755, "is to be run by no-such-python, which is not there"),
    ],
)
def test_a_program_that_cannot_be_started(
    tmp_path: Path, name: str, text: str | None, mode: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder").mkdir()
    path = str(tmp_path / name) if text is None else _file(tmp_path, name, text, mode)
    with pytest.raises(BadCall, match=re.escape(words)):
        check(sink_of(f"exec:'{path}' --team ml"))
    # The job is not even looked for, and nothing is saved.
    assert main(["alert", "--logs", NEVER_READ, "--when", "loss > 3", "--notify", f"exec:'{path}'"]) == 2
    assert words in capsys.readouterr().err
    assert main(["thresholds", "add", "high", "loss > 3", "--notify", f"exec:'{path}'"]) == 2
    assert rules.saved() == ()


def test_programs_that_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = _file(tmp_path, "page me", "#!/usr/bin/env sh\n", 0o755)
    for text in ("exec:true", f"exec:'{script}' --team ml", f"exec:{sys.executable}"):
        check(sink_of(text))
    monkeypatch.chdir(tmp_path)
    check(sink_of("exec:'./page me'"))


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("https://hooks.example.com:99999/SECRET", "ports go from 1 to 65535"),
        ("https://hooks.example.com:0/SECRET", "its port is 0"),
        ("https://hooks.example.com:https/SECRET", "ports go from 1 to 65535"),
        ("https://hooks.example.com:-1/SECRET", "ports go from 1 to 65535"),
        ("https://[::1/SECRET", "cannot be read"),
        ("https:///SECRET", "names no host"),
        ("https:/hooks.example.com/SECRET", "names no host"),
        ("hooks.example.com/SECRET", "does not begin with https://"),
        ("ftp://hooks.example.com/SECRET", "does not begin with https://"),
        ("https://hooks.example.com/SE CRET", "a sign that no address has"),
        ("https://hooks.example.com\\SECRET", "a sign that no address has"),
        ("https://hooks..example.com/SECRET", "host cannot be one"),
        (f"https://{'a' * 64}.com/SECRET", "host cannot be one"),
        ("https://*.example.com/SECRET", "host cannot be one"),
        ("https://256.0.0.1/SECRET", "host cannot be one"),
    ],
)
@pytest.mark.parametrize("held", ["", "env:", "file:"])
def test_an_address_that_cannot_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], address: str, words: str, held: str
) -> None:  # fmt: skip
    monkeypatch.setenv("HOOK", address)
    target = {"": address, "env:": "env:HOOK", "file:": f"file:{_file(tmp_path, 'hook', address, 0o600)}"}[held]
    assert main(["alert", "--logs", NEVER_READ, "--when", "loss > 3", "--notify", f"webhook:{target}"]) == 2
    err = capsys.readouterr().err
    assert words in err
    assert "SECRET" not in err
    rules = tmp_path / "rules.toml"
    rules.write_text(f"[[rule]]\nname = 'a'\nwhen = 'loss > 3'\nnotify = [{json.dumps(f'slack:{target}')}]\n", "utf-8")
    assert main(["alert", "--logs", NEVER_READ, "--rules", str(rules)]) == 2
    err = capsys.readouterr().err
    assert words in err
    assert "SECRET" not in err


@pytest.mark.parametrize(
    "address", ["https://h:65535/x", "http://[::1]:8/x", "https://u:p@h/x", "https://bücher.de/x", "http://localhost.:1/"]
)  # fmt: skip
def test_addresses_that_can(address: str) -> None:
    check(sink_of(f"webhook:{address}"))


def test_an_address_that_is_kept_elsewhere_may_come_later(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["thresholds", "add", "high", "loss > 3", "--notify", "slack:env:NOT_SET_HERE"]) == 0
    err = capsys.readouterr().err
    assert err == (
        "trainwatch: The environment variable NOT_SET_HERE is empty or not set. slack:env:NOT_SET_HERE needs the address in it. "
        "It is saved all the same; alert asks for it.\n"
    )
    assert [rule.notify for rule in rules.saved()] == [("slack:env:NOT_SET_HERE",)]


@pytest.mark.parametrize("extra", [(), ("--watch",), ("--format", "json", "--watch")])
def test_a_file_that_cannot_be_written_is_told_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], extra: tuple[str, ...]
) -> None:
    argv = ["alert", "--logs", NEVER_READ, "--when", "loss > 3", *extra]
    for given in (["--output", str(tmp_path)], ["--output", str(tmp_path / "none" / "x.json")]):
        assert main([*argv, *given]) == 3
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert err.startswith(f"trainwatch: {given[1]} cannot be written: ")
    _file(tmp_path, "file", "", 0o600)
    assert main([*argv, "--notify", "exec:true", "--ledger", str(tmp_path / "file" / "ledger")]) == 3
    assert "The ledger of alerts" in capsys.readouterr().err


_HOLD = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from monitor.alert.locks import taking_turns

    with taking_turns(Path(sys.argv[1]), "alert on job-7", 1.0) as turn:
        print(turn.mine, flush=True)
        time.sleep(60)
    """
)


class Holder:
    """Another process that holds a lock."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-c", _HOLD, str(path)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"True\n"

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def _locks(folder: Path) -> list[Path]:
    return list(folder.glob("*.lock"))


def test_another_process_that_sends_is_named_and_its_end_frees_the_sink(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink, ledger, waited = sink_of("exec:true"), Ledger(tmp_path / "ledger"), []
    deliver(ledger, sink)
    (lock,) = _locks(tmp_path)
    noted(ledger, sink, message("one"))
    holder = Holder(lock)
    try:
        outcome = deliver(ledger, sink, sleep=waited.append)
        assert (outcome.sent, outcome.waiting) == (0, 1)
        assert outcome.holder.startswith(f"process {holder.process.pid} (alert on job-7, since ")
        assert sum(waited) >= delivery._LOCK_WAIT_S
        assert (
            not_sent(outcome)
            == f"{outcome.holder} is sending to exec:true; 1 message waits for it, or for the next try."
        )
    finally:
        holder.end()
    assert deliver(ledger, sink).sent == 1


_NOBODY = [
    b"",
    b"{",
    b"7",
    b'{"pid": "x"}',
    b"\xff\xfe",
    b"[" * 1900,
    b'{"pid": 1, "host": "a\\u001b]0;", "what": "", "since": "2026-01-01T00:00:00"}',
]


@pytest.mark.parametrize("held", _NOBODY, ids=range(len(_NOBODY)))
def test_a_lock_that_does_not_say_whose_it_is(tmp_path: Path, held: bytes) -> None:
    path = tmp_path / "lock"
    with taking_turns(path, "", 0.0) as mine:
        assert mine.mine
        path.write_bytes(held)
        with taking_turns(path, "", 0.0) as other:
            assert (other.mine, other.holder) == (False, "another process")


def test_the_holder_on_another_machine_is_told_with_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with taking_turns(path, "alert on job-7", 0.0):
        told: dict[str, Any] = json.loads(path.read_bytes())
        path.write_text(json.dumps(told | {"host": "pod-3", "since": "2026-09-25T12:03:10+00:00"}), encoding="utf-8")
        with taking_turns(path, "", 0.0) as other:
            assert other.holder == f"process {told['pid']} on pod-3 (alert on job-7, since 12:03 UTC)"
    assert path.read_bytes() == b""
    assert path.stat().st_mode & 0o077 == 0


def test_thresholds_that_somebody_is_changing_are_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_LOCK_WAIT_S", 0.1)
    path = tmp_path / "thresholds.toml"
    rules.add("high", "loss > 3", path=path)
    holder = Holder(path.with_suffix(".lock"))
    try:
        with pytest.raises(CannotDo, match=rf"is being changed by process {holder.process.pid} \("):
            rules.add("higher", "loss > 4", path=path)
    finally:
        holder.end()
    rules.add("higher", "loss > 4", path=path)
    assert [rule.name for rule in rules.saved(path)] == ["high", "higher"]
