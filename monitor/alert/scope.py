"""Which nodes does a condition apply to? Any, all at once, their mean, or one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from monitor.alert.conditions import Threshold
from monitor.alert.measures import MEASURES
from monitor.alert.track import Track, holds
from monitor.alert.tracked import Tracked


def in_scope(tracked: Tracked, when: Threshold, node_names: Sequence[str]) -> Tracked:
    """The tracks to judge: one a node for ``any``, else one; for one GPU its own.

    ``all`` and ``mean`` are over the nodes that report the metric at all. At a moment when one of them has no figure, a
    mean is unknown; so is ``all``, unless another node says no.
    """
    if tracked.why_none:
        return tracked
    if when.scope.startswith("algo-"):
        mine = tuple(track for track in tracked.tracks if track.node == when.scope)
        return Tracked(mine, tracked.unit, "" if mine else _why_none(when, node_names))
    if when.scope == "any":
        return tracked
    if len(tracked.tracks) == 1:
        return Tracked((replace(tracked.tracks[0], node=None),), tracked.unit)
    return Tracked((_together(tracked.tracks, when),), tracked.unit)


def _why_none(when: Threshold, node_names: Sequence[str]) -> str:
    if when.scope in node_names:
        return f"{when.scope} reports no {when.metric}."
    if when.gpu is not None and when.gpu[0] in node_names:
        return f"The minutes that were read of the job's profiler show no {when.scope}."
    nodes = f"its nodes are {', '.join(node_names[:8])}{' …' if len(node_names) > 8 else ''}" if node_names else ""
    return f"The job has no node {when.gpu[0] if when.gpu else when.scope}{f'; {nodes}' if nodes else ''}."


def _together(tracks: Sequence[Track], when: Threshold) -> Track:
    """One track over all: a sample wherever any node has one."""
    rows = pd.concat([_rows(track) for track in tracks], ignore_index=True)
    groups = rows.groupby("key", sort=True)
    value = groups["value"]
    # All are below where the highest is, and above where the lowest is.
    extreme = value.max() if when.op.startswith("<") else value.min()
    joint = value.mean() if when.scope == "mean" else extreme
    usual = groups["usual"].first().to_numpy("float64")
    values = joint.to_numpy("float64", copy=True)
    lacking = (value.count() < len(tracks)).to_numpy(copy=True)
    limit = when.value * usual if when.relative else np.full(len(values), when.value)
    if when.scope == "all":
        lacking &= holds(values, limit, when) == 1
    values[lacking] = np.nan
    ends = np.maximum.accumulate(groups["end"].max().to_numpy("float64"))
    place = np.arange(len(values))
    by_step = MEASURES[when.metric].kind == "step"
    return Track(
        None,
        groups["begin"].min().to_numpy("float64"),
        ends,
        values,
        usual,
        groups["gap"].any().to_numpy("bool"),
        place if by_step else groups["before"].min().to_numpy("int64"),
        place + 1 if by_step else groups["after"].max().to_numpy("int64"),
        place,
        has_clock=all(track.has_clock for track in tracks),
        slack_s=max(track.slack_s for track in tracks),
    )


def _rows(track: Track) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "key": track.keys,
            "begin": track.begins,
            "end": track.ends,
            "value": track.values,
            "usual": track.usual,
            "gap": track.breaks,
            "before": track.steps_before,
            "after": track.steps_after,
        }
    )
