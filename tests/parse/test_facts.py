"""Facts of failures and of GPU memory, a line each; and no line that costs more than its length."""

from __future__ import annotations

import json
import time

import pytest

from monitor.parse.events import facts, marks
from tests.drawn import drawn
from tests.parse.read import parse

OLD_OOM = (
    "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 1; 39.41 GiB total capacity; 35.10 GiB already "
    "allocated; 1.50 GiB free; 36.20 GiB reserved in total by PyTorch)"
)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        # Errors: the exception's own line, whatever stands before it.
        ("RuntimeError: shapes differ", [("error", "RuntimeError: shapes differ")]),
        ("my.pkg.LoaderError", [("error", "my.pkg.LoaderError")]),
        ("12: ValueError: of a labelled task", [("error", "ValueError: of a labelled task")]),
        ("MeanAbsoluteError: 0.125", []),
        ("KeyError: 5", [("error", "KeyError: 5")]),
        ("WARNING connectionpool: Retrying (2 left) after NewConnectionError('x')", []),
        ("UserWarning: this may raise an Error", []),
        ("    raise ValueError('x')", []),
        ("Killed", [("error", "Killed")]),
        ("run.sh: line 7:    77 Killed                  python train.py", [("error", None)]),
        ("run.sh: line 7:    77 Segmentation fault      (core dumped) python train.py", [("error", None)]),
        ("Fatal Python error: Segmentation fault", [("error", None)]),
        ("terminate called after throwing an instance of 'c10::Error'", [("error", None)]),
        ("[ 7.1] NVRM: Xid (PCI:0000:53:00): 79, pid=7, GPU has fallen off the bus.", [("error", None)]),
        ("Traceback (most recent call last):", [("traceback", None)]),
        ("Exception ignored in: <function Pool.__del__ at 0x7f>", [("ignored-exception", None)]),
        # Kills by the system.
        ("Out of memory: Killed process 77 (python) total-vm:1kB, anon-rss:2kB", [("oom-kill", None)]),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks", [("oom-kill", None)]),
        # What NCCL says itself.
        ("ncclSystemError: System call or library call failed.", [("nccl-error", None)]),
        (
            "algo-1:7:8 [0] socket.c:5 NCCL WARN Call to recv from 10.0.0.2 failed : Connection reset",
            [("nccl-error", None)],
        ),
        ("algo-1:7:8 [0] ofi.c:5 NCCL WARN NET/OFI Request completed with error", []),
        # What the launcher says.
        ("Root Cause (first observed failure):", [("root-cause", None)]),
        ("  rank      : 5 (local_rank: 1)", [("worker-exit", "rank=5 local_rank=1")]),
        ("  exitcode  : -9 (pid: 77)", [("worker-exit", "exitcode=-9")]),
        ("  host      : algo-2", [("worker-exit", "host=algo-2")]),
        (
            "E0304 09:27:50 415 api.py:1002] failed (exitcode: 1) local_rank: 1 (pid: 418) of binary: /usr/bin/python3",
            [("worker-exit", "exitcode=1 local_rank=1")],
        ),
        ("  Process name: [[41179,1],14]", [("worker-exit", "rank=14")]),
        ("  Process name: [prterun-algo-1-77@1,3]", [("worker-exit", "rank=3")]),
        ("  Exit code:    1", [("worker-exit", "exitcode=1")]),
        (
            "mpirun noticed that process rank 3 with PID 0 on node algo-2 exited on signal 9 (Killed).",
            [("worker-exit", "rank=3 host=algo-2 signal=9")],
        ),
        ("MPI_ABORT was invoked on rank 5 in communicator MPI_COMM_WORLD", [("worker-exit", "rank=5")]),
        (
            "mpirun detected that one or more processes exited with non-zero status, thus causing",
            [("launcher-abort", None)],
        ),
        ("[launch.py:321:handler] ['python'] exits with return code = -9", [("worker-exit", "exitcode=-9")]),
        (
            "srun: error: node7: task 12: Exited with exit code 1",
            [("worker-exit", "host=node7 rank=12 exitcode=1")],
        ),
        # What the toolkit says.
        (
            "2026-03-04 09:13:09,7 sagemaker-training-toolkit ERROR    ExecuteUserScriptError:",
            [("toolkit-error", "ExecuteUserScriptError")],
        ),
        ("ExitCode 137", [("exit-code", "137")]),
        ("Done waiting for a return code. Received 137 from exiting process.", [("exit-code", "137")]),
        ("Done waiting for a return code. Received 0 from exiting process.", []),
        # GPU memory.
        (
            "[Rank 3] (after 9 iterations) memory (MB) | allocated: 512.0 | max allocated: 1024.0 "
            "| reserved: 1536.0 | max reserved: 2048.0",
            [("gpu-memory", "rank=3 now=0.50 peak=2.00")],
        ),
        (
            "[utils.py:5:see_memory_usage] MA 5.3 GB         Max_MA 9.25 GB         CA 9.5 GB         Max_CA 12 GB ",
            [("gpu-memory", "now=5.30 peak=12.00")],
        ),
        (
            "MA 5.3 GB         Max_MA 6.25 GB         CA 6.4 GB         Max_CA 6 GB",
            [("gpu-memory", "now=5.30 peak=6.40")],
        ),
        ("MA 0.0 GB         Max_MA 0.0 GB         CA 0.0 GB         Max_CA 0 GB", []),
        (
            "| Allocated memory      |   5120 MiB |   9216 MiB |  20480 MiB |  15360 MiB |",
            [("gpu-memory", "now=5.00 peak=9.00")],
        ),
        (
            "| GPU reserved memory   |   9728 MiB |  10240 MiB |  20480 MiB |  10240 MiB |",
            [("gpu-memory", "peak=10.00")],
        ),
        (OLD_OOM, [("error", OLD_OOM), ("gpu-memory", "now=35.10 peak=36.20 capacity=39.41 wanted=2.00 idle=1.10")]),
        ("Peak memory allocated: 2048 MiB reserved: 3072 MiB", [("gpu-memory", "peak=3.00")]),
        ("step 7 loss: 2.1 max memory: 2.5 GiB", []),
        ("memory (MB) of the host", []),
    ],
)
def test_a_line_tells_a_fact(line: str, said: list[tuple[str, str | None]]) -> None:
    found = list(facts.read(line))
    assert [kind for kind, _ in found] == [kind for kind, _ in said]
    for (_, text), (_, expected) in zip(found, said, strict=True):
        assert text == (line.strip() if expected is None else expected)


def test_secrets_of_the_environment_are_not_kept() -> None:
    environment = {"num_gpus": 8, "current_host": "algo-1", "user_args": ["--token", "s3cr3t", "-x", "NCCL_ALGO=Ring"]}
    events = parse([f"SM_TRAINING_ENV={json.dumps(environment)}"]).events
    assert not events["text"].str.contains("s3cr3t").any()
    assert list(events["kind"]) == ["first-line", "environment"]


@pytest.mark.parametrize("table", [facts, marks], ids=["facts", "marks"])
@pytest.mark.parametrize("padding", ["", " " * 20_000, "9" * 20_000, "A." * 10_000, "\0" * 20_000])
def test_no_line_takes_long(table: object, padding: str) -> None:
    gates = drawn(table.GATES, 10)  # type: ignore[attr-defined]
    begun = time.thread_time()
    for gate in gates:
        for unit in (gate, f"{gate} 1 "):
            line = unit * (20_000 // len(unit))
            list(table.read(padding + line + padding))  # type: ignore[attr-defined]
    assert time.thread_time() - begun < 0.15 * len(gates)
