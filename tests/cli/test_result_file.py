"""``--output``: a whole result or what stood there before, and what cannot be a file is said before any work is done."""

from __future__ import annotations

import os
import re
import shlex
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from monitor.cli import result_file
from monitor.cli.grammar import parser
from monitor.cli.main import main
from monitor.errors import CannotDo
from tests.cli.commands import LOGS, SMP, ran

ROOT = Path(__file__).parents[2]
# A call of each command that can be made without an account; the others are looked at before they ask for one.
COMMANDS: dict[str, tuple[str, ...]] = {
    "jobs": ("--archive", "ROOT"),
    "report": (LOGS,),
    "steps": (LOGS, "--format", "csv"),
    "compare": (LOGS, LOGS),
    "alert": (LOGS, "--when", "step_time > 100"),
    "thresholds": ("list",),
    "alarms": ("plan", "job-1", "--when", "step_time > 1"),
    "plan": ("--preset", "gpt2-10b"),
    "archive": (LOGS, "--to", "ROOT"),
    "fleet": ("--since", "520w", "--no-cache", "--archive", "ROOT"),
    "nightly": ("--archive", "ROOT"),
}
NEEDS_AN_ACCOUNT = {"alarms", "nightly"}


@pytest.fixture
def root(tmp_path: Path) -> str:
    root = str(tmp_path / "root")
    assert main(["archive", LOGS, "--to", root, "--quiet"]) == 0
    return root


class _Full:
    """The system, on a full disk."""

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)

    def fsync(self, _: int) -> None:
        raise OSError(28, "No space left on device")


def test_every_command_with_an_output_is_looked_at() -> None:
    commands = parser()._subparsers._group_actions[0].choices  # type: ignore[union-attr]
    with_output = {name for name, command in commands.items() if "--output" in command.format_help()}  # type: ignore[union-attr]  # fmt: skip
    assert with_output == set(COMMANDS)


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - NEEDS_AN_ACCOUNT))
def test_every_command_writes_beside_and_renames(
    tmp_path: Path, root: str, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [command, *(word.replace("ROOT", root) for word in COMMANDS[command]), "--quiet"]
    capsys.readouterr()
    target = tmp_path / "out" / "result"
    target.parent.mkdir()
    ran(capsys, *argv, "--output", str(target))
    whole = target.read_text(encoding="utf-8")
    assert len(whole) > 20
    old = "what stood there before\n" * 9999
    target.write_text(old, encoding="utf-8")
    inode = target.stat().st_ino

    with monkeypatch.context() as patch:
        patch.setattr(result_file, "os", _Full())
        out, err = ran(capsys, *argv, "--output", str(target), code=3)
    assert (out, err.count("\n")) == ("", 1)
    assert "No space left on device" in err
    assert target.read_text(encoding="utf-8") == old
    ran(capsys, *argv, "--output", str(target))
    assert target.stat().st_ino != inode
    assert os.listdir(target.parent) == ["result"]  # noqa: PTH208


def _special(folder: Path, kind: str) -> Path:
    path = folder / kind
    match kind:
        case "a folder":
            path.mkdir()
        case "a socket":
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(str(path))
        case "a block device":
            disks = [each for each in Path("/dev").glob("*") if each.is_block_device()]
            if not disks:
                pytest.skip("no block device here")
            return disks[0]
    return path


@pytest.mark.parametrize("command", sorted(COMMANDS))
@pytest.mark.parametrize("kind", ["a folder", "a socket", "a block device"])
def test_what_is_no_file_is_said_before_any_work_is_done(
    tmp_path: Path, command: str, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)  # the paths of sockets are short
    target = _special(tmp_path, kind)
    before = target.lstat()
    # Had it begun, it would have said that there is no such log.
    argv = [word.replace(SMP, "/nonexistent.log") for word in COMMANDS[command]]
    out, err = ran(capsys, command, *argv, "--output", str(target), code=3)
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"trainwatch: {target} cannot be written: it is {kind}. Name another file with --output.")
    assert ("goes to standard output" in err) == (kind != "a folder")
    assert (target.lstat().st_ino, target.lstat().st_mode) == (before.st_ino, before.st_mode)


