"""What stands at the end of the logs: a success, or a failure with its cascade over ranks and launcher."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from benchmarks.planted.dialect import stamp
from benchmarks.planted.failures import FAILURES
from benchmarks.planted.plan import Plan


@dataclass(frozen=True, slots=True)
class Line:
    """A line before the launcher has put its tag on it; ``rank`` is None where the toolkit or launcher writes itself."""

    at_s: float
    node: int
    rank: int | None
    text: str
    error_stream: bool = False


def success(plan: Plan, at_s: float, began_s: float) -> Iterator[Line]:
    """The toolkit's lines at a good end."""
    for node in range(plan.nodes):
        end = at_s + (30.0 if plan.launcher == "mpi" and node else 2.0)
        for offset, text in (
            (0.0, "Waiting for the process to finish and give a return code."),
            (0.001, "Done waiting for a return code. Received 0 from exiting process."),
            (0.002, "Reporting training SUCCESS"),
        ):
            yield _toolkit(end + offset, began_s, node, "INFO", text)


def failure(plan: Plan, at_s: float, began_s: float) -> Iterator[Line]:
    """One rank's error, its peers' complaints, the launcher's and the toolkit's last words."""
    kind = FAILURES[plan.ending.error]
    rng = np.random.default_rng((plan.seed, 41))
    rank = plan.ending.rank
    node = plan.node_of(rank)
    if kind.collective:
        for other in range(plan.world):
            if other == rank:
                continue
            after = float(rng.uniform(0, 1.5))
            host = plan.node_of(other)
            for text in kind.lines(plan):
                said = f"[rank{other}]:[E ProcessGroupNCCL.cpp:616] [Rank {other}] {text}"
                yield Line(at_s + after, host, other, said, True)
            yield Line(
                at_s + after + 2,
                host,
                other,
                f"[rank{other}]:[E ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0 Rank {other}] Exception (either an error or"
                " timeout) detected by watchdog at work: 88214, last enqueued NCCL work: 88215.",
                True,
            )
    else:
        front = f"[rank{rank}]: " if plan.seed % 2 and kind.exit_code == 1 else ""
        for number, text in enumerate(kind.lines(plan)):
            yield Line(at_s + 0.001 * number, node, rank, front + text, True)
        for other in sorted(int(chosen) for chosen in rng.choice(plan.world, min(plan.world, 6), replace=False)):
            if other != rank and plan.world > 1:
                yield from _peer(plan, at_s + float(rng.uniform(0.6, 9)), other)
    # Where a collective timed out, those that waited die; the one they waited for does not.
    died = (rank + 1) % plan.world if kind.collective else rank
    yield from _launcher(plan, at_s + 12, began_s, died, kind.exit_code)


def _peer(plan: Plan, at_s: float, rank: int) -> Iterator[Line]:
    node = plan.node_of(rank)
    for number, text in enumerate(
        (
            "Traceback (most recent call last):",
            '  File "/opt/ml/code/train.py", line 367, in main',
            "    loss = train_step(model, batch)",
            "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1331, remote process exited or there"
            " was a network error, NCCL version 2.19.3",
            "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
        )
    ):
        yield Line(at_s + 0.001 * number, node, rank, text, True)


def _launcher(plan: Plan, at_s: float, began_s: float, rank: int, code: int) -> Iterator[Line]:
    clock = datetime.fromtimestamp(began_s + at_s, UTC)
    local = rank % plan.ranks_a_node
    if plan.launcher == "mpi":
        for number, text in enumerate(
            (
                "--------------------------------------------------------------------------",
                "mpirun.real detected that one or more processes exited with non-zero status, thus causing",
                "the job to be terminated. The first process to do so was:",
                f"  Process name: [[30211,1],{rank}]",
                f"  Exit code:    {code}",
                "--------------------------------------------------------------------------",
            )
        ):
            yield Line(at_s + 0.001 * number, 0, None, text)
    nodes = (0,) if plan.launcher == "mpi" else range(plan.nodes)
    for node in nodes:
        own = node == plan.node_of(rank)
        if plan.launcher == "torchrun":
            yield from _elastic(at_s, clock, node, rank, local, code if own else 1, plan)
        told = "" if code == 137 else " ".join(FAILURES[plan.ending.error].lines(plan))
        words = [("ERROR", "Reporting training FAILURE"), ("ERROR", "ExecuteUserScriptError:")]
        for number, (level, text) in enumerate(words):
            yield _toolkit(at_s + 1 + 0.001 * number, began_s, node, level, text)
        yield Line(at_s + 1.003, node, None, f"ExitCode {code if own or plan.launcher == 'mpi' else 1}")
        yield Line(at_s + 1.004, node, None, f'ErrorMessage "{told}"')
        if code == 137 and own:
            yield Line(at_s + 1.005, node, None, 'ExtraInfo "OutOfMemory: Process killed by SIGKILL (signal 9)"')
        yield Line(at_s + 1.006, node, None, 'Command "/opt/conda/bin/python3.10 train.py"')
        yield _toolkit(at_s + 1.007, began_s, node, "ERROR", f"Encountered exit_code {code}")


def _elastic(at_s: float, clock: datetime, node: int, rank: int, local: int, code: int, plan: Plan) -> Iterator[Line]:
    head = f"[{clock:%Y-%m-%d %H:%M:%S},{clock.microsecond // 1000:03d}] torch.distributed.elastic.multiprocessing.api:"
    own = node == plan.node_of(rank)
    mine = rank if own else node * plan.ranks_a_node
    died = f"exitcode: {-9 if code == 137 else code}) local_rank: {local if own else 0} (pid: {101 + local})"
    texts = [
        f"{head} [WARNING] Sending process {101 + k} closing signal SIGTERM" for k in range(min(3, plan.ranks_a_node))
    ]
    texts.append(f"{head} [ERROR] failed ({died} of binary: /opt/conda/bin/python3.10")
    texts += [
        "Traceback (most recent call last):",
        '  File "/opt/conda/bin/torchrun", line 8, in <module>',
        "    sys.exit(main())",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "============================================================",
        "train.py FAILED",
        "------------------------------------------------------------",
        "Root Cause (first observed failure):",
        "[0]:",
        f"  time      : {clock:%Y-%m-%d_%H:%M:%S}",
        f"  host      : algo-{node + 1}",
        f"  rank      : {mine} (local_rank: {mine % plan.ranks_a_node})",
        f"  exitcode  : {-9 if code == 137 else code} (pid: {101 + local})",
        "  error_file: <N/A>",
        f"  traceback : {'Signal 9 (SIGKILL) received by PID 104' if code == 137 else 'To enable traceback see the manual'}",
        "============================================================",
    ]
    for number, text in enumerate(texts):
        yield Line(at_s + 0.001 * number, node, None, text, True)


def _toolkit(at_s: float, began_s: float, node: int, level: str, text: str) -> Line:
    clock = datetime.fromtimestamp(began_s + at_s, UTC)
    return Line(at_s, node, None, f"{stamp(clock)} sagemaker-training-toolkit {level:8} {text}")
