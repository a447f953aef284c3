"""Whatever a user's machine, files and words are like, a command is done or says in one sentence what is wrong with them."""

from __future__ import annotations

import pwd
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks.hostile.account import NAME
from monitor.cli.grammar import parser
from tests.attack.calls import CROSSED, HALF, PRINTING, STEPS, a_call_of, one_sentence, ran


@pytest.fixture
def homeless(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A container that runs under a number which is no user's."""

    def unknown(number: int) -> None:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RuntimeError):
        Path("~/x").expanduser()
    return fresh


@pytest.mark.parametrize("command", PRINTING)
def test_a_user_without_a_home_is_served(command: str, homeless: Path) -> None:
    found = ran(a_call_of(command, homeless))
    if command in {"thresholds", "nightly"}:
        one_sentence(found, 3)
        assert f"XDG_{'CONFIG' if command == 'thresholds' else 'STATE'}_HOME" in found.err
    else:
        assert (found.code, found.err) == (0, "")


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (["alert", NAME], 2, "none is saved"),
        (["alert", NAME, "--when", CROSSED, "--notify", "exec:true"], 3, "--ledger"),
        (["thresholds", "add", "x", CROSSED], 3, "XDG_CONFIG_HOME"),
        (["archive", NAME], 2, "No archive was named"),
        (["report", "archive:x"], 3, "no archive at x"),
        (["report", "archive:~nobody-of-that-name/x"], 3, "whole path"),
        (["archive", NAME, "--to", "~/x"], 3, "whole path"),
        (["report", "logs:~/x"], 3, "There is no file or folder '~/x'"),
        (["dashboard", "--archive", "~/x"], 3, "whole path"),
    ],
)
def test_what_needs_a_home_says_so(argv: list[str], code: int, words: str, homeless: Path) -> None:
    found = ran(argv)
    one_sentence(found, code)
    assert words in found.err


def test_the_dashboards_process_gets_a_home(homeless: Path) -> None:
    from monitor.serve import _with_home

    assert _with_home({"PATH": "/bin"}) == {"PATH": "/bin", "HOME": "/"}
    assert _with_home({"HOME": "/home/me"}) == {"HOME": "/home/me"}


_DEEP = "[" * 3000 + "]" * 3000
_TOML = {
    "deep": f"a = {_DEEP}",
    "deep-tables": f"a = {'{a = ' * 3000}1{'}' * 3000}",
    "digits": f"a = {'9' * 5000}",
    "cut": "[[rule",
    "bytes": b"\xff\xfe\x00",
    "endless": None,
    "folder": "",
}


@pytest.mark.parametrize("name", _TOML)
@pytest.mark.parametrize("file", ["config.toml", "thresholds.toml", "muted.toml", "rules"])
def test_a_damaged_file_of_the_users_is_told(file: str, name: str, machine: Path) -> None:
    path = machine / "rules.toml" if file == "rules" else machine / "config" / "trainwatch" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    content = _TOML[name]
    if name == "folder":
        path.mkdir()
    elif content is None:
        path.symlink_to("/dev/zero")
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if file == "muted.toml":
        found = ran(["report", NAME])
        assert found.code == 0
        assert found.err.startswith("trainwatch: not read: ")
        assert found.err.count("\n") == 1
        return
    argv = {"rules": ["alert", NAME, "--rules", str(path)], "config.toml": ["report", NAME]}
    found = ran(argv.get(file, ["thresholds"]))
    one_sentence(found, 2)
    assert path.name in found.err


_NO_ARCHIVES = (
    "/",
    "//",
    "///",
    ".",
    "..",
    "s3:/",
    "x",
    f"/{HALF}",
    "a\0b",
    "x" * 5000,
    "~nobody-there/x",
    "~",
    "",
    "https://x",
)
_NO_BUCKETS = ("s3://", "s3:///x", "s3://BUCKET/x", f"s3://bucket/{HALF}")