@pytest.mark.parametrize(
    "argv",
    [("report", "logs:FILE"), ("steps", "--logs", "FILE"), ("compare", LOGS, "logs:FILE"), ("archive", "logs:FILE"),
     ("alert", LOGS, "--rules", "FILE"), ("alert", LOGS, "--ledger", "FILE", "--when", "loss > 3")],
)  # fmt: skip
def test_a_result_never_takes_the_place_of_what_is_read(
    tmp_path: Path, argv: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "train.log"
    file.write_text("step=1 loss=2.0\n", encoding="utf-8")
    (tmp_path / "link").symlink_to(file)
    _, err = ran(
        capsys, *(word.replace("FILE", str(file)) for word in argv), "--output", str(tmp_path / "link"), code=2
    )
    assert err.startswith(f"trainwatch: --output {tmp_path}/link is a file that the command reads.")
    assert file.read_text(encoding="utf-8") == "step=1 loss=2.0\n"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "--output names no file"),
        ("none/x", "No such file or directory"),
        ("none/", "it is a folder"),
        ("file/x", "Not a directory"),
        ("x" * 300, "File name too long"),
        ("a\0b", "it is no name of a file"),
        ("loop", "cannot be written"),
    ],
)
def test_a_name_that_cannot_be_one(tmp_path: Path, name: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(CannotDo, match=words):
        result_file.check(name)
    with pytest.raises(CannotDo, match=words):
        result_file.put(name, "x")


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_what_may_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("old", encoding="utf-8")
    (tmp_path / "kept").chmod(0o444)
    (tmp_path / "closed").mkdir(0o555)
    for name in ("kept", "closed/x"):
        with pytest.raises(CannotDo, match="Permission denied"):
            result_file.check(str(tmp_path / name))


def test_rights_and_links_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old", encoding="utf-8")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    result_file.put(str(tmp_path / "link"), "new\n")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text(encoding="utf-8") == "new\n"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o640
    (tmp_path / "ahead").symlink_to("later")
    result_file.put(str(tmp_path / "ahead"), "new\n")
    assert (tmp_path / "later").read_text(encoding="utf-8") == "new\n"
    (tmp_path / "by hand").touch()
    assert (tmp_path / "later").stat().st_mode == (tmp_path / "by hand").stat().st_mode


def test_text_that_is_no_utf_8_is_written_all_the_same(tmp_path: Path) -> None:
    result_file.put(str(tmp_path / "x"), "caf\udce9\n")
    assert (tmp_path / "x").read_bytes() == b"caf\\udce9\n"


def test_whoever_reads_meanwhile_sees_the_old_or_the_new_one(tmp_path: Path) -> None:
    path, texts = tmp_path / "x", [f"{letter * 200_000}\n" for letter in "ab"]
    path.write_text(texts[0], encoding="utf-8")
    seen: set[str] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.add(path.read_text(encoding="utf-8"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for turn in range(60):
            result_file.put(str(path), texts[turn % 2])
    finally:
        done.set()
        watcher.join()
    assert seen <= set(texts)


def _reading(path: Path) -> tuple[threading.Thread, list[bytes]]:
    """What comes out of a pipe, once the thread has ended."""
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()))
    reader.start()
    return reader, got


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - NEEDS_AN_ACCOUNT))
def test_a_pipe_and_a_device_are_written_to_as_they_are(
    tmp_path: Path, root: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [command, *(word.replace("ROOT", root) for word in COMMANDS[command]), "--quiet"]
    capsys.readouterr()
    ran(capsys, *argv, "--output", str(tmp_path / "file"))
    ran(capsys, *argv, "--output", os.devnull)
    assert Path(os.devnull).is_char_device()
    os.mkfifo(tmp_path / "pipe")
    reader, got = _reading(tmp_path / "pipe")
    ran(capsys, *argv, "--output", str(tmp_path / "pipe"))
    reader.join()
    times = re.compile(rb"[\d.:TZ-]{8,}|\d+")
    assert times.sub(b"", got[0]) == times.sub(b"", (tmp_path / "file").read_bytes())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "pipe", "root"]


