"""How is a problem with one part worded, next to the rest?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from monitor.errors import NoData, NotAllowed, TrainwatchError
from monitor.model import Gap

What = Literal["metrics", "logs", "job", "price", "normalisation", "profiler"]


def gap_of(what: What, error: TrainwatchError, of: str = "") -> Gap:
    """The gap that an error leaves; ``of`` names the part it concerns, such as a stream.

    Only what does not exist is gone for good.
    """
    why = f"{of}: {error.message}" if of else error.message
    refused = (error.action, error.denied_by, error.arn) if isinstance(error, NotAllowed) else ()
    return Gap(what, why, error.remedy, not isinstance(error, NoData), *refused)


def some_of(names: Sequence[str], shown: int = 3) -> str:
    """A few of many names: "algo-1, algo-2, algo-3 and 61 more"."""
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more} more" if more > 0 else "")
