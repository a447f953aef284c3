"""A stub of an AWS account over HTTP, in a process of its own: what log and metric readers are measured against.

Describe the account with plain values, then run it: ``with running(Account(jobs=(Job(...),))) as aws: ...``. What its
answers look like, its quotas and its errors follow AWS's documentation; where that is silent, a docstring says so.
"""

from benchmarks.account.faults import Faults
from benchmarks.account.insights import InsightsQuery
from benchmarks.account.plan import Account, Job, LineSpan, Written, step_lines
from benchmarks.account.process import Counts, Running, running
from benchmarks.account.streams import Stream, streams_of

__all__ = [
    "Account",
    "Counts",
    "Faults",
    "InsightsQuery",
    "Job",
    "LineSpan",
    "Running",
    "Stream",
    "Written",
    "running",
    "step_lines",
    "streams_of",
]
