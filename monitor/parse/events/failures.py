"""Lines that say that something failed: exceptions, kills, what NCCL, the launcher and the toolkit say about the end.

Which of them came first, and which only followed, is asked over all ranks in ``monitor.analyze.cascade``.
"""

from __future__ import annotations

import re

from monitor.parse.events.reader import captured, event

_LONGEST_ERROR = 1000
# What a logger puts before its message: "[2022-04-21 09:13:02.565: C path/worker.py:108] [14] ".
_LOGGER_HEAD = re.compile(r"^\[20[^\]]{0,200}\]\s*(?:\[\d+\]\s*)?")
# Names of measures, whose lines end in a figure.
_MEASURE = (
    r"(?!\w{0,40}(?:Squared|Absolute|Percentage|Logarithmic|Training|Validation|Test|Prediction)Error: [-+\d.eE]+\s*$)"
)
# Words a shell puts before what a process died of: "train.sh: line 5:   123 Killed      python train.py".
_SHELL = r"(?:\S{1,200}: line \d+:)?\s*(?:\d+ )?"


# Exceptions whose names do not say that they are one.
_NAMED_OTHERWISE = (
    r"ArrowInvalid|BadZip[Ff]ile|NoSuchKey|NoSuchBucket|TimeoutExpired|OutOfResources|BrokenProcessPool|BackendCompilerFailed|"
    r"ReadTimeout|ConnectTimeout|StopIteration|SystemExit|error|timeout"
)
# Device memory that was refused, whoever says it; TensorFlow asks again for less, and says that this is no failure.
_REFUSED = (
    r"(?!.*(?:from device: CUDA_ERROR_OUT_OF_MEMORY|indicates that this is not a failure))"
    r".*(?:\b(?:CUDA|HIP) (?:error: )?out of memory\b|\bC(?:UBLAS|UDNN)_STATUS_ALLOC_FAILED|\bCUDA_ERROR_OUT_OF_MEMORY"
    r"|\bcudaErrorMemoryAllocation|\bcudaMalloc (?:retry )?failed: out of memory"
    r"|\bRESOURCE_EXHAUSTED: (?=.*(?:[Oo]ut of memory|OOM|alloc))"
    r"|\bOOM when allocating|\bCuda failure (?:\d )?'out of memory'|\bError out of memory at line \d).*"
)
# A file of the user's program, or one that reads data: what the last lines of a traceback were about.
_FRAME = re.compile(
    r"(?i)(?:site|dist)-packages/(?:torch/utils/data/|torchdata/|webdataset/|datasets/|PIL/|torchvision/(?:datasets|io|transforms)"
    r"|cv2/|decord/|av/|h5py/|pyarrow/|pandas/|polars/|s3fs/|fsspec/|smart_open/|s3torchconnector|s3torchbenchmarking|streaming/"
    r"|nvidia/dali/|ffcv/|lmdb|tensorflow/python/data/|tensorflow_datasets/|librosa/|soundfile|torchaudio/|zarr/|litdata/"
    r"|numpy/lib/_?(?:npyio|format)|megatron/(?:core/)?(?:data|datasets)/|nemo/collections/\w+/data/|fairseq/data/)"
    r"|/(?:tarfile|gzip|zipfile|csv|codecs|lzma|bz2)\.py$|/json/decoder\.py$"
)
_OF_A_LIBRARY = re.compile(r"(?:site|dist)-packages/|/lib(?:64)?/python\d|^<|/torchrun$|/bin/[\w.-]+$")


def _error(match: re.Match[str]) -> str:
    return _LOGGER_HEAD.sub("", match["error"].strip())[:_LONGEST_ERROR]


def _frame(match: re.Match[str]) -> str | None:
    """``data: path:line in function`` of a library that reads data, ``path:line in function`` of the user's program."""
    path = match["path"]
    place = f"{path}:{match['line']} in {match['function'].strip()}"
    if _FRAME.search(path):
        return f"data: {place}"
    return None if _OF_A_LIBRARY.search(path) else place


def _fields(match: re.Match[str]) -> str:
    """``rank=3 host=algo-2 signal=9``, of what the launcher's line tells."""
    return " ".join(f"{name}={value}" for name, value in match.groupdict().items() if value is not None)


