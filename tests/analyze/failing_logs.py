"""Ends of logs over memory and over waiting, as launchers and hosts write them, and the cause a careful reader would name.

Written for these tests in the forms of the libraries named; "" where the text alone does not tell the cause.
"""

from __future__ import annotations

from typing import NamedTuple


class Log(NamedTuple):
    """An end of a log: its lines, the finding's id, and the rank that failed first (None if it cannot be told)."""

    lines: tuple[str, ...]
    id: str
    rank: int | None = None


def step(number: int, rank: int = 0) -> str:
    return f"rank={rank} step={number} step_time_s=0.5 loss=2.{number}"


STEPS = tuple(step(number) for number in range(1, 7))
TRACE = "Traceback (most recent call last):"
SITE = "/opt/conda/lib/python3.11/site-packages"


def frames(*places: str) -> tuple[str, ...]:
    """``path:line:function`` as a traceback prints it, each with a line of code."""
    out = []
    for place in places:
        path, line, function = place.split(":")
        out += [f'  File "{path}", line {line}, in {function}', "    do(something)"]
    return tuple(out)


def raised(text: str, *places: str, steps: tuple[str, ...] = STEPS) -> tuple[str, ...]:
    return (*steps, TRACE, *frames(*(places or ("train.py:90:<module>", "train.py:71:main"))), text)


def by(rank: int, lines: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"[rank{rank}]: {line}" for line in lines)


LOADER = (
    "train.py:90:<module>",
    f"{SITE}/torch/utils/data/dataloader.py:630:__next__",
    f"{SITE}/torch/utils/data/_utils/fetch.py:51:fetch",
)
_TORCHRUN = (
    "E0304 08:10:02.100000 77 torch/distributed/elastic/multiprocessing/api.py:869] failed (exitcode: {code}) local_rank: "
    "{rank} (pid: 91) of binary: /opt/conda/bin/python",
    TRACE,
    '  File "/opt/conda/bin/torchrun", line 8, in <module>',
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
    "============================================================",
    "train.py FAILED",
    "------------------------------------------------------------",
    "Root Cause (first observed failure):",
    "[0]:",
    "  time      : 2026-03-04_08:10:02",
    "  host      : algo-1",
    "  rank      : {rank} (local_rank: {rank})",
    "  exitcode  : {code} (pid: 91)",
    "  error_file: <N/A>",
)


def torchrun(rank: int, code: int) -> tuple[str, ...]:
    return tuple(line.format(rank=rank, code=code) for line in _TORCHRUN)


PEER = (
    TRACE,
    "torch.distributed.DistBackendError: NCCL error in: /pytorch/NCCLUtils.hpp:275, remote process exited or there was a "
    "network error, NCCL version 2.20.5",
    "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.",
)
_WATCHDOG = (
    "[rank{rank}]:[E304 08:40:02.1 ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=1201, OpType=ALLREDUCE, NumelIn=90, NumelOut=90, Timeout(ms)=600000) ran for 600055 milliseconds before "
    "timing out."
)
_ABORT = (
    "[rank{rank}]:[E304 08:40:02.2 ProcessGroupNCCL.cpp:630] [Rank {rank}] To avoid data inconsistency, we are taking the entire "
    "process down.",
    "terminate called after throwing an instance of 'c10::DistBackendError'",
    "  what():  [PG 0 Rank {rank}] NCCL watchdog thread terminated with exception: [Rank {rank}] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=1201, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600055 milliseconds",
    "Fatal Python error: Aborted",
)


def toolkit(error: str, code: int = 1, extra: str = "") -> tuple[str, ...]:
    return (
        "2026-03-04 08:10:03,111 sagemaker-training-toolkit ERROR    Reporting training FAILURE",
        "2026-03-04 08:10:03,111 sagemaker-training-toolkit ERROR    ExecuteUserScriptError:",
        f"ExitCode {code}",
        f'ErrorMessage "{error}"',
        *((f'ExtraInfo "{extra}"',) if extra else ()),
        'Command "/opt/conda/bin/python3.11 train.py --epochs 3"',
        "2026-03-04 08:10:03,112 sagemaker-training-toolkit ERROR    Encountered exit_code 1",
    )


