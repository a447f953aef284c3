"""From the command to the first row of a small file, beside an empty Python and one that loads pandas."""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median

SMALL = "tests/data/formats/smp_v1_two_nodes_mpi.log"
RUNS = 5


def rows() -> list[tuple[str, str]]:
    """command, median seconds until its first row of output (or its end)."""
    commands = [
        ("monitor steps, first row", ["-m", "monitor", "steps", "--logs", SMALL, "--format", "csv"]),
        ("python -c 'import pandas'", ["-c", "import pandas"]),
        ("python -c ''", ["-c", ""]),
    ]
    return [
        ("command", "seconds"),
        *((name, f"{median(_seconds(args) for _ in range(RUNS)):.2f}") for name, args in commands),
    ]


def _seconds(arguments: list[str]) -> float:
    start = time.perf_counter()
    with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()  # the header
        process.stdout.readline()
        seconds = time.perf_counter() - start
        process.stdout.read()
    return seconds
