"""What ended a job, and what began that end. One answer, from SageMaker's word, the errors of all streams and the metrics.

A cause is named only where it is confirmed; else ``id`` is empty, and what there is to see is kept for the reader.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

import pandas as pd

from monitor.analyze.cascade import ENDS, Cascade, as_error, cascade
from monitor.analyze.failure_causes import (
    CAPACITY,
    NAMES_A_CAUSE,
    STRENGTH,
    Reason,
    blame,
    denied,
    has_status,
    kind_of,
    reason_of,
)
from monitor.analyze.journal import NanLoss
from monitor.model import Run, moment_of

#: The findings that can be the cause of an end.
IDS = frozenset(
    (
        "cuda-out-of-memory",
        "host-out-of-memory",
        "nccl-timeout",
        "spot-interruption",
        "capacity",
        "access-denied",
        "data-error",
        "script-error",
        "nan-loss",
        "max-runtime",
    )
)
TIME_IS_UP = ("MaxRuntimeExceeded", "MaxWaitTimeExceeded")
#: MemoryUtilization from here on confirms that a process was killed for want of memory.
FULL_PCT = 90.0
# Whoever stops a job that hangs after an error has looked at it first; errors that the stop brings about come after it.
_STOPPED_AFTER = timedelta(seconds=5)
_STILL_TALKING = timedelta(minutes=2)
_DIRECT = {
    "device-memory": "cuda-out-of-memory",
    "host-memory": "host-out-of-memory",
    "shared-memory": "host-out-of-memory",
    "timeout": "nccl-timeout",
    "nan": "nan-loss",
}
# What SageMaker's own word settles: its findings.
_SETTLED = {
    "capacity": "capacity",
    "denied": "access-denied",
    "data": "data-error",
    "host-memory": "host-out-of-memory",
    "internal": "",
}
_TRACEBACK_LINES = 300
# A program that ends itself over its loss.
_GIVES_UP = r"(?i)\b(?:stopping|exiting|aborting|terminating)\b"
_NATIVE = "Segmentation fault"


@dataclass(frozen=True, slots=True)
class Ending:
    """What is known of a job's end."""

    id: str
    """Of the finding; empty where no cause can be told."""
    kind: str = ""
    """What the first error names, see ``monitor.analyze.failure_causes``; empty without one."""
    confidence: Literal["high", "medium", "low"] = "high"
    first: Cascade | None = None
    text: str = ""
    """The line that decides: of an exception that another one wraps the inner one's."""
    frames: tuple[str, ...] = ()
    """Of its traceback, outermost first: ``path:line in function``, "data: " before those of libraries that read data."""
    why: str = ""
    """A clause: what else speaks for it."""
    instead: str = ""
    """A clause: what would look the same."""
    reason: Reason | None = None
    at: datetime | None = None
    since: datetime | None = None
    """From here on nothing but the failure is seen: the last step before a silence that belongs to it, else ``at``."""
    memory_pct: float | None = None
    """The most that MemoryUtilization showed in the node's last minutes, for a process that was killed."""


def ending_of(run: Run, nan: NanLoss | None = None) -> Ending | None:
    """What ended the job; None where it is not over, ended well, or nothing tells of its end."""
    job = run.job
    reason = reason_of(job)
    if job.status in {"Completed", "Deleting"} or not run.logs.complete:
        return None
    if job.started is None and job.status == "Failed" and (never := _no_capacity(run, reason)) is not None:
        return never
    first = cascade(run.events, run.steps, failed=job.status == "Failed")
    found = _of_error(run, first) if first is not None else None
    if job.is_running:
        over = run.events["kind"].isin(ENDS).any() or (found is not None and found.kind == "timeout")
        return found if found is not None and found.id and over and job.status == "InProgress" else None
    by = next((name for name in TIME_IS_UP if has_status(job, name)), None) or _time_limit(run)
    if by or job.status == "Stopped":
        if found is not None and found.id and found.at is not None and _before_the_stop(run, found.at):
            return replace(found, reason=reason)
        return Ending("max-runtime" if by else "stopped-by-user", reason=reason, at=job.ended, why=by or "")
    if job.status != "Failed":
        return None
    if reason is not None and reason.said in _SETTLED:
        return _by_service(reason, first)
    if found is None or STRENGTH.get(found.kind, 0) < NAMES_A_CAUSE:
        found = _by_exit(run, reason, found) or found
    if found is not None and nan is not None and not nan.recovered and found.kind in {"program", "crash", "summary"}:
        # The loss was lost before: what the program says of it comes after.
        found = replace(found, id="nan-loss", kind="nan", why="the loss was NaN before")
    return replace(found, reason=reason) if found else Ending("", reason=reason, at=job.ended)


