"""What was a paid GPU-hour used for? Six uses, of which every billed second has exactly one; definitions and their sources.

The seconds come from the buckets of a job's review, which sum to its bill, so the uses do, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from monitor.analyze.phases import USEFUL

Use = Literal["trained", "waiting", "idle", "lost", "failed", "unknown"]

#: In the order in which they are told.
USES: tuple[Use, ...] = ("trained", "failed", "lost", "idle", "waiting", "unknown")
#: Those that bought nothing; what is unknown may be either, and is in neither.
WASTE: tuple[Use, ...] = ("failed", "lost", "idle", "waiting")

#: Use -> what it is.
DEFINITIONS: Mapping[Use, str] = {
    "trained": "steps that were kept, evaluation and checkpoints",
    "failed": "time of a failed job after its last checkpoint, or all of it if it never made a step",
    "lost": "steps that were done again after a restart",
    "idle": "no step although the GPUs were held: standstills, and the time after the last step",
    "waiting": "start, image, download, initialization, upload, interruptions, and what slow steps took beyond the usual",
    "unknown": "no step lines, or a failed job of which no checkpoint was seen: nobody knows what was kept",
}
#: Where the terms come from.
SOURCES: Mapping[str, str] = {
    "GPU-hours": "GPUs x billed instance time, as AWS bills it, cut at midnight UTC",
    "goodput": "share of GPU-hours in steps that were kept: scheduling x runtime goodput of Google's ML Productivity Goodput "
    "(arXiv 2502.06982); evaluation and checkpoints are badput there, and are not in it here",
    "badput": "the causes of ml-goodput-measurement, as this program's buckets; they sum to the bill",
    "MTBF": "node-hours over failures, with the exact Poisson interval (Garwood 1936); per 1,000 node-days as in Meta's "
    "study of its clusters (arXiv 2410.21680)",
    "idle": "windows, idle and unallocated shares as in OpenCost: an entry of its own, not shared out",
}

_BY_BUCKET: Mapping[str, Use] = {
    "stall": "idle",
    "idle-tail": "idle",
    "lost-work": "lost",
    "unknown": "unknown",
}
# Of a failed job without a checkpoint nobody knows whether these were kept: a script may save without a word.
_STEPS = USEFUL | {"slow-excess"}


def use_of(bucket: str) -> Use:
    """Of a job that did not fail, and of a failed one up to its last checkpoint."""
    return "trained" if bucket in USEFUL else _BY_BUCKET.get(bucket, "waiting")


def use_in_failed(bucket: str, saved: Literal["before", "after", "never"], stepped: bool) -> Use:
    """Of a failed job: ``before`` or ``after`` its last checkpoint, or of one that was never seen to save."""
    if bucket == "unknown" or saved == "before":
        return use_of(bucket)
    if saved == "never" and stepped and bucket in _STEPS:
        return "unknown"
    if saved == "never" and stepped:
        return use_of(bucket)
    return "failed"
