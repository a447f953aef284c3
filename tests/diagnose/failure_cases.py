"""Runs whose end a rule must name, and runs about whose end it must be silent; merged into ``cases``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import pandas as pd

from monitor.model import InstanceGroup, Job, LogCoverage, LogPage, Parameter, Run, Transition, metrics_frame
from monitor.parse.assemble import assemble
from monitor.parse.recognise import RawRows
from tests.builders import START, metrics, nodes_of
from tests.diagnose.runs import Cases

MINUTES = 60
END = START + timedelta(minutes=MINUTES)
BUSY = {"gpu_utilization": 92.0, "gpu_memory_utilization": 75.0, "cpu_utilization": 30.0}
Timed = tuple[float, str]
"""Seconds from the start, and a line."""

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 770.00 MiB. GPU 6 has a total capacity of 39.39 GiB of which "
    "55.75 MiB is free. Including non-PyTorch memory, this process has 39.30 GiB memory in use."
)
PEER = "torch.distributed.DistBackendError: NCCL error, remote process exited or there was a network error"
TRACE = "Traceback (most recent call last):"
WATCHDOG = (
    "[rank{rank}]:[E] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=88, OpType=ALLREDUCE, "
    "Timeout(ms)=600000) ran for 600012 milliseconds before timing out."
)
CHILD = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "


def trained(rank: int, until_s: float, loss: str = "2.1", every_s: float = 4.0) -> list[Timed]:
    """Steps of a rank up to a moment."""
    count = int(until_s // every_s)
    return [
        (every_s * n, f"rank={rank} step={n} step_time_s={every_s} loss={loss} total=900") for n in range(1, count + 1)
    ]


def raised(rank: int, at_s: float, text: str, file: str = "/opt/ml/code/train.py") -> list[Timed]:
    """A traceback of a rank."""
    lines = (TRACE, f'  File "{file}", line 40, in main', "    work()", text)
    return [(at_s + 0.01 * place, f"[rank{rank}]: {line}") for place, line in enumerate(lines)]


def run_of(
    streams: dict[str, Sequence[Timed]],
    *,
    status: str = "Failed",
    secondary: str | None = None,
    reason: str | None = None,
    end_s: float = 3600.0,
    skew_s: dict[str, float] | None = None,
    order: Sequence[str] = (),
    page: int = 1000,
    transitions: tuple[Transition, ...] | None = None,
    started: bool = True,
    metric_frame: pd.DataFrame | None = None,
    configuration: dict[str, Any] | None = None,
    **changes: Any,
) -> Run:
    """A job of two nodes with the lines of its streams; ``order`` says which stream comes first, ``skew_s`` shifts clocks."""
    raw = RawRows()
    pages = []
    for node in order or tuple(streams):
        lines = sorted(streams[node], key=lambda line: line[0])
        ahead = (skew_s or {}).get(node, 0.0)
        at_ms = [int(1000 * (START.timestamp() + at + ahead)) for at, _ in lines]
        for first in range(0, len(lines), page):
            part = slice(first, first + page)
            texts = [text for _, text in lines[part]]
            pages.append(LogPage.of(f"job/{node}-1", node, first + 1, texts, tuple(at_ms[part])))
    for one in pages:
        raw.add(one)
    parsed = assemble(raw.steps, raw.events)
    end = START + timedelta(seconds=end_s)
    hosts = nodes_of(2)
    job = Job(
        "case",
        status=status,
        secondary_status=secondary or ("Training" if status == "InProgress" else status),
        instance_groups=(InstanceGroup("", "ml.p4d.24xlarge", 2),),
        created=START - timedelta(minutes=5),
        started=START - timedelta(minutes=1) if started else None,
        ended=None if status == "InProgress" else end,
        transitions=transitions
        if transitions is not None
        else (Transition("Training", START - timedelta(minutes=1), None if status == "InProgress" else end),),
        failure_reason=reason,
        nodes=hosts,
        configuration={name: Parameter(value, "mp_parameters") for name, value in (configuration or {}).items()},
    )
    last = None if raw.last_ms is None else datetime.fromtimestamp(raw.last_ms / 1000, START.tzinfo)
    frame = metrics([host.name for host in hosts], MINUTES, BUSY) if metric_frame is None else metric_frame
    return replace(
        Run(job, parsed.steps, frame, parsed.events, (), 60, LogCoverage(len(streams), raw.lines, last)), **changes
    )


def two(first: Sequence[Timed] = (), second: Sequence[Timed] = (), until_s: float = 3590.0) -> dict[str, list[Timed]]:
    """Two nodes that train up to a moment, and what each says then."""
    return {"algo-1": [*trained(0, until_s), *first], "algo-2": [*trained(8, until_s), *second]}


def spot(*statuses: str, minutes: Sequence[int]) -> tuple[Transition, ...]:
    """Status changes at minutes from the start."""
    ends = [*minutes[1:], None]
    return tuple(
        Transition(status, START + timedelta(minutes=a), None if b is None else START + timedelta(minutes=b))
        for status, a, b in zip(statuses, minutes, ends, strict=True)
    )


@cache
def out_of_memory() -> Run:
    """One rank of the second node; the first node only misses its peer."""
    configuration = {"micro_batch_size": 8, "tensor_parallel_degree": 2}
    return run_of(two(_PEER_0, raised(14, 3590.5, OOM)), configuration=configuration)


def _toolkit(code: int, error: str, extra: str = "") -> str:
    more = f'\nExtraInfo "{extra}"' if extra else ""
    return f'AlgorithmError: ExecuteUserScriptError:\nExitCode {code}\nErrorMessage "{error}"{more}\nCommand "python train.py"'


_PEER_0 = [(3591.0, TRACE), (3591.1, PEER), (3592.0, CHILD)]
_NONE: dict[str, list[Timed]] = {}
_NAN = [
    *trained(0, 400.0),
    *((400.0 + 4 * n, f"rank=0 step={100 + n} step_time_s=4.0 loss=nan") for n in range(1, 200)),
]
_FAILED_DATA = raised(
    8, 3590.5, "FileNotFoundError: [Errno 2] No such file or directory: '/opt/ml/input/data/train/7.tar'"
)
_RETURNED = spot("Training", "Interrupted", "Starting", "Training", "Completed", minutes=(-1, 20, 30, 35, 60))
_STOPPED = spot("Training", "Stopping", "Stopped", minutes=(-1, 60, 61))


def _full_hosts() -> pd.DataFrame:
    return metrics(["algo-1", "algo-2"], MINUTES, {**BUSY, "memory_utilization": 97.0}, spread=0.5)


FAILURE_FIRES: Cases = {
    "cuda-out-of-memory": lambda: [
        out_of_memory(),
        run_of(_NONE, reason=_toolkit(1, OOM)),
        # Ranks that hang after it are stopped by the time limit: that is not what began it.
        run_of(two((), raised(14, 1200.0, OOM), 1199.0), status="Stopped", secondary="MaxRuntimeExceeded"),
    ],
    "host-out-of-memory": lambda: [
        run_of(two(_PEER_0, [(3590.5, "Killed")]), metric_frame=_full_hosts(), reason=_toolkit(137, "")),
        run_of(_NONE, reason=_toolkit(137, "", "OutOfMemory: Process killed by SIGKILL (signal 9)")),
        run_of(_NONE, reason="AlgorithmError: , exit code: 137"),
        run_of(_NONE, reason="ClientError: Please use an instance type with more memory, or reduce the size of training data"),
    ],
    "nccl-timeout": lambda: [
        run_of(two([(3500.0, WATCHDOG.format(rank=0)), (3501.0, CHILD)], [(3500.4, WATCHDOG.format(rank=8))], 2900.0)),
        run_of(two([(3500.0, WATCHDOG.format(rank=0))], (), 2900.0), status="InProgress"),
    ],
    "spot-interruption": lambda: [
        run_of(two(), status="Completed", transitions=_RETURNED),
        run_of(two(until_s=1199.0), status="Stopped", secondary="MaxWaitTimeExceeded",
               transitions=spot("Training", "Interrupted", "Starting", "MaxWaitTimeExceeded", minutes=(-1, 20, 21, 60))),
        run_of(two([(1199.5, "Received spot interruption notice: action=terminate")], until_s=1199.0), end_s=1320.0),
    ],
    "access-denied": lambda: [
        run_of(_NONE, reason="ClientError: Data download failed:AccessDenied (403): Access Denied"),
        run_of(_NONE, reason="ClientError: Cannot pull algorithm container. Either the image does not exist or its "
               "permissions are incorrect."),
    ],
    "capacity": lambda: [
        run_of(_NONE, started=False, transitions=(), metric_frame=metrics_frame(),
               reason="CapacityError: Unable to provision requested ML compute capacity. Please retry."),
        run_of(_NONE, started=False, metric_frame=metrics_frame(), transitions=(
            Transition("Starting", START, END, "Insufficient capacity error from EC2 while launching instances, retrying!"),)),
    ],
    "data-error": lambda: [
        run_of(two(_PEER_0, _FAILED_DATA)),
        run_of(_NONE, started=False, reason="ClientError: Data download failed:NoSuchKey (404): The key does not exist."),
        run_of(_NONE, reason=_toolkit(1, "FileNotFoundError: [Errno 2] No such file or directory: '/opt/ml/input/data/x.csv'")),
    ],
    "script-error": lambda: [
        run_of(two(_PEER_0, raised(9, 3590.5, "AttributeError: 'Net' object has no attribute 'heads'"))),
        run_of(_NONE, reason=_toolkit(1, "ModuleNotFoundError: No module named 'apex'")),
        run_of(_NONE, reason=_toolkit(2, "train.py: error: unrecognized arguments: --lr 3")),
    ],
    "nan-loss": lambda: [
        run_of({"algo-1": _NAN}, status="Completed"),
        run_of({"algo-1": _NAN}, status="InProgress"),
        run_of({"algo-1": [*_NAN, *raised(0, 1300.0, "RuntimeError: probability tensor contains either inf or nan")]}),
    ],
    "max-runtime": lambda: [
        run_of(two(), status="Stopped", secondary="MaxRuntimeExceeded"),
        run_of(_NONE, status="Stopped", secondary="MaxWaitTimeExceeded", started=False, metric_frame=metrics_frame()),
    ],
    "stopped-by-user": lambda: [
        run_of(two(), status="Stopped", transitions=_STOPPED),
        # What the stop itself brings about is no cause.
        run_of(two([(3601.0, "KeyboardInterrupt"), (3601.0, "RuntimeError: Connection reset by peer"),
                    (3602.0, "ValueError: half a batch")]), status="Stopped", transitions=_STOPPED),
    ],
}  # fmt: skip


@cache
def _healthy() -> list[Run]:
    return [run_of(two(), status="Completed"), run_of(two(), status="InProgress", end_s=3600.0)]


FAILURE_SILENT: Cases = {
    "cuda-out-of-memory": lambda: [
        *_healthy(),
        run_of({"algo-1": sorted([*trained(0, 3590.0), *raised(0, 900.0, OOM)])}, status="Completed"),
        run_of({"algo-1": sorted([*trained(0, 3590.0), *raised(0, 900.0, OOM)])}, reason="InternalServerError: try again"),
    ],
    "host-out-of-memory": lambda: [*_healthy(), run_of(two(_PEER_0, raised(14, 3590.5, OOM)))],
    # The one that crashed is the cause; the others' timeouts come of it.
    "nccl-timeout": lambda: [
        *_healthy(),
        run_of(two([(3500.0, WATCHDOG.format(rank=0))], raised(9, 2900.0, "ValueError: no scheduler"), 2899.0)),
        run_of(two([(3500.0, WATCHDOG.format(rank=0))], (), 2900.0), reason="InternalServerError: We encountered an error."),
    ],
    "spot-interruption": lambda: [*_healthy()],
    "access-denied": lambda: [run_of(_NONE, reason="ClientError: Data download failed:NoSuchKey (404): It does not exist.")],
    "capacity": lambda: [
        *_healthy(),
        run_of(_NONE, reason="InternalServerError: We encountered an internal error. Please try again."),
    ],
    "data-error": lambda: [*_healthy(), run_of(_NONE, reason="ClientError: Cannot pull algorithm container.")],
    "script-error": lambda: [*_healthy(), run_of(two(_PEER_0, _FAILED_DATA)), run_of(_NONE, reason=_toolkit(1, ""))],
    "nan-loss": lambda: [
        *_healthy(),
        run_of({"algo-1": [*trained(0, 400.0), (401.0, "rank=0 step=101 loss=nan"), (404.0, "rank=0 step=102 loss=2.0")]},
               status="Completed"),
        run_of({"algo-1": [*trained(0, 400.0), *((400.0 + n, f"eval step={n} val_loss=nan") for n in range(9))]},
               status="Completed"),
    ],
    "max-runtime": lambda: [*_healthy(), run_of(two(), status="Stopped", transitions=_STOPPED)],
    "stopped-by-user": lambda: [*_healthy(), run_of(two(), status="Stopped", secondary="MaxRuntimeExceeded")],
}  # fmt: skip