def _no_capacity(run: Run, reason: Reason | None) -> Ending | None:
    """A failed job that never got its instances, by its status changes; what FailureReason says comes first."""
    said = next((entry.message for entry in run.job.transitions if CAPACITY.search(entry.message)), None)
    if said is None or (reason is not None and reason.said not in {"capacity", "internal", "unknown"}):
        return None
    return Ending("capacity", "capacity", text=said, reason=reason, at=run.job.ended)


def _by_service(reason: Reason, first: Cascade | None) -> Ending:
    """What SageMaker's own word settles; of its own errors it names no cause, and no log can."""
    at = first.at if first else None
    return Ending(_SETTLED[reason.said], reason.said, "high", None, reason.quote, reason=reason, at=at, since=at)


def _of_error(run: Run, first: Cascade) -> Ending:
    """What the first error of the logs amounts to."""
    kind = kind_of(first.text)
    found = Ending("", kind, first=first, text=first.text, at=first.at, since=first.at)
    if kind in _DIRECT:
        sure: Literal["high", "medium"] = "medium" if kind == "shared-memory" else "high"
        found = replace(found, id=_DIRECT[kind], confidence=sure)
        return replace(found, since=_last_step(run, first.at) or first.at) if kind == "timeout" else found
    if kind == "killed":
        return _killed(run, found)
    if kind == "crash" and _NATIVE in first.text:
        instead = "a fault in a library, the driver or the device"
        return replace(found, id="script-error", confidence="low", instead=instead)
    if kind != "program" or first.kind == "traceback":
        return found
    text, frames = _traceback(run.events, first)
    if kind_of(text) != "program":
        inner = replace(first, text=text)
        return replace(_of_error(run, inner), first=first, frames=frames)
    if denied(text) is not None:
        return replace(found, id="access-denied", kind="denied", text=text, frames=frames)
    steps = run.steps["step"].nunique() if len(run.steps) else 0
    whose = blame(text, frames, int(steps))
    return replace(
        found,
        id=whose.id,
        confidence=whose.confidence,
        text=text,
        frames=frames,
        why=whose.why,
        instead=whose.instead,
    )


def _traceback(events: pd.DataFrame, first: Cascade) -> tuple[str, tuple[str, ...]]:
    """The deciding exception of the first error's traceback, and the frames that were kept of it."""
    near = events[(events["stream"] == first.stream) & (events["line"] - first.line).abs().le(_TRACEBACK_LINES)]
    near = near[near["rank"].isna() | (near["rank"] == first.rank)] if first.rank is not None else near
    heads = near[near["kind"] == "traceback"]
    begin = heads.loc[heads["line"] <= first.line, "line"].max()
    end, text = first.line, first.text
    if "Caught" in text:
        # A worker's exception is handed on, with its own traceback behind it.
        same = near[(near["kind"] == "error") & (near["line"] > first.line)]
        name = text.partition(":")[0].rpartition(".")[2]
        same = same[same["text"].str.contains(name, regex=False)]
        if len(same):
            end, text = int(same.iloc[0]["line"]), f"{same.iloc[0]['text']}"
    frames = near[(near["kind"] == "frame") & (near["line"] <= end)]
    frames = frames[frames["line"] >= (begin if not pd.isna(begin) else first.line - _TRACEBACK_LINES)]
    return text, tuple(dict.fromkeys(frames["text"]))


def _killed(run: Run, found: Ending) -> Ending:
    """A process was killed by a signal that cannot be caught: for want of memory, or by somebody."""
    first = found.first
    full = _memory(run, first.node if first else "", found.at)
    confirmed = (full is not None and full >= FULL_PCT) or _kernel_killed(run)
    guessed = full is None and run.events["text"].str.contains("OutOfMemory: Process killed", regex=False).any()
    guessed = guessed or "OutOfMemory" in found.text
    sure: Literal["high", "medium", "low"] = "high" if confirmed else "medium" if guessed else "low"
    instead = (
        "" if confirmed else "something else that killed the process, such as a person, a watchdog or the host itself"
    )
    return replace(found, id="host-out-of-memory", confidence=sure, instead=instead, memory_pct=full)


def _kernel_killed(run: Run) -> bool:
    """Whether the kernel's out-of-memory killer is seen at work."""
    told = run.events.loc[run.events["kind"] == "oom-kill", "text"]
    return bool((told.map(kind_of) == "host-memory").any())


def _memory(run: Run, node: str, at: datetime | None) -> float | None:
    """The most that MemoryUtilization showed in the five minutes before ``at``, on that node or, if it is unknown, on any."""
    rows = run.metrics[run.metrics["metric"] == "memory_utilization"]
    rows = rows[rows["node"] == node] if node and node in set(rows["node"]) else rows
    end = pd.Timestamp(at or run.job.ended) if at or run.job.ended else rows["timestamp"].max()
    rows = rows[(rows["timestamp"] > end - pd.Timedelta(minutes=6)) & (rows["timestamp"] <= end)]
    return None if rows.empty else float(rows["value_pct"].max())


