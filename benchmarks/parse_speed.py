"""Lines a second: a mixed log with 10 % step lines, one process, against one pattern in other tools.

The others look for the lines of ONE known format; Trainwatch looks for all of them, takes the envelope off, attributes
ranks and works out step times.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pandas as pd

from monitor.fetch.files.source import FilesSource
from monitor.parse.assemble import assemble
from monitor.parse.recognise import RawRows

LINES = 500_000
RUNS = 3
_NOISE = (
    "[1,mpirank:{r},algo-1]<stdout>:algo-1:{n}:{m} [0] NCCL INFO Channel {a:02d}/24 : 0 {n} {m} 3 4 5 6 7 via P2P/IPC/read",
    "2026-03-04 08:12:{a:02d},{n} sagemaker-training-toolkit INFO     Installing collected packages: numpy-{n}.{m}",
    "/opt/conda/lib/python3.10/site-packages/torch/nn/modules/module.py:{n}: UserWarning: Positional args are deprecated",
    "DEBUG  worker {r} fetched shard {n} of {m} from cache, queue depth {a}, buffer 0x{n:08x} ok",
    "[default{r}]: gradient bucket {n} reduced, norm {m}.{a}, scaler {n}",
    "Downloading artifact {n} {m} bytes at {a}.3 MB/s",
)
_STEPS = (
    "[1,mpirank:0,algo-1]<stdout>:({t}s), Batch {i} Loss: {loss:.6f}, Speed: {rate:.6f} samples/sec, TFLOPS/GPU: 4.3",
    " iteration {i}/ 9999999 | consumed samples: {t} | elapsed time per iteration (ms): {rate:.1f} | lm loss: 1.21E+01 |",
    " 12%|###   | {i}/9999999 [12:34:56<1:31:41, {loss:.2f}s/it]",
    "step={i} step_time_s={loss:.4f} loss={loss:.4f}",
)
_ONE = r"Batch (?P<step>\d+) Loss: (?P<loss>[\d.]+), Speed: (?P<speed>[\d.]+) samples/sec"


def mixed(lines: int, seed: int = 1) -> list[str]:
    """A log of that many lines: every tenth is a step in one of four formats, the rest is of six kinds of noise."""
    dice = random.Random(seed)
    out = []
    for i in range(lines):
        if i % 10 == 0:
            form = _STEPS[i // 10 % len(_STEPS)]
            out.append(form.format(i=i // 10, t=i // 5, loss=1 + dice.random(), rate=45 + dice.random()))
        else:
            form = _NOISE[dice.randrange(len(_NOISE))]
            out.append(form.format(r=i % 8, n=dice.randint(1, 99_999), m=dice.randint(1, 9_999), a=dice.randint(0, 59)))
    return out


def rows() -> list[tuple[str, str, str, str]]:
    """tool, seconds (median), lines a second, ratio to Trainwatch's whole parse (above 1: faster)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "algo-1.log"
        path.write_text("\n".join(mixed(LINES)) + "\n", encoding="utf-8")
        tools: list[tuple[str, Callable[[], object]]] = [
            ("trainwatch: file to raw rows", lambda: _raw(path)),
            ("trainwatch: file to steps, nodes, times", lambda: whole(path)),
            ("re, one pattern, line by line", lambda: _plain_re(path)),
            ("pandas str.extract, one pattern", lambda: pd.Series(path.read_text().split("\n")).str.extract(_ONE)),
        ]
        if shutil.which("rg"):
            tools.append(
                (
                    "ripgrep -c, one pattern",
                    lambda: subprocess.run(["rg", "-c", _ONE, path], check=True, stdout=subprocess.DEVNULL),
                )
            )
        measured = [(name, median(_seconds(run) for _ in range(RUNS))) for name, run in tools]
    ours_s = dict(measured)["trainwatch: file to steps, nodes, times"]
    table = [("tool", "seconds", "lines/s", "against trainwatch")]
    table += [
        (name, f"{seconds:.2f}", f"{LINES / seconds:,.0f}", f"{ours_s / seconds:.2f} x") for name, seconds in measured
    ]
    if not shutil.which("rg"):
        table.append(("ripgrep", "not installed", "", ""))
    return table


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _raw(path: Path) -> RawRows:
    source, raw = FilesSource([str(path)]), RawRows()
    for page in source.logs(source.job()).read():
        raw.add(page)
    return raw


def whole(path: Path) -> object:
    """The Steps frame of a log file."""
    raw = _raw(path)
    return assemble(raw.steps, raw.events).steps


def _plain_re(path: Path) -> int:
    pattern = re.compile(_ONE)
    with path.open(encoding="utf-8") as file:
        return sum(1 for line in file if pattern.search(line))