@pytest.mark.parametrize("path", [*_NO_ARCHIVES, *_NO_BUCKETS])
def test_an_archive_that_is_none_isone_sentence(path: str, fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if path.startswith("s3://"):
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    calls = [
        ["report", f"archive:{path}"],
        ["jobs", "--archive", path],
        ["alert", f"archive:{path}", "--when", CROSSED],
    ]
    if path in {*_NO_BUCKETS, "a\0b", "https://x", "~nobody-there/x"}:
        calls.append(["archive", NAME, "--to", path])
    for argv in calls:
        found = ran(argv)
        one_sentence(found, found.code)
        assert found.code in {2, 3}


_HOSTILE = (
    HALF,
    "",
    "~nobody-there/x",
    "x" * 5000,
    "\x1b]52;c;aGk=\x07",
    "%s{}[/]%(x)d",
    "9" * 400,
    "nan",
    "/dev/full/x",
    "999999w",
)


def _options() -> list[tuple[str, str]]:
    """Each option of each command that takes a value."""
    choices: dict[str, Any] = parser()._subparsers._group_actions[0].choices  # type: ignore[union-attr,assignment]
    return [
        (command, action.option_strings[-1])
        for command, grammar in choices.items()
        for action in grammar._actions
        if action.option_strings and action.nargs != 0
    ]


@pytest.mark.parametrize(("place", "command", "option"), [(place, *each) for place, each in enumerate(_options())])
def test_no_value_of_an_option_is_an_error_of_the_program(place: int, command: str, option: str, machine: Path) -> None:
    for value in (HALF, _HOSTILE[1 + place % (len(_HOSTILE) - 1)]):
        found = ran([*a_call_of(command, machine), f"{option}={value}"])
        assert found.code in {0, 2, 3}, found
        assert "Trainwatch itself" not in found.err
        assert bool(found.err) >= bool(found.code)


@pytest.mark.parametrize("value", _HOSTILE, ids=range(len(_HOSTILE)))
@pytest.mark.parametrize("command", ["report", "steps", "plan", "alert", "compare", "archive", "thresholds"])
def test_no_name_is_an_error_of_the_program(command: str, value: str, fresh: Path) -> None:
    before = {"alert": ["--when", CROSSED], "archive": ["--to", "kept"], "thresholds": ["remove"]}.get(command, [])
    for name in (f"logs:{value}", value) if command == "thresholds" else (f"logs:{value}", f"archive:{value}"):
        found = ran([command, *before, "--", name, *([NAME] if command == "compare" else [])])
        assert found.code in {2, 3}, found
        assert "Trainwatch itself" not in found.err
        assert found.err.count("\n") == 1


def test_a_log_by_a_name_that_is_no_text_is_read(fresh: Path) -> None:
    (fresh / f"{HALF}.log").write_text("\n".join(STEPS), encoding="utf-8")
    job = f"logs:{fresh / HALF}.log"
    for argv, code in (
        (["report", job], 0),
        (["steps", job, "--format", "csv"], 0),
        (["alert", job, "--when", CROSSED], 1),
        (["archive", job, "--to", str(fresh / HALF)], 0),
        (["report", f"archive:{fresh / HALF}"], 0),
        (["report", job, "--output", str(fresh / f"{HALF}.txt")], 0),
    ):
        found = ran(argv)
        assert (found.code, found.err) == (code, ""), argv
    one_sentence(ran(["steps", job, "--step-regex", f"{HALF}(?P<step>.)"]), 2)


def test_a_damaged_archive_isone_sentence(fresh: Path) -> None:
    root = fresh / "kept"
    assert ran(["archive", NAME, "--to", str(root)]).code == 0
    (manifest,) = (path for path in root.glob("runs/**/*") if path.is_file())
    whole = manifest.read_bytes()
    for damaged in (
        b"",
        b"\xff",
        b"[" * 9000,
        b'{"schema": 1, "sha256": ' + b"[" * 9000,
        whole[:99],
        whole[::-1],
        b"null",
    ):
        manifest.write_bytes(damaged)
        one_sentence(ran(["report", f"archive:{root}"]), 3)
        found = ran(["jobs", "--archive", str(root)])
        assert (found.code, found.err.count("\n")) == (0, 1)


@pytest.mark.parametrize(
    "damage",
    [
        "update deliveries set message = '{'",
        "update deliveries set message = printf('%.9000c', '['), created = 'x'",
        "update deliveries set message = x'ff00', tries = 'x', next_try = x'ff'",
        "update alerts set since = 'x', about = '[', number = 'x'; update looks set first = 'x'",
    ],
)
def test_a_damaged_row_of_the_ledger_is_a_sentence_and_a_crossed_threshold_is_1(damage: str, machine: Path) -> None:
    ledger = machine / "ledger"
    argv = ["alert", NAME, "--when", CROSSED, "--ledger", str(ledger), "--notify"]
    assert ran([*argv, "exec:true"]).code == 1
    with closing(sqlite3.connect(ledger)) as database, database:
        database.executescript(f"update deliveries set sent = null; {damage}")
    found = ran([*argv, "exec:true"])
    assert found.code == 1
    assert "row" in found.err
    assert all(line.startswith("trainwatch: ") for line in found.err.splitlines())
    assert "Trainwatch itself" not in found.err


@pytest.mark.parametrize("content", [b"", b"\xff" * 9000, b"SQLite format 3\0" + b"\xff" * 9000])
def test_a_ledger_that_is_none_is_one_sentence_and_an_empty_one_is_new(content: bytes, machine: Path) -> None:
    (machine / "ledger").write_bytes(content)
    found = ran(["alert", NAME, "--when", CROSSED, "--ledger", str(machine / "ledger"), "--notify", "exec:true"])
    if content:
        one_sentence(found, 3)
    else:
        assert (found.code, found.err) == (1, "")
