"""What are a job's alarms called? All of them, and no others, begin with the job's prefix."""

from __future__ import annotations

import hashlib
import re

# CloudWatch's limit, and a job's name has 63 at most.
_LONGEST = 255
_UNFIT = re.compile(r"[\x00-\x1f\x7f/]+")


def prefix_of(job: str) -> str:
    """What the names of a job's alarms begin with. No job's name holds a slash, so no other job's begin so."""
    return f"trainwatch/{job}/"


def alarm_name(job: str, rule: str, on: str) -> str:
    """The name for one rule on one node, or on ``all``, ``mean`` or ``job``; the same at each call."""
    room = _LONGEST - len(prefix_of(job)) - len(on) - 1
    fit = _UNFIT.sub("-", rule)
    if fit != rule or len(fit) > room:
        # Two rules that differ only in what is lost here keep different names.
        mark = hashlib.sha256(rule.encode("utf-8")).hexdigest()[:8]
        fit = f"{fit[: room - len(mark) - 1]}-{mark}"
    return f"{prefix_of(job)}{fit}/{on}"
