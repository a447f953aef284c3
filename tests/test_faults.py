"""An error of the program is logged with its traceback, without secrets, in a file of its owner's that does not grow for ever."""

from __future__ import annotations

import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from monitor import faults
from monitor.cli import options
from monitor.cli.main import main
from monitor.errors import Fault, NoData
from tests.situations import healthy

SECRET = "hf_abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(faults, "_folders", lambda: iter([tmp_path / "state", tmp_path / "temporary"]))
    return tmp_path / "state"


def raised(words: str = f"no such column; HF_TOKEN={SECRET}", cause: Exception | None = None) -> Exception:
    """An error with a traceback through this program."""
    error = ValueError(words)
    try:
        try:
            raise cause or KeyError("a-job-of-mine")
        except Exception as first:
            faults.shape_of_report(BrokenReport(error))  # type: ignore[arg-type]
            raise AssertionError from first
    except ValueError as caught:
        return caught


class BrokenReport:
    def __init__(self, error: Exception) -> None:
        self.error = error

    @property
    def phases(self) -> None:
        raise self.error


def logged(folder: Path) -> str:
    return (folder / "trainwatch.log").read_text(encoding="utf-8")


def test_the_user_is_told_what_failed_and_where_the_traceback_is(state: Path) -> None:
    told = faults.fault(raised(), "The review", faults.shape_of_report(healthy()))
    assert str(told).startswith(
        "The review failed because of an error in Trainwatch itself (ValueError: no such column; HF_TOKEN=***"
    )
    assert str(told).endswith(f"Its traceback is in {state / 'trainwatch.log'}.")
    assert (told.exit_code, told.log) == (3, str(state / "trainwatch.log"))
    text = logged(state)
    assert "Traceback (most recent call last)" in text
    assert "faults.py" in text
    assert "KeyError: 'a-job-of-mine'" in text
    assert stat.S_IMODE((state / "trainwatch.log").stat().st_mode) == 0o600


def test_what_is_passed_on_names_places_and_shapes_and_no_words_of_the_user_s(state: Path) -> None:
    job = healthy().job.name
    copied = faults.fault(raised(), "The review", faults.shape_of_report(healthy())).copied
    assert "Failed: The review" in copied
    assert "Job: completed; Completed; 4 x ml.p4d.24xlarge; SMP v1 on mpi; source aws; " in copied
    assert "Error: builtins.ValueError" in copied
    assert "Caused by: builtins.KeyError" in copied
    assert "monitor/faults.py:" in copied
    assert copied in logged(state)
    for private in (SECRET, job, "no such column", "a-job-of-mine", str(Path.home()), __file__):
        assert private not in copied


def test_no_secret_reaches_the_file(state: Path) -> None:
    aws = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    faults.fault(raised(cause=RuntimeError(f"aws_secret_access_key={aws} AKIAABCDEFGHIJKLMNOP")), "The review")
    text = logged(state)
    assert "***" in text
    for secret in (SECRET, aws, "AKIAABCDEFGHIJKLMNOP"):
        assert secret not in text


@pytest.mark.parametrize("in_the_way", ["state", "both"])
def test_where_the_folder_cannot_be_written_another_is_taken_and_if_none_can_that_is_said(
    state: Path, tmp_path: Path, in_the_way: str
) -> None:
    # A file where the folder would be: refused to whoever runs the tests, root too.
    state.write_text("", encoding="utf-8")
    if in_the_way == "both":
        (tmp_path / "temporary").write_text("", encoding="utf-8")
    told = faults.fault(raised(), "The review")
    if in_the_way == "both":
        assert told.log == ""
        assert str(told).endswith("It could not be logged.")
    else:
        assert told.log == str(tmp_path / "temporary" / "trainwatch.log")
        assert "ValueError" in logged(tmp_path / "temporary")


def test_a_link_in_the_place_of_the_file_is_not_followed(state: Path, tmp_path: Path) -> None:
    state.mkdir()
    (tmp_path / "precious").write_text("mine", encoding="utf-8")
    (state / "trainwatch.log").symlink_to(tmp_path / "precious")
    told = faults.fault(raised(), "The review")
    assert (tmp_path / "precious").read_text(encoding="utf-8") == "mine"
    assert told.log == str(tmp_path / "temporary" / "trainwatch.log")


def test_without_a_home_the_temporary_folder_is_taken(tmp_path: Path) -> None:
    ask = "from monitor import faults; print(faults.fault(ValueError('x'), 'The review').log)"
    nobody = {"PYTHONPATH": str(Path(__file__).parents[1]), "TMPDIR": str(tmp_path), "HOME": "/proc/nowhere"}
    found = subprocess.run([sys.executable, "-c", ask], env=nobody, capture_output=True, text=True, check=True)
    assert found.stdout.startswith(str(tmp_path))


