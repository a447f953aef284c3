"""What is known of a log that tells of epochs and of no step: how many there are, and what one takes."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from monitor.parse.events.epochs import EPOCH_PACE, EPOCH_SHARE, EPOCH_TOOK, EPOCHS_ONLY
from monitor.words import duration, step_seconds

# An epoch of so many seconds is told in minutes.
_LONG_S = 300


class EpochCount(NamedTuple):
    """Of lines that count epochs alone."""

    epochs: int
    line: int
    """The first of them."""
    took: str
    """What one takes at the median, ``29.7 s``; empty where nothing tells."""
    whence: str
    """How that is known: "as printed"."""


_WHENCE = {
    EPOCH_TOOK: "as printed",
    EPOCH_PACE: "by the times of these lines",
    EPOCH_SHARE: "by what the whole training took",
}


def epoch_count(events: pd.DataFrame) -> EpochCount | None:
    """None where steps are reported, or no epochs either."""
    by_kind = {str(row.kind): row for row in events[events["kind"].isin([EPOCHS_ONLY, *_WHENCE])].itertuples()}
    if (told := by_kind.get(EPOCHS_ONLY)) is None:
        return None
    kind = next((kind for kind in _WHENCE if kind in by_kind), None)
    pace_s = None if kind is None else float(str(by_kind[kind].text))
    took = "" if pace_s is None else step_seconds(pace_s) if pace_s < _LONG_S else duration(pace_s)
    return EpochCount(int(str(told.text)), int(str(told.line)), took, _WHENCE[kind] if kind is not None else "")
