"""What does SageMaker itself say of a job's end? FailureReason and the status changes, in the service's own words.

Of FailureReason only the head is the service's (CapacityError, ClientError, InternalServerError, AlgorithmError); behind
AlgorithmError stands what the training toolkit quotes of the program.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from monitor.analyze.causes import kind_of
from monitor.analyze.denied import denied
from monitor.model import Job

#: exit: the program ended with a code; the rest is what its name says. unknown: a reason that names no cause.
Said = Literal["capacity", "internal", "denied", "data", "host-memory", "exit", "unknown"]

#: Words for instances that EC2 had none of.
CAPACITY = re.compile(
    r"(?i)CapacityError|Insufficient\w*Capacity|insufficient capacity|unable to provision requested ML compute capacity"
    r"|no capacity (?:is )?available"
)
_DATA = re.compile(
    r"(?i)data download failed|failed to download data|no S3 objects found|unable to download object"
    r"|(?:failed to |un)able to read data channel|NoSuchKey|NoSuchBucket|S3 key .{0,80}(?:not|does)"
    r"|(?:no|unable to find) (?:data|files?) .{0,40}(?:channel|s3)|validate (?:the )?input data|manifest file"
)
_MORE_MEMORY = re.compile(r"(?i)instance type with more memory|reduce the size of training data")
_EXIT_CODE = re.compile(r"(?i)\bexit[ _]?code:?\s*=?\s*(?P<code>-?\d{1,3})\b")
# The toolkit's last words are 1 whatever the program's were: of several codes the one that is not 1 counts.
_QUOTED = re.compile(r'ErrorMessage "(?P<text>.*?)(?:"?\s+(?:Command|ExtraInfo) "|"?\s*$)', re.DOTALL)
_EXTRA = re.compile(r'ExtraInfo "(?P<text>[^"\n]{1,300})')
_EXCEPTION = re.compile(
    r"(?:(?<=[\s:])|^)(?P<text>(?:[A-Za-z_]\w*\.)*(?:[A-Z]\w*(?:Error|Interrupt)|(?:[A-Z]\w*)?Exception)\b(?::[^\n]*)?"
    r"|\S{1,200}: error: (?:unrecognized arguments|the following arguments are required|argument \S+:|ambiguous option)[^\n]*"
    r"|\S{1,200}: can't open file '[^\n]*)"
)
_TAG = re.compile(r"\[\d{1,9},(?:mpirank:)?\d{1,9}(?:,algo-\d{1,9})?\](?:<std\w{3}>)?:?|\[rank\d+\]:")
_LONGEST_QUOTE = 500
_HEAD = re.compile(r"^\s*AlgorithmError:\s*framework error:", re.IGNORECASE)
_WRAPPER = re.compile(r"^(?:ExecuteUserScriptError|AlgorithmError|ClientError|FrameworkError)\b")


@dataclass(frozen=True, slots=True)
class Reason:
    """What a FailureReason says."""

    said: Said
    quote: str
    """The program's own exception, where the reason quotes one; else the sentence of the service."""
    quotes_program: bool
    exit_code: int | None
    extra: str = ""
    """What the toolkit adds, such as "OutOfMemory: Process killed by SIGKILL (signal 9)"."""


def reason_of(job: Job) -> Reason | None:
    """What the job's FailureReason says; None where there is none, or where it was made from the log."""
    text = job.failure_reason or ""
    if not text or job.source == "logs":
        return None
    head = text[:200]
    codes = [int(found["code"]) for found in _EXIT_CODE.finditer(text)]
    code = next((code for code in codes if code not in {0, 1}), codes[0] if codes else None)
    extra = found["text"] if (found := _EXTRA.search(text)) else ""
    if CAPACITY.search(head):
        return Reason("capacity", _sentence(text), False, code)
    if "InternalServerError" in head or "internal error" in head.lower():
        return Reason("internal", _sentence(text), False, code)
    if "AlgorithmError" not in head and denied(text, by_service=True) is not None:
        return Reason("denied", _sentence(text), False, code)
    quoted = found["text"] if (found := _QUOTED.search(text)) else text
    own = _own_words(_HEAD.sub("", _TAG.sub("", quoted)))
    if _DATA.search(head) and "AlgorithmError" not in head:
        return Reason("data", _sentence(text), False, code)
    if _MORE_MEMORY.search(text):
        return Reason("host-memory", _sentence(text), False, code)
    if own or "AlgorithmError" in head or code is not None:
        return Reason("exit", own or _sentence(text), bool(own), code, extra)
    return Reason("unknown", _sentence(text), False, code, extra)


def _own_words(quoted: str) -> str:
    """The line of the program's last words that names a cause, else its first exception; empty where there is none."""
    for line in quoted.splitlines():
        if kind_of(line) not in {"program", "gone", "crash", "summary"}:
            return line.strip()[:_LONGEST_QUOTE]
    said = (found["text"].strip() for found in _EXCEPTION.finditer(quoted))
    return next((text for text in said if not _WRAPPER.match(text)), "")[:_LONGEST_QUOTE]


def has_status(job: Job, *names: str) -> bool:
    """Whether the job has, or had, one of these secondary statuses."""
    return job.secondary_status in names or any(entry.status in names for entry in job.transitions)


def _sentence(text: str) -> str:
    return " ".join(text.split())[:300]