_OOM_1 = (
    "RuntimeError: CUDA out of memory. Tried to allocate 1.20 GiB (GPU 3; 39.59 GiB total capacity; 36.10 GiB already "
    "allocated; 410.19 MiB free; 37.90 GiB reserved in total by PyTorch)"
)
_OOM_2 = (
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacty of 79.15 GiB of "
    "which 300.25 MiB is free. Process 77 has 78.80 GiB memory in use. Of the allocated memory 70.11 GiB is allocated by "
    "PyTorch, and 6.30 GiB is reserved by PyTorch but unallocated."
)

#: name -> log
MEMORY: dict[str, Log] = {
    "oom of torch 1": Log((*by(3, raised(_OOM_1, steps=())), *by(0, PEER)), "cuda-out-of-memory", 3),
    "oom of torch 2": Log((*raised(_OOM_2), *torchrun(5, 1), *toolkit(_OOM_2)), "cuda-out-of-memory", 5),
    "oom after the peers' words": Log((*STEPS, *by(0, PEER), *by(6, (TRACE, _OOM_1))), "cuda-out-of-memory", 6),
    "oom under mpi": Log(
        (
            *(f"[1,mpirank:9,algo-2]<stderr>:{line}" for line in raised(_OOM_1)),
            *toolkit("RuntimeError: CUDA out of memory"),
        ),
        "cuda-out-of-memory",
        9,
    ),
    "cublas": Log(
        by(1, raised("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")),
        "cuda-out-of-memory",
        1,
    ),
    "cudnn": Log(raised("RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED"), "cuda-out-of-memory"),
    "cuda's own": Log(raised("RuntimeError: CUDA error: out of memory"), "cuda-out-of-memory"),
    "jax": Log(
        raised(
            "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes."
        ),
        "cuda-out-of-memory",
    ),
    "tensorflow": Log(
        (
            *raised(
                "tensorflow.python.framework.errors_impl.ResourceExhaustedError: Graph execution error:",
                f"{SITE}/keras/engine/training.py:1650:fit",
            ),
            "OOM when allocating tensor with shape[64,512,1024] and type float on /job:localhost/replica:0/task:0/device:GPU:0 "
            "by allocator GPU_0_bfc",
        ),
        "cuda-out-of-memory",
    ),
    "bitsandbytes": Log((*STEPS, "Error out of memory at line 380 in file /src/csrc/ops.cu"), "cuda-out-of-memory"),
    "nccl finds no memory": Log(
        (
            "algo-1:77:90 [2] include/alloc.h:48 NCCL WARN Cuda failure 2 'out of memory'",
            *by(2, raised("RuntimeError: NCCL error in: x.cpp:9, unhandled cuda error, NCCL version 2.18", steps=())),
        ),
        "cuda-out-of-memory",
    ),
    "smp": Log(
        (
            *STEPS,
            "[1,mpirank:4,algo-1]<stderr>:[2026-03-04 08:10:02.1: C smdistributed/worker.py:108] [4] Hit an exception for 0/1 on "
            f"thread 0: {_OOM_1.removeprefix('RuntimeError: ')}",
            f"[1,mpirank:4,algo-1]<stderr>:{_OOM_1}",
        ),
        "cuda-out-of-memory",
        4,
    ),
    "triton has too little shared memory": Log(
        raised(
            "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 147456, Hardware limit: 101376."
        ),
        "script-error",
    ),
    "tensorflow asks again for less": Log(
        (
            "2026-03-04 08:00:00.1: I tensorflow/stream_executor/cuda/cuda_driver.cc:733] failed to allocate 15.7G (16900000000 "
            "bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
            *raised("ModuleNotFoundError: No module named 'rouge'", steps=()),
        ),
        "script-error",
    ),
    "memory error": Log((*by(1, raised("MemoryError")), *by(0, PEER)), "host-out-of-memory", 1),
    "numpy": Log(
        raised("numpy.core._exceptions._ArrayMemoryError: Unable to allocate 190. GiB for an array with shape (9, 9)"),
        "host-out-of-memory",
    ),
    "cpu allocator": Log(
        raised(
            "RuntimeError: [enforce fail at alloc_cpu.cpp:75] . DefaultCPUAllocator: can't allocate memory: you tried to "
            "allocate 9663676416 bytes. Error code 12 (Cannot allocate memory)"
        ),
        "host-out-of-memory",
    ),
    "fork": Log(raised("OSError: [Errno 12] Cannot allocate memory"), "host-out-of-memory"),
    "killed": Log(
        (*STEPS, "Killed", *toolkit("", 137, "OutOfMemory: Process killed by SIGKILL (signal 9)")),
        "host-out-of-memory",
    ),
    "exit status alone": Log((*STEPS, *toolkit("", 137)), "host-out-of-memory"),
    "the kernel's own word": Log(
        (*STEPS, "[9157.1] Memory cgroup out of memory: Killed process 812 (python3) total-vm:99kB, anon-rss:88kB"),
        "host-out-of-memory",
    ),
    "torchrun sees a kill": Log((*STEPS, *torchrun(3, -9)), "host-out-of-memory", 3),
    "mpirun sees a kill": Log(
        (
            *STEPS,
            "mpirun noticed that process rank 11 with PID 1234 on node algo-2 exited on signal 9 (Killed).",
            *toolkit("", 137),
        ),
        "host-out-of-memory",
        11,
    ),
    "a worker is killed": Log(
        raised("RuntimeError: DataLoader worker (pid 4321) is killed by signal: Killed. ", *LOADER),
        "host-out-of-memory",
    ),
    "shared memory": Log(
        (
            *STEPS,
            "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
            *raised("RuntimeError: DataLoader worker (pid 4321) is killed by signal: Bus error. ", *LOADER, steps=()),
        ),
        "host-out-of-memory",
    ),
    "spawned process killed": Log(
        raised("torch.multiprocessing.spawn.ProcessExitedException: process 3 terminated with signal SIGKILL"),
        "host-out-of-memory",
    ),
}

