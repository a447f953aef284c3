"""Is a job that no longer reports steps standing still? What its GPUs do and whether it still logs help to decide."""

from __future__ import annotations

from datetime import datetime

from monitor.analyze.held_gpus import HeldGpus
from monitor.analyze.silence import Silence

# NCCL's default timeout in PyTorch: while lines still come, a silence of steps is no evaluation after as much.
LINES_STILL_S = 600.0


def stands_still(found: Silence, held: HeldGpus | None, last_line: datetime | None) -> bool:
    """Whether a silence is too long and nothing speaks against a standstill: GPUs at work, or lines that still come.

    ``last_line`` is when any process last wrote anything. Lines do not help where GPUs have been flat since the last step for
    as long as a collective may take.
    """
    if not found.too_long or at_work(held):
        return False
    flat = held is not None and held.pattern in {"waiting", "split", "flat", "idle"} and bool(held.changed)
    return not still_logs(found, last_line) or (flat and found.seconds > LINES_STILL_S)


def at_work(held: HeldGpus | None) -> bool:
    """Whether the GPUs are seen to work, or to do what they did while steps came."""
    return held is not None and (held.pattern == "working" or (held.pattern == "flat" and held.changed is False))


def still_logs(found: Silence, last_line: datetime | None) -> bool:
    """Whether lines come while steps do not."""
    return (found.until - (last_line or found.since)).total_seconds() <= found.least_s
