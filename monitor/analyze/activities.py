"""What a job did besides steps, as intended: checkpoints and evaluations as spans, and the minutes to set aside for them
where only steady work is judged.

Seen in the gaps between steps: what a gap is longer than the steps in it belongs to what the lines in it tell of. A
checkpoint that is written while the steps go on takes no time from them, and has no span.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import median

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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
        found += _of_gap(row.before.to_pydatetime(), row.at.to_pydatetime(), inside, excess_s)
    return tuple(found)


def _marks(events: pd.DataFrame) -> pd.DataFrame:
    """Rows ``at what begins`` of all lines that tell of a checkpoint or an evaluation, in time."""
    rows = events[events["kind"].str.match(r"(?:checkpoint|evaluation)-(?:begin|end)$") & events["timestamp"].notna()]
    what = rows["kind"].str.replace(r"-\w+$", "", regex=True)
    marks = pd.DataFrame({"at": rows["timestamp"], "what": what, "begins": rows["kind"].str.endswith("-begin")})
    return marks.sort_values("at", kind="stable")


def _of_gap(before: datetime, at: datetime, inside: pd.DataFrame, excess_s: float) -> list[Activity]:
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
        return [Activity(order[0], start, end)]
    # The second one begins with its first line or, where that tells of an end, behind the last line of the first.
    own = inside[inside["what"] == order[1]].iloc[0]
    split = own["at"] if own["begins"] else inside.loc[inside["what"] == order[0], "at"].iloc[-1]
    split = min(max(_whole_ms(split.to_pydatetime()), start), end)
    parts = [Activity(order[0], start, split), Activity(order[1], split, end)]
    return [part for part in parts if part.end > part.start]


def _whole_ms(at: datetime) -> datetime:
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


Span = tuple[datetime, datetime]

# A tenth of a period moves its mean by ten points at the most, which no threshold here hangs on.
MOST_COVERED = 0.1
# A pause this long empties a minute; CloudWatch's minute may be another one than the log's, by one at the most.
_LONG = timedelta(seconds=30)
_LAG = timedelta(seconds=60)
_AS_USUAL = 5
_FEWEST_OF_A_KIND = 3


def spans_set_aside(
    journal: pd.DataFrame,
    events: pd.DataFrame,
    activities: Sequence[Activity],
    training: Sequence[Span],
    end: datetime,
) -> tuple[Span, ...]:
    """Spans of checkpoints, evaluations and restarts; in time, disjoint.

    ``training`` are the spans in which the job's status was Training: each but the first begins with a restart. What is
    told after the last report of a step counts as well: an evaluation that has not told of its end lasts to ``end``.
    """
    found = _as_usual(activities)
    again = journal.assign(before=journal["at"].shift())
    again = again[again["restart"] & again["at"].notna() & again["before"].notna()]
    found += [(row.before.to_pydatetime(), row.at.to_pydatetime()) for row in again.itertuples()]
    reports = journal["at"].dropna()
    for start, stop in training[1:]:
        later = reports[reports >= start]
        first = later.min().to_pydatetime() if len(later) else stop
        found.append((start, min(first, stop)))
    last = None if reports.empty else reports.max()
    found += _told(events if last is None else events[events["timestamp"] > last], last, end)
    return tuple(_joined(found))


def share_covered(metrics: pd.DataFrame, spans: Sequence[Span]) -> NDArray[np.float64]:
    """For each row of the Metrics frame the share of its period, 0 to 1, that lies in ``spans``.

    At one-minute periods a long pause is taken with a minute on either side.
    """
    if metrics.empty or not spans:
        return np.zeros(len(metrics))
    period_s = metrics["period_s"].to_numpy("float64")
    fine = bool(period_s.min() <= _LAG.total_seconds())
    wide = [(a - _LAG, b + _LAG) if fine and b - a >= _LONG else (a, b) for a, b in spans]
    edges = np.array([[a.timestamp(), b.timestamp()] for a, b in _joined(wide)])
    # Covered seconds up to a moment: linear inside a span, flat between spans.
    covered = np.column_stack([np.zeros(len(edges)), edges[:, 1] - edges[:, 0]]).ravel().cumsum()
    begins = metrics["timestamp"].to_numpy("datetime64[ms]").astype("int64") / 1000
    at = edges.ravel()
    share: NDArray[np.float64] = (np.interp(begins + period_s, at, covered) - np.interp(begins, at, covered)) / period_s
    return share


def outside(metrics: pd.DataFrame, spans: Sequence[Span]) -> pd.DataFrame:
    """The rows of the Metrics frame of which no more than a tenth lies in ``spans``."""
    return metrics[share_covered(metrics, spans) <= MOST_COVERED] if spans else metrics


def _as_usual(activities: Sequence[Activity]) -> list[Span]:
    """The spans, those of checkpoints no longer than five times their median: the line of a short checkpoint does not
    explain an hour of silence behind it. Of one or two nobody knows what is usual; evaluations differ by right."""
    saved = [activity.seconds for activity in activities if activity.kind == "checkpoint"]
    longest = _AS_USUAL * median(saved) if len(saved) >= _FEWEST_OF_A_KIND else None
    return [
        (one.start, one.end)
        if longest is None or one.kind != "checkpoint" or one.seconds <= longest
        else (one.start, one.start + timedelta(seconds=longest))
        for one in activities
    ]


def _told(events: pd.DataFrame, after: pd.Timestamp | None, end: datetime) -> list[Span]:
    """Evaluations and checkpoints by their lines alone, each from its first line to its last."""
    found: list[Span] = []
    for kind in ("evaluation", "checkpoint"):
        marks = events[events["kind"].isin((f"{kind}-begin", f"{kind}-end")) & events["timestamp"].notna()]
        # Without a line that begins it, it began with the last report; where there is none, nobody knows.
        begun: datetime | None = after.to_pydatetime() if after is not None else None
        for row in marks.sort_values("timestamp", kind="stable").itertuples():
            moment = row.timestamp.to_pydatetime()
            if row.kind == f"{kind}-begin":
                begun = moment
            elif begun is not None:
                found.append((begun, moment))
                begun = None
        # What is saved at the very end is the job's result; an evaluation without an end is under way.
        if kind == "evaluation" and len(marks) and begun is not None and marks["kind"].str.endswith("-begin").any():
            found.append((begun, end))
    return found


def _joined(spans: Sequence[Span]) -> list[Span]:
    """The union of the spans, in time."""
    out: list[Span] = []
    for start, stop in sorted(span for span in spans if span[1] > span[0]):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], stop))
        else:
            out.append((start, stop))
    return out
