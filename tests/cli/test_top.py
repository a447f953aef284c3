"""``top`` in a terminal of 80 columns: worst first, one job with its log, and the terminal as it was before."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from monitor.cli.main import main
from monitor.cli.top import Board, Seen, blocks, row_of, short
from monitor.demo.account import DemoAccount
from monitor.errors import CannotDo
from monitor.fetch.source import JobQuery
from monitor.model import JobSummary, StepReading
from monitor.review import Snapshot
from tests import situations

pytest.importorskip("textual", reason="textual is not installed (requirements.txt)")
pyte = pytest.importorskip("pyte", reason="pyte is not installed (requirements-dev.txt)")
top_screens = pytest.importorskip("monitor.cli.top_screens")

ROOT = Path(__file__).resolve().parents[2]
COLUMNS, LINES = 80, 24


class Terminal:
    """A pseudo-terminal that a command draws on, and what stands on it."""

    def __init__(self, *argv: str, environment: dict[str, str]) -> None:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.screen = pyte.Screen(COLUMNS, LINES)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "monitor", *argv],
            cwd=ROOT,
            # What says its size is the terminal: workers of this test run have one of their own.
            env={
                **{name: value for name, value in environment.items() if name not in {"COLUMNS", "LINES"}},
                "TERM": "xterm-256color",
                "COLORTERM": "",
                "LANG": "C.UTF-8",
            },
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
        )

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def wait(self, until: Callable[[str], bool], seconds: float = 60.0) -> str:
        """What stands there once ``until`` holds of it."""
        end = time.monotonic() + seconds
        while not until(self.text):
            assert time.monotonic() < end, self.text
            self._read(0.1)
        return self.text

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, columns, 0, 0))
        self.screen.resize(LINES, columns)
        self.process.send_signal(signal.SIGWINCH)

    def ended(self, seconds: float = 20.0) -> int:
        """Its exit code; the terminal must be as it was."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, self.text
            self._read(0.1)
        self._read(0.2)
        # The screen of before is back, the cursor is there, no mouse and no paste mode is left on, and keys echo.
        for on, off in (
            (b"\x1b[?1049h", b"\x1b[?1049l"),
            (b"\x1b[?25l", b"\x1b[?25h"),
            (b"\x1b[?2004h", b"\x1b[?2004l"),
        ):
            assert self.raw.rfind(off) > self.raw.rfind(on), off
        assert b"\x1b[?1000h" not in self.raw
        assert termios.tcgetattr(self.slave) == self.before
        return self.process.returncode

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def _read(self, seconds: float) -> None:
        while select.select([self.master], [], [], seconds)[0]:
            data = os.read(self.master, 65536)
            self.raw += data
            self._stream.feed(data)
            seconds = 0.0


@pytest.fixture
def terminal(read_before: DemoAccount) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def start(*argv: str) -> Terminal:
        opened.append(Terminal(*argv, environment=dict(os.environ)))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def _job(account: DemoAccount, base: str) -> str:
    return next(job.name for job in account.jobs if job.name.startswith(base))


def test_the_list_and_a_job_by_keyboard_alone(terminal: Callable[..., Terminal], connected: DemoAccount) -> None:
    shown = terminal("top")
    text = shown.wait(lambda text: "worst first" in text and "under review" not in text)
    first, second = text.splitlines()[2:4]
    assert first.strip().startswith("llama2-13b")
    assert "No step for" in first
    assert "/h" in first
    assert any(block in first for block in "▆▇█")
    assert second.strip().startswith("gpt2-20b-smp-pp4")
    shown.press("\r")
    text = shown.wait(lambda text: "No step for" in text and "Batch 438" in text and "Back" in text)
    assert "critical" in text
    shown.press("\x1b[F")  # End: further down stand steps and nodes
    shown.wait(lambda text: "Reviewed" in text or "GPU" in text)
    shown.press("l")
    shown.wait(lambda text: text.count("Batch 4") >= 4)
    shown.press("\x1b")
    shown.wait(lambda text: "worst first" in text)
    shown.press("j")
    shown.press("\r")
    shown.wait(lambda text: "Pipeline window too small" in text and "Back" in text)
    shown.press("q")
    assert shown.ended() == 0


def test_one_job_is_opened_at_once_and_escape_ends_it(
    terminal: Callable[..., Terminal], connected: DemoAccount
) -> None:
    shown = terminal("top", _job(connected, "llama2-7b-fsdp"))
    shown.wait(lambda text: "algo-3 is slow" in text)
    shown.press("\x1b")
    assert shown.ended() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_the_terminal_clean(
    number: int, terminal: Callable[..., Terminal], connected: DemoAccount
) -> None:
    shown = terminal("top", "--status", "running")
    shown.wait(lambda text: "2 jobs" in text)
    shown.process.send_signal(number)
    assert shown.ended() == 0


