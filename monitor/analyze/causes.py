"""What does a failure's log line say about its cause? Its text goes in; the kind of cause and how much it explains
come out.

Texts are matched by the words that their authors use: PyTorch, NCCL, Gloo, XLA, TensorFlow, Open MPI, torchrun, the kernel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

#: device-memory host-memory shared-memory hardware nan data? program: a cause in its own words ("program" is what is left,
#: which may concern the data). killed: by a signal that nobody explains. timeout: others were waited for. crash: native
#: code, or NCCL, gave up. gone: a peer is missed. summary: the launcher's words, or a signal from outside.
Kind = Literal[
    "device-memory",
    "host-memory",
    "shared-memory",
    "hardware",
    "nan",
    "program",
    "killed",
    "timeout",
    "crash",
    "gone",
    "summary",
]

#: How much a kind explains; of errors that no clock puts in order the one that explains the most began it.
STRENGTH: dict[str, int] = {
    **dict.fromkeys(("device-memory", "host-memory", "shared-memory", "hardware", "nan", "program"), 4),
    "killed": 3,
    "timeout": 2,
    "crash": 1,
    "gone": 1,
    "summary": 0,
}
#: From here on an error names a cause, and is no echo of another one.
NAMES_A_CAUSE = 2


@dataclass(frozen=True, slots=True)
class _Words:
    kind: Kind
    pattern: re.Pattern[str]


def _words(kind: Kind, pattern: str) -> _Words:
    return _Words(kind, re.compile(pattern))


# The first that knows a text names its kind: the exact before the general.
_TABLE = (
    _words("killed", r"terminated with signal SIGKILL|died with <Signals\.SIGKILL"),
    _words(
        "shared-memory",
        r"(?i)killed by signal: Bus error|Unexpected bus error|out of shared memory|insufficient shared memory"
        r"|unable to (?:open|mmap|write to) (?:file|shared memory)[^\n]{0,40}(?:torch_|shared memory)|/dev/shm",
    ),
    _words(
        "host-memory",
        r"\bMemoryError\b|_ArrayMemoryError|running low on memory"
        r"|std::bad_alloc(?!.*(?:CUDA|cuda|rmm))|\[Errno 12\]|(?i:cannot allocate memory)"
        r"|DefaultCPUAllocator|by allocator cpu\b|(?i:out of memory: kill(?:ed)? process)|(?i:oom[-_ ]?kill|oom_reaper)"
        r"|killed by signal: Killed",
    ),
    _words(
        "device-memory",
        r"\b(?:CUDA|HIP) (?:error: )?out of memory|\bOutOfMemoryError\b|C(?:UBLAS|UDNN)_STATUS_ALLOC_FAILED"
        r"|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|cudaMalloc (?:retry )?failed: out of memory"
        r"|RESOURCE_EXHAUSTED:.*(?:[Oo]ut of memory|OOM|alloc)|ResourceExhaustedError|OOM when allocating"
        r"|Cuda failure (?:\d )?'out of memory'|rmm::.{0,20}out_of_memory|Error out of memory at line \d"
        r"|Out of memory allocating \d+ bytes|[Oo]ut of memory error on GPU|in memory space hbm",
    ),
    # Of NVIDIA's Xids those of the device, not those that a program's own fault or end brings about.
    _words(
        "hardware",
        r"Xid \(.{0,60}?\): (?:48|63|64|74|79|92|94|95|119|120|140)\b|fallen off the bus|uncorrectable .{0,20}ECC error",
    ),
    _words("crash", r"Xid \("),
    _words(
        "nan",
        r"(?i)\bfound nan in local|loss (?:returned )?in \S{1,60} is nan|returned nan values in its"
        r"|loss became infinite or nan|FloatingPointError: .{0,80}\bloss\b|\bloss\b.{0,30}\b(?:is|became|was) (?:nan|inf)"
        r"|\bnan\b.{0,20}\b(?:detected|found|encountered)\b.{0,40}\b(?:loss|grad)"
        r"|\b(?:loss|grad)\w*.{0,30}\b(?:contains?|has) nan",
    ),
    _words(
        "timeout",
        r"[Ww]atchdog caught collective|collective (?:operation )?timeout|operations have failed or timed out"
        r"|watchdog got stuck|Timed out waiting \d+ ?ms|Timed out initializing process group|Timeout at NCCL work"
        r"|Heartbeat monitor timed out|failed to pass monitoredBarrier|seconds waiting for clients|wait timeout after \d+ ?ms"
        r"|\b[Bb]arrier timed out|RendezvousTimeoutError|DistStoreError: (?:Socket )?[Tt]ime(?:d )?out",
    ),
    _words(
        "summary",
        r"ChildFailedError|SignalException|ExecuteUserScriptError|CalledProcessError|KeyboardInterrupt|SystemExit\b"
        r"|ProcessRaisedException|ProcessExitedException|ProcessException|RendezvousClosedError|RendezvousConnectionError",
    ),
    _words(
        "gone",
        r"(?i)connection (?:was )?(?:closed|reset|refused|aborted)|closed by (?:remote )?peer|broken pipe"
        r"|socket (?:timeout|closed)|remote process (?:has )?(?:exited|terminated)|remote peer|ncclRemoteError|ncclSystemError"
        r"|unhandled system error|DistNetworkError|failed to recv|communicator was aborted|process group .{0,40}abort"
        r"|Connection(?:Reset|Refused|Aborted)Error|BrokenPipeError|HorovodInternalError|connectFullMesh|RendezvousGracefulExit"
        r"|\b(?:Unavailable|Aborted|Cancelled)Error\b|application timeout caused pair closure|aborting all (?:processes|ranks)"
        r"|coordination service.{0,80}(?:error|shut)",
    ),
    _words("killed", r"(?:^|[\s:])Killed\b|\bSIGKILL\b|Killed\s*$"),
    _words(
        "crash",
        r"Segmentation fault|Bus error|Aborted|terminate called|Fatal Python error|unhandled cuda error|ncclUnhandledCudaError"
        r"|ncclInternalError|ncclInvalidUsage|NCCL (?:WARN|error)|DistBackendError|killed by signal|exited unexpectedly"
        r"|cudaErrorLaunchFailure|unspecified launch failure",
    ),
)


def kind_of(text: str) -> Kind:
    """The kind of cause that an error's text names; "program" for every other exception."""
    return next((words.kind for words in _TABLE if words.pattern.search(text)), "program")


def strength(text: str) -> int:
    """How much an error's text explains, by ``STRENGTH``."""
    return STRENGTH[kind_of(text)]