ROWS = (
    event(
        "error",
        "Error|Exception|Interrupt|out of memory|Killed|Segmentation fault|Bus error|Aborted|terminate called|"
        "bus error|Xid (|fallen off the bus|ALLOC_FAILED|OUT_OF_MEMORY|RESOURCE_EXHAUSTED|OOM when allocating|ArrowInvalid|"
        "BadZip|NoSuchKey|NoSuchBucket|TimeoutExpired|OutOfResources|BrokenProcessPool|BackendCompilerFailed|ReadTimeout|"
        "ConnectTimeout|StopIteration|SystemExit|.error: |.timeout: |: error: |can't open file '|  what():  |ECC error",
        r"^\s*+(?:\[rank\d+\]:\s*|\d{1,5}: )?(?P<error>"
        + _MEASURE
        + r"(?:[A-Za-z_][\w.]*\.)?_?(?:[A-Z]\w*(?:Error|Interrupt)|(?:[A-Z]\w*)?Exception)\b(?::(?:\s.*)?)?"
        + rf"|(?:[A-Za-z_]\w*\.)+(?:{_NAMED_OTHERWISE})(?:: .*)?|(?:StopIteration|SystemExit)(?:: .*)?"
        + rf"|{_REFUSED}"
        r"|.*\bKilled\s*"
        r"|\S{1,200}: error: (?:unrecognized arguments|the following arguments are required|argument \S+:|ambiguous option).*"
        r"|\S{1,200}: can't open file '.*|what\(\):  .*|.*\b(?:Algorithm|Customer) Error: .*"
        r"|.*\buncorrectable (?:NVLink |double.bit )?ECC error\b.*"
        rf"|{_SHELL}(?:Killed|Segmentation fault|Bus error|Aborted)(?: \(core dumped\))?(?:\s{{2,}}\S.*)?\s*"
        r"|Fatal Python error: .*|terminate called after throwing .*|ERROR: Unexpected bus error .*"
        r"|.*\bNVRM: Xid \(.*|.*\bGPU has fallen off the bus.*)$",
        _error,
    ),
    event(
        "oom-kill",
        "ut of memory: Kill|oom-kill|oom_kill|OOM Kill|oom_reaper|OutOfMemory: Process killed",
        r"(?i)out of memory: kill(?:ed)? process|oom-kill|oom_kill event|oom killed|oom_reaper|OutOfMemory: Process killed",
    ),
    event(
        "nccl-error",
        "ncclSystemError|ncclInternalError|ncclUnhandledCudaError|ncclRemoteError|ncclInvalidUsage|"
        "unhandled system error|unhandled cuda error|NCCL WARN|NCCL error",
        r"\bnccl(?:System|Internal|UnhandledCuda|Remote)Error\b|\bncclInvalidUsage\b|\bunhandled (?:system|cuda) error"
        r"|\bNCCL error\b|NCCL WARN (?!NET/|.{0,80}(?:[Pp]lugin|libibverbs))"
        r".{0,200}?(?:[Ff]ail|[Ee]rror|[Tt]im(?:ed |e)out|[Cc]losed|[Rr]efused|[Rr]eset|[Mm]ismatch)",
    ),
    event("traceback", "Traceback (most recent call last)", r"Traceback \(most recent call last\)"),
    event(
        "frame",
        'File "',
        r'^\s*+(?:\[rank\d+\]:\s*|\d{1,5}: )?File "(?P<path>[^"\n]{1,400})", line (?P<line>\d{1,7}), '
        r"in (?P<function>[^\n]{1,80})",
        _frame,
    ),
    # What the toolkit quotes of the program's last words.
    event("error-message", 'ErrorMessage "', r'^\s*+ErrorMessage "(?P<said>.+)', captured),
    event("ignored-exception", "Exception ignored in", r"Exception ignored in"),
    # torchrun names the process it saw fail first: a hint, and not the cause where ranks wait for one that hangs.
    event("root-cause", "Root Cause (first observed failure)", r"Root Cause \(first observed failure\)"),
    event(
        "worker-exit",
        "failed (exitcode:",
        r"failed \(exitcode: (?P<exitcode>-?\d+)\) local_rank: (?P<local_rank>\d+)",
        _fields,
    ),
    event("worker-exit", "(local_rank:", r"^\s*+rank\s+: (?P<rank>\d+) \(local_rank: (?P<local_rank>\d+)\)", _fields),
    event("worker-exit", "exitcode  :", r"^\s*+exitcode\s+: (?P<exitcode>-?\d+) \(pid", _fields),
    event("worker-exit", "host      :", r"^\s*+host\s+: (?P<host>[\w.-]+)\s*$", _fields),
    # Open MPI: the first process that ended badly, "[[41179,1],14]", of newer versions "[prterun-algo-1-77@1,14]".
    event("worker-exit", "Process name: [", r"Process name: \[(?:\[\d+,\d+\]|[\w.-]+@\d+),(?P<rank>\d+)\]", _fields),
    event("worker-exit", "Exit code: ", r"^\s*+Exit code:\s+(?P<exitcode>-?\d+)", _fields),
    event(
        "worker-exit",
        "noticed that process rank",
        r"noticed that process rank (?P<rank>\d+) with PID \d+ on node (?P<host>[\w.-]+) exited on signal (?P<signal>\d+)",
        _fields,
    ),
    event("worker-exit", "MPI_ABORT was invoked on rank", r"MPI_ABORT was invoked on rank (?P<rank>\d+)", _fields),
    event("worker-exit", "exits with return code =", r"exits with return code = (?P<exitcode>-?\d+)", _fields),
    event(
        "worker-exit",
        "srun: error: ",
        r"srun: error: (?P<host>[\w.-]+): tasks? (?P<rank>\d+)[^:]{0,200}: "
        r"(?:Exited with exit code (?P<exitcode>\d+)|(?P<signal>Killed|Terminated|Segmentation fault|Aborted|Out Of Memory))",
        _fields,
    ),
    event(
        "launcher-abort",
        "non-zero status, thus causing",
        r"detected that one or more processes exited with non-zero status",
    ),
    event(
        "toolkit-error",
        "-toolkit ERROR    Encountered",
        r"-toolkit ERROR\s+Encountered (?P<said>exit_code -?\d+)",
        captured,
    ),
    event("toolkit-error", "-toolkit ERROR", r"-toolkit ERROR\s+(?P<said>\w+Error):", captured),
    event(
        "outcome",
        "Reporting training ",
        r"Reporting training (?P<said>SUCCESS|FAILURE)",
        lambda match: match["said"].lower(),
    ),
    event("exit-code", "ExitCode ", r"^\s*+ExitCode (?P<said>-?\d+)", captured),
    event(
        "exit-code",
        "from exiting process",
        r"return code\. Received (?P<said>(?!0 )-?\d+) from exiting process",
        captured,
    ),
)
