"""When did the job do something other than steps, as intended? Checkpoints and evaluations, as spans of time.

Seen in the gaps between steps: what a gap is longer than the steps in it belongs to what the lines in it tell of. A
checkpoint that is written while the steps go on takes no time from them, and has no span.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pandas as pd

from monitor.analyze.journal import plain_rows, usual_step_s
from monitor.model import Activity as Activity

# What a gap is longer than its steps by less than this share of a step (and than a second) is jitter.
_LEAST_SHARE = 0.25
_LEAST_S = 0.05
# Nine of ten ordinary gaps are this long at most; where a report stands for several steps, one slow step is no jitter.
_ORDINARY = 0.9
_SEVERAL = 1.5


def activities(journal: pd.DataFrame, events: pd.DataFrame) -> tuple[Activity, ...]:
    """The spans, in time, disjoint; empty where lines have no times, or where nothing tells of any.

    ``journal`` is that of ``monitor.analyze.journal``. Of a gap that holds both, each has the time up to the first line
    of the other.
    """
    usual = usual_step_s(journal)
    # Of lines in blocks no time is known but the block's.
    if usual is None or journal["at"].isna().any() or journal["wall_s"].isna().all():
        return ()
    # By a clock that jumps, an ordinary gap may be as much longer.
    jitter_s = float(plain_rows(journal)["wall_s"].quantile(_ORDINARY)) - usual
    marks = _marks(events)
    told = marks["at"].to_numpy("datetime64[ms]")
    rows = journal.assign(before=journal["at"].shift(), last=journal["step"].shift())
    rows = rows[(rows["checkpoint"] | rows["evaluation"]) & rows["before"].notna() & ~rows["restart"]]
    found: list[Activity] = []
    for row in rows.itertuples():
        steps_s = usual * (1.0 if pd.isna(row.steps) else row.steps)
        excess_s = row.gap_s - steps_s
        if pd.isna(excess_s) or excess_s < max(_LEAST_S, _LEAST_SHARE * usual):
            continue
        if steps_s > _SEVERAL * usual and excess_s <= 1.1 * jitter_s * steps_s / usual:
            continue
        kinds = [kind for kind in ("checkpoint", "evaluation") if getattr(row, kind)]
        span = [np.datetime64(at.tz_convert(None), "ms") for at in (row.before, row.at)]
        inside = marks.iloc[np.searchsorted(told, span[0], "left") : np.searchsorted(told, span[1], "right")]
        inside = inside[inside["what"].isin(kinds)]
        if inside.empty:  # lines of a host whose clock differs, or without a time
            inside = pd.DataFrame({"at": [row.before], "what": kinds[:1], "begins": [True]})
        step = None if pd.isna(row.last) else int(row.last)
        found += _of_gap(row.before.to_pydatetime(), row.at.to_pydatetime(), step, inside, excess_s)
    return tuple(found)


def seconds_of(spans: tuple[Activity, ...], kind: str) -> float:
    """The sum of the spans of a kind."""
    return sum(span.seconds for span in spans if span.kind == kind)


def _marks(events: pd.DataFrame) -> pd.DataFrame:
    """Rows ``at what begins`` of all lines that tell of a checkpoint or an evaluation, in time."""
    rows = events[events["kind"].str.match(r"(?:checkpoint|evaluation)-(?:begin|end)$") & events["timestamp"].notna()]
    what = rows["kind"].str.replace(r"-\w+$", "", regex=True)
    marks = pd.DataFrame({"at": rows["timestamp"], "what": what, "begins": rows["kind"].str.endswith("-begin")})
    return marks.sort_values("at", kind="stable")


def _of_gap(before: datetime, at: datetime, step: int | None, inside: pd.DataFrame, excess_s: float) -> list[Activity]:
    """The spans in the gap from ``before`` to ``at``, which is longer than its steps by ``excess_s``."""
    excess = timedelta(milliseconds=round(1000 * excess_s))
    # What is done after a step begins with its report. Where a report stands for many steps, the lines tell more.
    start = before
    if len(inside):
        first = inside.iloc[0]
        moment = first["at"].to_pydatetime()
        start = moment if first["begins"] else max(before, inside["at"].iloc[-1].to_pydatetime() - excess)
    start = _whole_ms(max(before, min(start, at - excess)))
    end = start + excess
    order = list(dict.fromkeys(inside["what"]))
    if len(order) == 1:
        return [Activity(order[0], start, end, step)]
    # The second one begins with its first line or, where that tells of an end, behind the last line of the first.
    own = inside[inside["what"] == order[1]].iloc[0]
    split = own["at"] if own["begins"] else inside.loc[inside["what"] == order[0], "at"].iloc[-1]
    split = min(max(_whole_ms(split.to_pydatetime()), start), end)
    parts = [Activity(order[0], start, split, step), Activity(order[1], split, end, step)]
    return [part for part in parts if part.end > part.start]


def _whole_ms(at: datetime) -> datetime:
    return at.replace(microsecond=at.microsecond // 1000 * 1000)