def test_ctrl_c_ends_it_as_it_ends_other_commands(terminal: Callable[..., Terminal], connected: DemoAccount) -> None:
    shown = terminal("top", "--status", "running")
    shown.wait(lambda text: "2 jobs" in text)
    shown.press("\x03")
    assert shown.ended() == 130


def test_a_terminal_that_becomes_narrow_loses_columns_and_no_line_is_wrapped_twice(
    terminal: Callable[..., Terminal], connected: DemoAccount
) -> None:
    shown = terminal("top", "--name-contains", "b-smp")
    shown.wait(lambda text: "$50.50/h" in text and "under review" not in text)
    shown.resize(60)
    text = shown.wait(lambda text: "$50.50/h" in text and "GPU" not in text.splitlines()[1])
    assert "▇" not in text
    shown.press("j")
    shown.press("\r")
    text = shown.wait(lambda text: "Back" in text and "Pipeline window" in text)
    # The second column of a finding begins where it always does.
    assert "          GPUs wait for 53 % of the time" in text
    shown.press("q")
    assert shown.ended() == 0


def test_what_cannot_be_read_is_said_and_the_terminal_is_given_back(
    terminal: Callable[..., Terminal], connected: DemoAccount
) -> None:
    shown = terminal("top", "no-such-job-at-all")
    shown.wait(lambda text: "There is no training job" in text)
    shown.press("q")
    assert shown.ended() == 0


def test_without_a_terminal_it_says_what_to_use(capsys: pytest.CaptureFixture[str], connected: DemoAccount) -> None:
    assert main(["top"]) == 3
    assert "jobs --watch" in capsys.readouterr().err


class _Source:
    """Lists what it is told, or fails."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    def jobs(self, query: JobQuery) -> tuple[JobSummary, ...]:
        if self.error is not None:
            raise self.error
        return tuple(JobSummary(f"job-{n}", "Completed", datetime.now(UTC) - timedelta(hours=n)) for n in range(30))

    def with_instances(self, found: tuple[JobSummary, ...]) -> tuple[JobSummary, ...]:
        return found


class _Watch:
    def snapshot(self, name: str, urgency: int = 0) -> Snapshot:
        return Snapshot(working=True, progress="reading logs")


def _listed(board: Board) -> Board:
    until = time.monotonic() + 5
    while not (board.rows_now().listed or board.rows_now().trouble) and time.monotonic() < until:
        time.sleep(0.01)
    return board


def test_the_newest_are_reviewed_and_the_others_say_so() -> None:
    seen = _listed(Board(_Source(), _Watch(), JobQuery)).rows_now()  # type: ignore[arg-type]
    assert len(seen.rows) == 30
    assert seen.waiting == 25
    assert [row.words for row in seen.rows[24:26]] == ["reading logs", "not reviewed (Enter reviews it)"]


def test_a_step_time_by_the_lines_clock_has_a_mark_that_the_head_explains() -> None:
    built = situations.healthy()
    logs = replace(built.run.logs, readings=(StepReading("key-value", 300, "line-clock", clock_s=4.1),))
    summary = situations.summary(built)
    clocked, printed = (
        row_of(summary, Snapshot(report=each)) for each in (replace(built, run=replace(built.run, logs=logs)), built)
    )
    assert clocked.step == f"{printed.step}*"
    assert "* not simply as printed" in top_screens._head(Seen((clocked,), listed=True), True)
    assert "*" not in top_screens._head(Seen((printed,), listed=True), True)
    assert "*" not in top_screens._head(Seen((clocked,), listed=True), False)


def test_a_list_that_cannot_be_had_is_said() -> None:
    source = _Source()
    source.error = CannotDo("AWS does not answer.", "Try again.")
    seen = _listed(Board(source, _Watch(), JobQuery)).rows_now()  # type: ignore[arg-type]
    assert seen.rows == ()
    assert seen.trouble == "AWS does not answer. Try again."


@pytest.mark.parametrize(
    ("values", "drawn"),
    [((), ""), ((0.0, 50.0, None, 100.0), "▁▅ █"), (tuple(float(each) for each in range(0, 80, 5)), "▁▂▂▃▄▅▆▆")],
)
def test_a_course_is_drawn_in_blocks(values: tuple[float | None, ...], drawn: str) -> None:
    assert blocks(values, 8) == drawn


def test_a_name_is_cut_in_its_middle() -> None:
    assert short("llama2-13b-smp2-2026-11-24-12-43-28-991", 24) == "llama2-13b-smp2-2…28-991"
    assert short("short", 24) == "short"
