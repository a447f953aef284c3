"""What can be seen of a planned job at a moment? Its report, with the metrics and steps that have come in by then."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.alert_day.plan import NODES, RULES, PlannedJob
from monitor.model import Evidence, Finding, Job, LogCoverage, Node, Report, Run, events_frame, metrics_frame
from monitor.model import steps_frame as steps_of

DAY = datetime(2026, 3, 4, tzinfo=UTC)
# CloudWatch has a minute so long after its end; minutes.
_COMES, _COMES_LATE = 1.0, 15.0
_LEVELS = {"gpu_utilization": ("idle", 92.0, 12.0), "memory_utilization": ("full", 55.0, 97.0)}


def instant(minute: float) -> datetime:
    """A minute of the day as a moment."""
    return DAY + timedelta(minutes=minute)


class Scene:
    """One job, all of whose figures are there from the beginning and are shown when they come in."""

    def __init__(self, planned: PlannedJob) -> None:
        self.planned = planned
        # Whole minutes, as CloudWatch has them.
        self._minutes = np.arange(np.ceil(planned.start), planned.end - 1)
        self._metrics, self._metrics_come = self._all_metrics()
        self._steps, self._steps_come = self._all_steps()
        self._nodes = tuple(Node(name, "ml.p4d.24xlarge", 8, 96, 40.0, counts_from="table") for name in NODES)

    def report(self, at: float, data_at: float) -> Report:
        """The job as of the minute ``at``, with metrics that were read at ``data_at``."""
        planned = self.planned
        over = at >= planned.end
        job = Job(
            planned.name,
            arn=f"arn:aws:sagemaker:us-east-1:123456789012:training-job/{planned.name}",
            status="Completed" if over else "InProgress",
            secondary_status="Completed" if over else "Training",
            created=instant(planned.start - 5),
            started=instant(planned.start),
            ended=instant(planned.end) if over else None,
            nodes=self._nodes,
        )
        steps = self._steps[self._steps_come <= at].reset_index(drop=True)
        metrics = self._metrics[self._metrics_come <= data_at].reset_index(drop=True)
        run = Run(job, steps, metrics, events_frame(), (), 60, LogCoverage(len(NODES), len(steps)))
        return Report(run, instant(at), findings=self._findings(min(at, planned.end - 0.001)))

    def _findings(self, at: float) -> tuple[Finding, ...]:
        name = RULES["slow"].removeprefix("finding ")
        return tuple(
            Finding(
                name, "warning", "medium", name, "So it was planned.", (Evidence("GPU", start=instant(each.start)),)
            )
            for each in self.planned.spells
            if each.rule == "slow" and each.start <= at < each.end
        )

    def _within(self, rule: str, node: str, times: NDArray[np.float64]) -> NDArray[np.bool_]:
        inside = np.zeros(len(times), dtype=bool)
        for spell in self.planned.spells:
            if (spell.rule, spell.node) == (rule, node):
                inside |= (times >= spell.start) & (times < spell.end)
        return inside

    def _all_metrics(self) -> tuple[pd.DataFrame, NDArray[np.float64]]:
        frames, comes = [], []
        random = np.random.default_rng(len(self._minutes))
        for node in NODES:
            late = np.zeros(len(self._minutes), dtype=bool)
            for name, (begin, end) in self.planned.late:
                late |= (name == node) & (self._minutes >= begin) & (self._minutes < end)
            for metric, (rule, usual, wrong) in _LEVELS.items():
                level = np.where(self._within(rule, node, self._minutes), wrong, usual)
                values = level + random.uniform(-2, 2, len(level))
                frames.append(self._rows(node, self._minutes) | {"metric": metric, "value_pct": values, "period_s": 60})
                comes.append(self._minutes + 1 + _COMES + np.where(late, _COMES_LATE, 0.0))
        return metrics_frame(pd.concat(map(pd.DataFrame, frames))), np.concatenate(comes)

    def _all_steps(self) -> tuple[pd.DataFrame, NDArray[np.float64]]:
        frames, comes = [], []
        for rank, node in enumerate(NODES):
            times = np.arange(self.planned.start + 3, self.planned.end, 1.5)
            number = np.arange(1, len(times) + 1)
            keep = ~self._within("silent", node, times)
            times, number = times[keep], number[keep]
            # A report a step; what is not told is not known.
            frames.append(
                self._rows(node, times)
                | {"rank": rank, "step": number, "step_time_s": 90.0, "throughput": np.nan, "throughput_unit": ""}
                | {"loss": np.nan, "gpu_memory_gib": np.nan, "format": "planned", "kind": "step", "segment": 0}
                | {"stream": f"{self.planned.name}/{node}", "line": number, "total": pd.NA, "warm_up": number == 1}
            )
            comes.append(times + 0.2)
        return steps_of(pd.concat(map(pd.DataFrame, frames))), np.concatenate(comes)

    @staticmethod
    def _rows(node: str, minutes: NDArray[np.float64]) -> dict[str, object]:
        return {"timestamp": pd.Timestamp(DAY) + pd.to_timedelta(minutes, unit="min"), "node": node}
