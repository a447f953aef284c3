"""Real logs, each by itself: MB a second of a core, against a plain ``re.sub`` of digits with a look-up a line, and before.

Each log is repeated with other numbers to LOG_LINES (100,000) or LOG_MB (24), whichever is less, so that its shapes stay and its
values move, and read in pages of a megabyte as CloudWatch hands them over; "once" is the log as it is, read from a cold start.
TRAINWATCH_CORPUS names a folder of logs (otherwise the project's cases of formats are read), PARSE_BEFORE a checkout of another
version to hold this one against. Seconds are of the processor, so other work on the machine counts little.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

_ROOT = Path(__file__).parents[1]
_PAGE = 1_000_000
_COPIES = 12
#: What the median and the slowest log must reach, in MB a second, and the median against the plain loop and before.
MEDIAN_MB, LOWEST_MB, TO_PLAIN, TO_BEFORE = 30.0, 8.0, 0.6, 4.0
_DIGITS = re.compile(rb"\d+")
# Runs of digits that are dates, times of day and addresses stay, or what is made of them is none.
_VARIED = re.compile(
    rb"\d{4}[-/.]?\d\d[-/.]?\d\d(?:[T _:-]\d\d:?\d\d:?\d\d)?|\d\d?/\d\d?[/ ]|(?:\d+:)+\d+|\d\d-\w{3}-\d+|#0\d\d|\d{8,}"
    rb"|0x[0-9a-f]+|\b100%|\b(\d+)"
)
_failures: list[str] = []


def varied(data: bytes, seed: int) -> bytes:
    """The same lines with other numbers: the last digit of each of two to seven digits is another one."""
    dice = random.Random(seed)

    def other(match: re.Match[bytes]) -> bytes:
        return match[0][:-1] + b"%d" % dice.randrange(10) if match[1] and len(match[0]) > 1 else match[0]

    return _VARIED.sub(other, data)


def rows() -> list[tuple[str, ...]]:
    """A row a log, and the medians and the lowest."""
    lines, size = int(os.environ.get("LOG_LINES", "100000")), int(float(os.environ.get("LOG_MB", "24")) * 1e6)
    before = os.environ.get("PARSE_BEFORE")
    _failures.clear()
    table: list[tuple[str, ...]] = [("log", "MB/s", "lines/s", "to re.sub", "to before", "once, ms", "before, ms")]
    figures: list[tuple[float, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        readers = [_Reader(root) for root in (str(_ROOT), before) if root]
        for log in _logs():
            data = log.read_bytes().replace(b"\0", b"").rstrip(b"\n")
            times = max(1, min(size // len(data), lines // (data.count(b"\n") + 1)))
            copies = [data, *(varied(data, seed) for seed in range(1, min(times, _COPIES)))]
            path = Path(folder) / "log"
            path.write_bytes(b"\n".join(copies[at % len(copies)] for at in range(times)))
            (own, *other), (once, *other_once) = ([each.seconds(which) for each in readers] for which in (path, log))
            figure = (
                path.stat().st_size / 1e6 / own[0],
                own[2] / own[0],
                own[1] / own[0],
                other[0][0] / own[0] if other else float("nan"),
                1000 * once[0],
                1000 * other_once[0][0] if other else float("nan"),
            )
            figures.append(figure)
            table.append((log.stem, *_shown(figure)))
        for each in readers:
            each.close()
    middle = tuple(median(column) for column in zip(*figures, strict=True))
    lowest = tuple(min(column) for column in zip(*figures, strict=True))
    table += [("median", *_shown(middle)), ("lowest", *_shown(lowest))]
    for what, value, least in (
        ("MB/s at the median", middle[0], MEDIAN_MB),
        ("MB/s at the slowest", lowest[0], LOWEST_MB),
        ("of the plain loop at the median", middle[2], TO_PLAIN),
        ("times as quick as before at the median", middle[3], TO_BEFORE),
    ):
        if value < least:
            _failures.append(f"{value:.2f} {what}, not {least}")
    return table


def failures() -> list[str]:
    """The lines that were not passed."""
    return _failures


def _logs() -> list[Path]:
    corpus = Path(os.environ.get("TRAINWATCH_CORPUS") or _ROOT.parent / "shared" / "corpus")
    return sorted(corpus.glob("**/logs/*.log")) or sorted((_ROOT / "tests" / "data" / "formats").glob("*.log"))


def _shown(figure: tuple[float, ...]) -> tuple[str, ...]:
    return tuple(
        form.format(value)
        for form, value in zip(("{:.1f}", "{:,.0f}", "{:.2f}", "{:.1f}", "{:.1f}", "{:.1f}"), figure, strict=True)
    )


class _Reader:
    """A process that reads logs with one version of the program, so that nothing of another is in it."""

    def __init__(self, root: str) -> None:
        environment = os.environ | {"PYTHONPATH": root}
        self._process = subprocess.Popen(
            [sys.executable, __file__], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def seconds(self, log: Path) -> tuple[float, float, float]:
        """Seconds of reading, seconds of the plain loop, lines."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(log, file=self._process.stdin, flush=True)
        read_s, plain_s, lines = map(float, self._process.stdout.readline().split())
        return read_s, plain_s, lines

    def close(self) -> None:
        """Ends the process."""
        self._process.communicate()


def _serve() -> None:
    from monitor.model import LogPage
    from monitor.parse.recognise import RawRows

    for name in sys.stdin:
        data = Path(name.rstrip("\n")).read_bytes().replace(b"\0", b"").rstrip(b"\n")
        pages, begin, line = [], 0, 1
        while begin < len(data):
            end = data.find(b"\n", begin + _PAGE)
            text = data[begin : end if end >= 0 else len(data)]
            count = text.count(b"\n") + 1
            pages.append(LogPage("algo-1", "algo-1", line, text, tuple(range(10**12 + line, 10**12 + line + count))))
            begin, line = begin + len(text) + 1, line + count
        best = []
        # A short log is read several times, each time from nothing.
        for _ in range(1 if len(data) > _PAGE else 3):
            raw = RawRows()
            began = time.process_time()
            for page in pages:
                raw.add(page)
            best.append(time.process_time() - began)
        began, known = time.process_time(), dict[bytes, int]()
        for text in data.split(b"\n"):
            key = _DIGITS.sub(b"0", text)
            known[key] = known.get(key, 0) + 1
        print(max(min(best), 1e-9), time.process_time() - began, line - 1, flush=True)


if __name__ == "__main__":
    _serve()