WAITING: dict[str, Log] = {
    "watchdog": Log(
        (*STEPS, *(_WATCHDOG.format(rank=rank) for rank in (2, 0, 1)), *(line.format(rank=2) for line in _ABORT)),
        "nccl-timeout",
        2,
    ),
    "watchdog and torchrun's word": Log(
        (*STEPS, _WATCHDOG.format(rank=2), *(line.format(rank=2) for line in _ABORT), *torchrun(0, -6)), "nccl-timeout", 2
    ),
    "gloo": Log(
        by(1, raised("RuntimeError: [/pytorch/third_party/gloo/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv "
                       "operation to complete")),
        "nccl-timeout",
        1,
    ),
    "the store's barrier": Log(
        raised(
            "RuntimeError: Timed out initializing process group in store based barrier on rank: 3, for key: "
            "store_based_barrier_key:1 (world_size=16, worker_count=12, timeout=0:30:00)",
            steps=(),
        ),
        "nccl-timeout",
    ),
    "clients are missing": Log(
        raised("torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 3/4 clients joined."),
        "nccl-timeout",
    ),
    "monitored barrier": Log(
        by(0, raised("RuntimeError: Rank 5 failed to pass monitoredBarrier in 600000 ms")), "nccl-timeout", 0
    ),
    "heartbeat": Log(
        (
            *STEPS,
            "[rank4]:[F304 08:40:02.1 ProcessGroupNCCL.cpp:1411] [PG 0 (default_pg) Rank 4] [PG 0 (default_pg) Rank 4] "
            "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives.",
        ),
        "nccl-timeout",
        4,
    ),
    "a crash makes others wait": Log(
        (*STEPS, *by(5, raised("ValueError: bad optimizer state", steps=())), _WATCHDOG.format(rank=0)), "script-error", 5
    ),
    "all only miss a peer": Log((*STEPS, *by(0, PEER), *by(1, PEER)), "", 0),
}  # fmt: skip
