"""A line's level is what its logger wrote; a line that names none has none."""

from __future__ import annotations

import pytest

from monitor.parse.lines.levels import level_of

LINES = {
    "2026-09-25 12:05:03,123 sagemaker-training-toolkit INFO     Invoking user script": "info",
    "[2026-09-25 12:05:03.123: I smp/worker.py:108] ready": "info",
    "[2026-09-25 12:05:03.123: C smp/worker.py:108] gone": "error",
    "algo-1:77:77 [0] NCCL INFO Bootstrap": "info",
    "algo-1:77:77 [0] NCCL WARN Call to connect returned Connection refused": "warning",
    "[W socket.cpp:426] [c10d] The server socket cannot be initialized": "warning",
    "[E1120 09:13:02.123 ProcessGroupNCCL.cpp:616] Watchdog caught collective": "error",
    "W1120 09:13:02.123 123 torch/distributed/run.py:779] ": "warning",
    "/opt/conda/lib/python3.11/site-packages/x.py:3: UserWarning: deprecated": "warning",
    "Traceback (most recent call last):": "error",
    "torch.OutOfMemoryError: CUDA out of memory.": "error",
    "KeyboardInterrupt": "error",
    '{"level": "warning", "message": "late"}': "warning",
    "ts=1 level=error msg=x": "error",
    "[error] nginx is gone": "error",
    "2026-09-25 | WARNING  | train:main:12 - slow": "warning",
    "DEBUG: shape (4, 8)": "debug",
    "step 412 loss 2.1 errors 0": "",
    "Mean Squared Error 0.2": "",
    "info about the model": "",
    "no INFORMATION here": "",
    "": "",
}


@pytest.mark.parametrize(("line", "level"), LINES.items())
def test_level(line: str, level: str) -> None:
    assert level_of(line) == level
