"""Samples of whole minutes: nodes whose GPUs stand still again and again, and what their hosts do meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import numpy as np
import pandas as pd

from monitor.model import events_frame, gpus_frame, hosts_frame
from tests.builders import START

#: Whole minutes, not evenly spread.
WHOLE = (7, 15, 23, 31, 39, 47)


def stop_and_go(
    still_s: float,
    period_s: float,
    minutes: Sequence[int] = WHOLE,
    node: str = "algo-1",
    gpus: int = 8,
    interval_s: float = 0.5,
    low: float = 1.0,
    keeps_on: int | None = None,
    wobble: float = 0.0,
    even: bool = False,
) -> pd.DataFrame:
    """The GPUs of a node at 95 %, and at ``low`` for ``still_s`` in each ``period_s``; GPU ``keeps_on`` never stands still.

    ``wobble`` is by how much of the period the next beginning may be early or late.
    """
    dice = np.random.default_rng(5)
    parts = []
    for at in minutes:
        seconds = np.arange(0.0, 60.0, interval_s)
        begins = np.arange(-period_s, 120.0, period_s)
        begins = begins + period_s * dice.uniform(-wobble, wobble, len(begins))
        still = np.zeros(len(seconds), dtype=bool)
        for begin in begins:
            still |= (seconds >= begin) & (seconds < begin + still_s)
        for gpu in range(gpus):
            busy = np.where(still & (gpu != keeps_on), low, 95.0) + dice.uniform(0, 2, len(seconds))
            times = [START + timedelta(minutes=at, seconds=second) for second in seconds]
            columns = {"utilization_pct": busy, "memory_pct": 70.0, "even": even}
            parts.append(pd.DataFrame({"timestamp": times, "node": node, "gpu": gpu, **columns}))
    return gpus_frame(pd.concat(parts))


def beside(
    gpus: pd.DataFrame,
    full: tuple[int, int] = (0, 0),
    others: float = 20.0,
    waiting: tuple[float, float] = (0.1, 0.1),
    gbps: float = 1.0,
    cores: int = 96,
) -> pd.DataFrame:
    """What the host does at the same times. Pairs are (while the GPUs wait, while they work): cores that are full, and
    cores that wait for I/O; ``others`` is the mean of those that are not full, ``gbps`` what is received."""
    means = gpus.groupby(["node", "timestamp", "even"], observed=True)["utilization_pct"].mean().reset_index()
    waits = means["utilization_pct"] < 60
    return hosts_frame(
        pd.DataFrame(
            {
                "timestamp": means["timestamp"] + pd.Timedelta(milliseconds=9),
                "node": means["node"],
                "cores": cores,
                "full_cores": np.where(waits, *full),
                "cpu_pct": others,
                "waiting_cores": np.where(waits, *waiting),
                "received_bytes_s": gbps / 8e-9,
                "sent_bytes_s": 1e5,
                "even": means["even"],
            }
        )
    )


def saving(minutes: Sequence[int], second: float = 20.0) -> pd.DataFrame:
    """Lines of checkpoints, one in each of these minutes."""
    return events_frame(
        [
            {
                "timestamp": START + timedelta(minutes=at, seconds=second),
                "node": "algo-1",
                "rank": 0,
                "kind": "checkpoint-end",
                "text": f"saved checkpoint-{at}",
                "stream": "algo-1",
                "line": at + 1,
            }
            for at in minutes
        ]
    )


def once_a_minute(still_s: float, minutes: Sequence[int] = WHOLE, second: float = 12.0) -> pd.DataFrame:
    """One standstill in each of these minutes."""
    gpus = stop_and_go(0.0, 1000.0, minutes)
    seconds = (gpus["timestamp"] - pd.Timestamp(START)).dt.total_seconds() % 60
    return gpus.assign(
        utilization_pct=gpus["utilization_pct"].where((seconds < second) | (seconds >= second + still_s), 0.0)
    )