def test_the_same_error_is_written_once_and_another_beside_it(state: Path) -> None:
    error = raised()
    first, second = faults.fault(error, "Nodes"), faults.fault(error, "Nodes")
    assert first.log == second.log
    assert logged(state).count("Traceback (most") == logged(state).count("Error: builtins.ValueError") * 2
    faults.fault(error, "Timeline")
    assert logged(state).count("Failed: ") == 2


def test_a_fault_stays_what_it_is(state: Path) -> None:
    told = faults.fault(raised(), "Nodes")
    assert faults.fault(told, "The review") is told
    assert isinstance(told, Fault)


def test_the_file_does_not_grow_for_ever(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "MOST_BYTES", 20_000)
    for number in range(60):
        faults.fault(raised("x" * 400), f"Part {number}")
    assert sorted(path.name for path in state.iterdir()) == [
        "trainwatch.log", "trainwatch.log.1", "trainwatch.log.lock",
    ]  # fmt: skip
    assert all(path.stat().st_size <= 20_000 for path in state.iterdir())
    assert "Failed: Part 59" in logged(state)


def test_many_threads_write_whole_entries(state: Path) -> None:
    def write(thread: int) -> None:
        for number in range(20):
            faults.fault(raised(), f"Part {thread}.{number}")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entries = logged(state).split("Failed: ")[1:]
    assert len({entry.partition("\n")[0] for entry in entries}) == 160
    assert all(entry.count("Error: builtins.ValueError") == 1 for entry in entries)


def test_two_programs_write_into_one_file(tmp_path: Path) -> None:
    ask = (
        "import sys; from monitor import faults\n"
        "for n in range(50): faults.fault(ValueError('y' * 2000), f'Part {sys.argv[1]}.{n}')"
    )
    place = {"PYTHONPATH": str(Path(__file__).parents[1]), "XDG_STATE_HOME": str(tmp_path)}
    running = [subprocess.Popen([sys.executable, "-c", ask, str(number)], env=place) for number in range(2)]
    assert [each.wait(60) for each in running] == [0, 0]
    text = logged(tmp_path / "trainwatch")
    assert text.count("Failed: Part 0.") == text.count("Failed: Part 1.") == 50


def test_a_process_that_hangs_with_the_lock_is_waited_for_once(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")
    slept: list[float] = []
    # Its own clock: other threads of the process may sleep too.
    monkeypatch.setattr(faults, "time", SimpleNamespace(sleep=slept.append, monotonic=time.monotonic))
    monkeypatch.setattr(faults, "MOST_BYTES", 4_000)
    faults.fault(raised(), "Part before")
    with (state / "trainwatch.log.lock").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        told = faults.fault(raised(), "Part 1")
        assert told.log == str(state / "trainwatch.log")
        assert "Failed: Part 1" in logged(state)
        assert 0.5 < sum(slept) <= 1.0
        waited = len(slept)
        # The full file stays as it is, since only one may make room in it.
        for number in range(2, 9):
            told = faults.fault(raised(), f"Part {number}")
        assert told.log == str(tmp_path / "temporary" / "trainwatch.log")
        assert "Failed: Part 8" in logged(tmp_path / "temporary")
        assert not (state / "trainwatch.log.1").exists()
        assert (state / "trainwatch.log").stat().st_size <= 4_000
        assert len(slept) == waited
    assert faults.fault(raised(), "Part after").log == str(state / "trainwatch.log")
    assert (state / "trainwatch.log.1").exists()


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("oops"), RecursionError("too deep"), UnicodeDecodeError("utf-8", b"x", 0, 1, "bad")]
)
def test_any_error_ends_a_command_with_a_sentence_and_code_3(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, state: Path, error: Exception
) -> None:
    def broken(_: object) -> int:
        raise error

    monkeypatch.setattr(options, "job_source", broken)
    assert main(["report", "some-job"]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("trainwatch: The command report failed because of an error in Trainwatch itself (")
    assert str(state / "trainwatch.log") in err
    assert len(err.splitlines()) == 1
    assert "Traceback" in logged(state)


def test_an_error_that_is_the_user_s_is_not_logged(
    capsys: pytest.CaptureFixture[str], state: Path, tmp_path: Path
) -> None:
    assert main(["report", f"logs:{tmp_path}/nothing"]) == NoData("").exit_code
    assert not state.exists()
    assert "trainwatch.log" not in capsys.readouterr().err


def test_logging_is_quick(state: Path) -> None:
    begun_s = time.thread_time()
    for number in range(20):
        faults.fault(raised(), f"Part {number}")
    assert time.thread_time() - begun_s < 2
