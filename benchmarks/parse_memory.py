"""Peak memory of a review while the log grows: with the same steps in it, and with steps in proportion.

Each figure is the largest resident size of a process of its own. Rows are kept and lines are not, so only the second
column of logs may grow, by the size of its rows.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.parse_speed import mixed

SIZES = (200_000, 1_000_000, 10_000_000)
_BLOCK = 100_000


def rows() -> list[tuple[str, str, str, str]]:
    """lines, MiB of the log, peak MiB with 20,000 steps in all, peak MiB with every tenth line a step."""
    block = mixed(_BLOCK)
    noise = [line for place, line in enumerate(block) if place % 10]
    table = [("lines", "log MiB", "peak MiB, 20,000 steps", "peak MiB, 10 % steps")]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "algo-1.log"
        for size in SIZES:
            _write(path, block, 2 * _BLOCK)
            with path.open("a", encoding="utf-8") as file:
                for written in range(2 * _BLOCK, size, len(noise)):
                    file.write("\n".join(noise[: size - written]) + "\n")
            few = _peak_mib(path)
            _write(path, block, size)
            table.append((f"{size:,}", f"{path.stat().st_size / 2**20:.0f}", f"{few:.0f}", f"{_peak_mib(path):.0f}"))
    return table


def _write(path: Path, block: list[str], size: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for _ in range(size // len(block)):
            file.write("\n".join(block) + "\n")


def _peak_mib(path: Path) -> float:
    """Of a whole review of the file, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.parse_memory", str(path)], check=True, capture_output=True, text=True
    )
    return float(done.stdout)


if __name__ == "__main__":
    from monitor.fetch.files import FilesSource
    from monitor.review import Reviewer

    Reviewer(FilesSource([sys.argv[1]]), "growing").review(datetime.now(UTC))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