def _by_exit(run: Run, reason: Reason | None, found: Ending | None) -> Ending | None:
    """Where no line names a cause: what the exit status and the quoted words of FailureReason tell."""
    at = found.at if found else None
    killed = killed_by(run.events)
    if killed is not None:
        return _killed(run, Ending("", "killed", first=killed, text=killed.text, at=killed.at, since=killed.at))
    if reason is not None and reason.quotes_program and kind_of(reason.quote) not in {"gone", "summary", "crash"}:
        made = Cascade("error", reason.quote, at, "", None, "", 0, 0, ())
        told = _of_error(run, made)
        softer: Literal["medium", "low"] = "low" if told.confidence == "low" else "medium"
        return replace(told, first=found.first if found else None, confidence=softer)
    gave_up = run.events[(run.events["kind"] == "nan") & run.events["text"].str.contains(_GIVES_UP, regex=True)]
    if len(gave_up):
        first = as_error(gave_up.iloc[0])
        return Ending("nan-loss", "nan", first=first, text=first.text, at=first.at, since=first.at)
    codes = set(run.events.loc[run.events["kind"] == "exit-code", "text"])
    if "137" in codes or "-9" in codes or (reason is not None and reason.exit_code in {137, -9}):
        text = reason.extra or reason.quote if reason else ""
        return _killed(run, Ending("", "killed", first=found.first if found else None, text=text, at=at, since=at))
    return None


def _last_step(run: Run, at: datetime | None) -> datetime | None:
    """When the last step before ``at`` was reported."""
    times = run.steps["timestamp"].dropna()
    times = times[times <= pd.Timestamp(at)] if at is not None else times
    return None if times.empty or at is None else times.max().to_pydatetime()


def _time_limit(run: Run) -> str | None:
    """The word of a scheduler that a time limit ended it, where nothing else tells of the end."""
    told = run.events[(run.events["kind"] == "cancelled") & run.events["text"].str.contains("DUE TO TIME LIMIT")]
    return None if told.empty or run.job.source != "logs" else str(told.iloc[0]["text"])


def _before_the_stop(run: Run, at: datetime) -> bool:
    """Whether an error came so long before a stop that the stop followed it, and nothing but silence between."""
    job = run.job
    stops = [entry.start for entry in job.transitions if entry.status in {"Stopping", "Stopped", *TIME_IS_UP}]
    stopped = min(stops, default=job.ended)
    if stopped is None or at >= stopped - _STOPPED_AFTER:
        return False
    times = run.steps["timestamp"].dropna()
    if times.empty:
        return run.logs.last_line_at is not None and run.logs.last_line_at <= at + _STILL_TALKING
    return not ((times > pd.Timestamp(at + _STILL_TALKING)) & (times < pd.Timestamp(stopped))).any()


# Exit codes of SIGKILL as torchrun, a shell and Open MPI write them.
_KILLED = re.compile(r"\bexitcode=(?:-9|137)\b|\bsignal=(?:9|Killed)\b")
_FIELD = re.compile(r"(\w+)=(\S+)")


def killed_by(events: pd.DataFrame) -> Cascade | None:
    """The first process that a launcher saw die of SIGKILL, as an error of its own; None where none is told of."""
    exits = events[(events["kind"] == "worker-exit") & events["text"].str.contains(_KILLED)]
    if exits.empty:
        return None
    row = exits.sort_values(["timestamp", "stream", "line"], kind="stable").iloc[0]
    fields = dict(_FIELD.findall(str(row["text"])))
    rank = int(fields["rank"]) if "rank" in fields else None
    if rank is None:
        # torchrun names the rank in the line before, or in its block behind.
        near = events[(events["kind"] == "worker-exit") & (events["stream"] == row["stream"])]
        near = near[near["text"].str.contains(r"\brank=", regex=True) & (near["line"] - row["line"]).between(-3, 80)]
        before = near[near["line"] <= row["line"]]
        named = (
            before
            if "local_rank" not in fields
            else near[near["text"].str.contains(f"local_rank={fields['local_rank']}\\b")]
        )
        rank = int(dict(_FIELD.findall(str(named.iloc[0]["text"])))["rank"]) if len(named) else None
    host = fields.get("host", "")
    node = host if host.startswith("algo-") else str(row["node"])
    at = moment_of(row["timestamp"])
    signals = events[(events["kind"] == "signal") & (events["stream"] == row["stream"])]
    said = signals[signals["text"].str.contains("SIGKILL")]
    text = str(said.iloc[0]["text"]) if len(said) else f"the launcher reported that a process exited: {row['text']}"
    return Cascade("worker-exit", text, at, node, rank, str(row["stream"]), int(row["line"]), 0, ())
