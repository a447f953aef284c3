"""The values that flow through the program, one type each; everything else imports them from here.

Units are in names. Percentages are 0-100 of ONE device: CloudWatch's host sums are divided before they get here.
What was not observed is ``None`` (or NaN/NaT/<NA> in a frame), never 0.
"""

from monitor.model.frames import METRICS, STEP_CSV_COLUMNS, events_frame, metrics_frame, steps_frame
from monitor.model.job import ENDED_STATUSES, InstanceGroup, Job, JobSummary, Node, Parameter, Transition
from monitor.model.log_lines import LogAsk, LogLine, LogSpan
from monitor.model.pair import Pair, PairSide, held
from monitor.model.report import (
    Activity,
    ApiBill,
    AtRisk,
    Bucket,
    Confidence,
    Cost,
    Distribution,
    Evidence,
    Finding,
    Mute,
    NodeStats,
    Phase,
    Prediction,
    Price,
    Recommendation,
    Report,
    Saving,
    Severity,
    StepSpread,
    StepStats,
)
from monitor.model.run import Gap, LoadProgress, LogCoverage, LogPage, RawMetrics, Run

__all__ = [
    "ENDED_STATUSES",
    "METRICS",
    "STEP_CSV_COLUMNS",
    "Activity",
    "ApiBill",
    "AtRisk",
    "Bucket",
    "Confidence",
    "Cost",
    "Distribution",
    "Evidence",
    "Finding",
    "Gap",
    "InstanceGroup",
    "Job",
    "JobSummary",
    "LoadProgress",
    "LogAsk",
    "LogCoverage",
    "LogLine",
    "LogPage",
    "LogSpan",
    "Mute",
    "Node",
    "NodeStats",
    "Pair",
    "PairSide",
    "Parameter",
    "Phase",
    "Prediction",
    "Price",
    "RawMetrics",
    "Recommendation",
    "Report",
    "Run",
    "Saving",
    "Severity",
    "StepSpread",
    "StepStats",
    "Transition",
    "events_frame",
    "held",
    "metrics_frame",
    "steps_frame",
]