def test_the_shell_s_pipes_and_files_that_are_open_already(tmp_path: Path) -> None:
    ask = "import sys; from monitor.cli import result_file as f; f.check(sys.argv[1]); f.put(sys.argv[1], 'new\\n')"
    run = f"PYTHONPATH={ROOT} {shlex.quote(sys.executable)} -c {shlex.quote(ask)}"
    for shell, left in (
        ("{run} >(cat > out; echo done > done); while [ ! -s done ]; do sleep 0.05; done", "new\n"),
        ("{run} /dev/stdout | cat > out", "new\n"),
        ("{run} /dev/stdout > out", "new\n"),
        # What is appended to keeps what it holds.
        ("echo old > out; {run} /dev/stdout >> out", "old\nnew\n"),
        ("{run} /dev/stderr 2> out", "new\n"),
        # Nobody reads any more: neither an error nor an endless wait.
        ("{run} /dev/stdout | true; echo ${{PIPESTATUS[0]}} > out", "0\n"),
        ("{run} /dev/fd/7 7> out", "new\n"),
        ("{run} /dev/fd/99 2> err || echo refused > out", "refused\n"),
        ("{run} /dev/full 2> err || echo refused > out", "refused\n"),
    ):
        done = subprocess.run(
            ["bash", "-c", shell.format(run=run)], cwd=tmp_path, timeout=60, capture_output=True, text=True, check=True
        )
        assert (tmp_path / "out").read_text(encoding="utf-8") == left, (shell, done.stderr)
        (tmp_path / "out").unlink()


def test_a_device_that_takes_nothing_is_told() -> None:
    with pytest.raises(CannotDo, match="/dev/full cannot be written: No space left on device"):
        result_file.put("/dev/full", "x")


def _left(target: Path, age_s: float) -> Path:
    """What a process that was killed left beside a target, so long ago."""
    parts: list[Path] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", lambda self, _: parts.append(self))
        patch.setattr(Path, "unlink", lambda self, missing_ok=False: None)
        result_file.put(str(target), "half")
    (part,) = parts
    os.utime(part, (time.time() - age_s, time.time() - age_s))
    return part


def test_what_a_killed_process_left_goes_with_the_next_write_to_the_same_file(tmp_path: Path) -> None:
    old, fresh = _left(tmp_path / "x", 3600), _left(tmp_path / "x", 5)
    other, foreign = _left(tmp_path / "y", 9e5), tmp_path / ".trainwatch-kept.part"
    foreign.touch()
    os.utime(foreign, (0, 0))
    result_file.put(str(tmp_path / "x"), "new")
    assert not old.exists()
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "x", fresh, other, foreign])


@pytest.mark.parametrize("age_s", [3600, 9e5])
def test_what_another_process_still_writes_is_never_removed(tmp_path: Path, age_s: float) -> None:
    part = _left(tmp_path / "x", age_s)
    ask = (
        "import sys; from monitor.cli import result_file as f; f._lock(1); print(1, file=sys.stderr); sys.stdin.read()"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with (
        part.open("ab") as held,
        subprocess.Popen(
            [sys.executable, "-c", ask], stdin=subprocess.PIPE, stdout=held, stderr=subprocess.PIPE, env=environment
        ) as writer,
    ):
        assert writer.stderr is not None
        writer.stderr.readline()
        result_file.put(str(tmp_path / "x"), "new")
        assert part.exists()
        writer.kill()
    result_file.put(str(tmp_path / "x"), "new")
    assert not part.exists()


def test_without_locks_what_is_left_waits_for_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_file, "fcntl", None)
    hour, days = _left(tmp_path / "x", 3600), _left(tmp_path / "x", 2 * 86400)
    result_file.put(str(tmp_path / "x"), "new")
    assert hour.exists()
    assert not days.exists()


def test_a_check_leaves_nothing(tmp_path: Path) -> None:
    result_file.check(str(tmp_path / "x"))
    assert not any(tmp_path.iterdir())


def test_a_process_that_is_killed_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_text("old", encoding="utf-8")

    def killed(*_: Any, **__: Any) -> None:
        raise SystemExit(9)

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(SystemExit):
        result_file.put(str(path), "new")
    assert path.read_text(encoding="utf-8") == "old"
