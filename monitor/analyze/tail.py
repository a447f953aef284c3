"""What was done after the last step, until the job, or its span of training, was over?

The last checkpoint and the last evaluation stand there, with no step behind them that could say how long they took: their
lines do. What is left is the step under way in a job that runs, idle time in one that is over, and a stall where the job
stands still.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from monitor.analyze.pieces import Pieces

Ending = Literal["running", "well", "badly", "interrupted"]
_REST = {"running": "productive", "well": "idle-tail", "badly": "idle-tail", "interrupted": "lost-work"}


@dataclass(frozen=True, slots=True)
class Tail:
    """How a span of training ends, and the lines that tell of checkpoints and evaluations (times in milliseconds)."""

    ending: Ending
    silent: Literal["", "stall", "unknown"]
    """The silence from the last step to the end is too long: the job stands still, or nobody knows what it does."""
    last_line: int | None
    """When any process last wrote anything."""
    at: NDArray[np.int64]
    what: NDArray[np.str_]
    """"checkpoint" or "evaluation"."""
    begins: NDArray[np.bool_]

    def pieces(self, last: int, end: int, limit: int) -> Pieces:
        """From the ``last`` step to the ``end``; ``limit`` is how long the job may be silent before an interruption."""
        closed, opened = self._spans(last, end)
        rest = self.silent or _REST[self.ending]
        if self.ending == "interrupted" and end - last - sum(b - a for _, a, b in closed) > limit:
            rest = "stall"
        found = Pieces.of([last, end], [rest])
        if opened is not None and rest != "stall":
            closed.append((opened[0], opened[1], end if self.ending == "running" else self._until(opened[1], end)))
        for what, a, b in closed:
            found = found.over([(a, b)], what, {rest})
        return found

    def _spans(self, last: int, end: int) -> tuple[list[tuple[str, int, int]], tuple[str, int] | None]:
        """The (what, begin, end) told of after the last step, disjoint, and the one that has not ended."""
        closed: list[tuple[str, int, int]] = []
        opened: tuple[str, int] | None = None
        free = last
        for place in np.flatnonzero((self.at >= last) & (self.at <= end)):
            at, what = int(self.at[place]), str(self.what[place])
            if self.begins[place]:
                if opened is not None and opened[0] != what:
                    closed.append((opened[0], opened[1], at))
                    free = at
                if opened is None or opened[0] != what:
                    opened = (what, at)
            else:
                begun = opened[1] if opened is not None and opened[0] == what else free
                closed.append((what, begun, at))
                opened, free = None, at
        return closed, opened

    def _until(self, begun: int, end: int) -> int:
        """A save that nothing says the end of lasted to the last line at most or, if it is that line, to the end."""
        return self.last_line if self.last_line is not None and begun < self.last_line < end else end


def marks(events: pd.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.str_], NDArray[np.bool_]]:
    """``at what begins`` of all lines that tell of a checkpoint or an evaluation, in time."""
    rows = events[events["kind"].str.match(r"(?:checkpoint|evaluation)-(?:begin|end)$") & events["timestamp"].notna()]
    rows = rows.sort_values("timestamp", kind="stable")
    return (
        rows["timestamp"].to_numpy("datetime64[ms]").astype(np.int64),
        rows["kind"].str.replace(r"-\w+$", "", regex=True).to_numpy(dtype="U10"),
        rows["kind"].str.endswith("-begin").to_numpy(dtype=bool),
    )
