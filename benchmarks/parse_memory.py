"""Peak memory of a review: of a log that grows, and of a GiB of whatever is worst, which stays below 600 MiB.

Each figure is the largest resident size of a process of its own. Lines are not kept, rows are, and of what is beyond all
measure a part: so nothing grows with the log for ever. MEMORY_MIB is how large the worst logs are (1024 by default).
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path

from benchmarks.parse_speed import mixed

SIZES = (200_000, 1_000_000, 10_000_000)
MOST_MIB = 600
_BLOCK = 100_000
_FILLER = "the quick brown fox jumps over the lazy dog and goes on to the next shard of the data set, "
_failures: list[str] = []

Lines = Callable[[int], str]
#: A line of each of the worst logs, by its number; some two million of the first make a GiB.
WORST: dict[str, Lines] = {
    "nan lines": lambda i: f"step {i} loss: nan, skipping the update; {_FILLER * 5}",
    "errors": lambda i: f"RuntimeError: CUDA error number {i} {_FILLER * 5}",
    "errors, all worded differently": lambda i: f"RuntimeError: {_word(i)} {_word(i * 7)} failed {_FILLER * 5}",
    "progress bars, as many labels": lambda i: (
        f"{_word(i)} of {_word(i * 3)}:  50%|{'#' * 40}| {i % 7 + 1}/10 [00:0{i % 9}<00:05,  1.00s/it]"
    ),
    "nodes, as many names": lambda i: (
        f"[pod/{_word(i)}-{i}/main] step={i // 100_000 + 1} step_time_s=0.{i % 9 + 1} loss=1.25"
    ),
    "nodes, as many ranks": lambda i: (
        f"[1,mpirank:{i % 131_000},algo-{i % 131_000 + 1}]<stdout>:step={i // 131_000 + 1} step_time_s=0.{i % 9 + 1} loss=1.25"
    ),
    "JSON lines": lambda i: (
        f'{{"step": {i}, "loss": 1.{i % 1000:03}, "step_time": 0.51, "lr": 0.0001, "note": "{_FILLER}"}}'
    ),
    "JSON that copied events": lambda i: (
        f'{{"timestamp": {1_772_611_200_000 + i}, "message": "step={i} step_time_s=0.51 {_FILLER}", "ingestionTime": 1}}'
    ),
    "steps": lambda i: f"2026-03-04 08:12:01,123 INFO train: step={i} step_time_s=0.{i % 9 + 1} loss=1.25 {_FILLER}",
    "checkpoints": lambda i: f"Saving checkpoint to /opt/ml/checkpoints/checkpoint-{i} {_FILLER * 3}",
    "rows of a table": lambda i: f"{i // 100},{i},2.31,,,,,0.{i % 9}" if i else "epoch,step,train_loss,a,b,c,d,e",
}


def rows() -> list[tuple[str, str, str, str]]:
    """log, lines, MiB of the log, peak MiB."""
    _failures.clear()
    block = mixed(_BLOCK)
    noise = [line for place, line in enumerate(block) if place % 10]
    table = [("log", "lines", "log MiB", "peak MiB")]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "algo-1.log"
        path.write_text("step=1 step_time_s=0.5\n", encoding="utf-8")
        table.append(_row("one line", path, 1))
        for size in SIZES:
            _write(path, block, 2 * _BLOCK)
            with path.open("a", encoding="utf-8") as file:
                for written in range(2 * _BLOCK, size, len(noise)):
                    file.write("\n".join(noise[: size - written]) + "\n")
            table.append(_row("mixed, 20,000 steps in all", path, size))
        for size in SIZES:
            _write(path, block, size)
            table.append(_row("mixed, 10 % steps", path, size))
        mib = int(os.environ.get("MEMORY_MIB", "1024"))
        for name, write in _worst():
            table.append(_row(name, path, write(path, mib << 20), worst=True))
    return table


def failures() -> list[str]:
    return _failures


def _worst() -> Iterator[tuple[str, Callable[[Path, int], int]]]:
    for name, line in WORST.items():
        yield name, partial(_filled, line=line)
    yield "one line", lambda path, size: _pieces(path, size, b"x y 12 ")
    yield "zeros behind a few lines", lambda path, size: _pieces(path, size, b"\0", b"step=1 step_time_s=0.5\n" * 400)


def _row(name: str, path: Path, lines: int, worst: bool = False) -> tuple[str, str, str, str]:
    peak_mib = _peak_mib(path)
    if worst and peak_mib > MOST_MIB:
        _failures.append(f"{name}: {peak_mib:.0f} MiB, more than {MOST_MIB}")
    return name, f"{lines:,}", f"{path.stat().st_size / 2**20:.0f}", f"{peak_mib:.0f}"


def _write(path: Path, block: list[str], size: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for _ in range(size // len(block)):
            file.write("\n".join(block) + "\n")


def _filled(path: Path, size: int, line: Lines) -> int:
    """Writes lines up to a size; how many."""
    with path.open("w", encoding="utf-8") as file:
        for number in count():
            if (number % 1000 == 0 and file.tell() >= size) or number > size:
                return number
            file.write(line(number) + "\n")
    raise AssertionError


def _pieces(path: Path, size: int, piece: bytes, head: bytes = b"") -> int:
    with path.open("wb") as file:
        file.write(head)
        while file.tell() < size:
            file.write(piece * ((1 << 20) // len(piece)))
    return head.count(b"\n") + 1


def _word(number: int) -> str:
    """A word of letters for each number."""
    letters = ""
    while number or not letters:
        number, letter = divmod(number, 26)
        letters += chr(97 + letter)
    return f"w{letters}"


def _peak_mib(path: Path) -> float:
    """Of a whole review of the file, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.parse_memory", str(path)], check=True, capture_output=True, text=True
    )
    return float(done.stdout)


if __name__ == "__main__":
    from monitor.fetch.files.source import FilesSource
    from monitor.review import Reviewer

    Reviewer(FilesSource([sys.argv[1]]), "growing").review(datetime.now(UTC))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
