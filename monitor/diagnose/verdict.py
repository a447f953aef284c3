"""The verdict: the answer in one sentence. A report goes in; a level, a headline and what to do come out.

"Healthy" needs two things: no warning, and data to judge by. A job that failed for a reason no rule knows is not healthy.
Which of many jobs needs somebody first is one order for the page of jobs, the terminal and the tools of agents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from monitor.analyze.cascade import cascade_words
from monitor.analyze.ending import IDS, ending_of
from monitor.analyze.failure_causes import reason_of
from monitor.analyze.mfu import LOW_SHARE
from monitor.diagnose.stakes import stakes_usd
from monitor.diagnose.words.devices import unseen
from monitor.diagnose.words.report import quoted
from monitor.model import BEGINNING, METRICS, Finding, Job, JobSummary, Prediction, Report
from monitor.model.host_metrics import HOST_METRICS, OF_WORK
from monitor.words import capitalised, count, duration, percent, signed, step_seconds

#: Metrics come once a minute, and the last ones are left out.
TOO_SHORT_S = 300
#: Of the billed time: with less training no job is called healthy.
LOW_GOODPUT = 0.7
# A failure reason can be a thousand characters of traceback; a headline cannot.
_HEADLINE = 110
# The toolkit's summary in FailureReason: what the script said stands between quotes, its command line behind it.
_ERROR_MESSAGE = re.compile(r'ErrorMessage "(?P<text>.+?)(?:"?\s+(?:Command|ExtraInfo) "|"?\s*$)', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer; ``detail`` is what there is to say of it."""

    level: Level
    headline: str
    detail: str = ""
    finding: Finding | None = None
    """The one whose title the headline is; None where it is of none."""
    unexplained: bool = False
    """The job failed, and no finding names the cause: what the detail says stands nowhere else."""


def judge(report: Report) -> Verdict:
    """The first finding that asks for action; else what can and what cannot be said."""
    job, ask = report.job, report.warnings
    if job.status == "Failed" and not any(finding.id in IDS and finding.severity == "critical" for finding in ask):
        return Verdict("critical", f"Failed: {_short(_failure(report))}", _what_is_seen(report), unexplained=True)
    if ask:
        first = ask[0]
        advice = first.recommendation.text if first.recommendation else first.summary
        gain = (
            ""
            if first.prediction is None
            else f" Predicted: step time about {_middle(first.prediction)} (model-based)."
        )
        level: Level = "critical" if first.severity == "critical" else "warning"
        return Verdict(level, first.title, advice + gain, first)
    if not seen(report):
        # Which right is missing is said before the verdict.
        detail = " ".join(gap.why for gap in report.gaps if gap.what != "price" and not gap.action)
        return Verdict("unknown", _why_unseen(report), detail)
    muted = count(len(report.silenced), "muted finding") if report.silenced else ""
    if not report.run.logs.complete:
        so_far = "Nothing stands out so far; older log lines are still being read"
        return Verdict("partial", _but_for(so_far, muted), _figures(report))
    if dark := _dark(report):
        said = f"Nothing stands out in what can be seen, but {' and '.join(dark)}"
        return Verdict("partial", f"{said}; {muted}" if muted else said, _figures(report))
    headline = "Stopped; nothing stood out until then" if job.status == "Stopped" else "Healthy as far as can be seen"
    return Verdict("muted" if muted else "healthy", _but_for(headline, muted), _figures(report))


def is_conclusive(report: Report) -> bool:
    """Whether there is all that a job is judged by, so that silence means that nothing is wrong."""
    return seen(report) and report.run.logs.complete and not _dark(report)


def _dark(report: Report) -> list[str]:
    """What keeps a job without findings from being called healthy, each as a clause."""
    refused = {gap.what for gap in report.run.gaps if gap.action}
    out = []
    if not _has_step_times(report):
        out.append("there is no access to its logs" if "logs" in refused else "step times are not known")
    if not _has_metrics(report):
        out.append("there is no access to its metrics" if "metrics" in refused else "utilization is not known")
    elif dark := unseen(report.job.nodes, [each.node.name for each in report.nodes if each.gpu_utilization]):
        out.append(f"{dark} is not known")
    if report.goodput is not None and report.goodput < LOW_GOODPUT:
        out.append(f"only {percent(100 * report.goodput)} of the billed time went into training")
    if (mfu := report.mfu) is not None and mfu.usual_pct is not None and mfu.mfu_pct < LOW_SHARE * mfu.usual_pct:
        out.append(f"MFU is {percent(mfu.mfu_pct)}, where {percent(mfu.usual_pct)} is usual")
    if report.broken:
        out.append(f"{count(len(report.broken), 'check')} failed")
    return out


def _but_for(headline: str, muted: str) -> str:
    """What is muted is not forgotten: a job with it is never simply healthy."""
    return f"{headline}, but for {muted}" if muted else headline


def failure_words(job: Job) -> str:
    """Why a failed job failed, in one line: the script's own message where the reason quotes it."""
    reason = job.failure_reason or ""
    found = _ERROR_MESSAGE.search(reason)
    said = " ".join((found["text"] if found else reason).split()).strip('" ')
    if said:
        return said
    code = told.exit_code if (told := reason_of(job)) is not None else None
    return "no reason given" if code is None else f"the program exited with code {code} and no message"


#: What can be said where no line names a cause, by the kind of the first error.
_NO_CAUSE = {
    "hardware": "a GPU or its host failed",
    "internal": "an internal error of SageMaker; nothing in the job explains it",
    "gone": "nodes lost contact with a peer; the one that failed first logged nothing",
    "summary": "ended by a signal or a launcher; no log line says why",
    "crash": "native code or NCCL crashed; no log line says why",
}


def _failure(report: Report) -> str:
    """A failure without a cause, in one line: what the script says, else what kind of lines there are."""
    ending = ending_of(report.run)
    words = _NO_CAUSE.get(ending.kind, "") if ending is not None else ""
    reason = reason_of(report.job)
    if words and (reason is None or not reason.quotes_program):
        place = ending.first.node if ending is not None and ending.first is not None else ""
        return f"{words}{f' (first on {place})' if place else ''}"
    return failure_words(report.job)


def _what_is_seen(report: Report) -> str:
    """The first lines of a failure whose cause is not told, and SageMaker's own word."""
    ending, job = ending_of(report.run), report.job
    whole = report.run.logs.complete
    parts = [
        "Nothing in the logs names the cause."
        if whole
        else "Older log lines, which may name the cause, are still being read."
    ]
    if ending is not None and ending.first is not None:
        parts.append(f"First error: {quoted(cascade_words(ending.first))}.")
    if job.failure_reason and job.source != "logs":
        parts.append(f"SageMaker says: {quoted(job.failure_reason)}")
    return " ".join(parts)


def _short(text: str) -> str:
    return text if len(text) <= _HEADLINE else text[: _HEADLINE - 1].rsplit(" ", 1)[0] + "…"


def seen(report: Report) -> bool:
    """Whether there is anything to judge by: metrics of a device, or a timed step."""
    return _has_step_times(report) or _has_metrics(report)


def _has_step_times(report: Report) -> bool:
    return report.steps is not None and report.steps.median_s is not None


def _has_metrics(report: Report) -> bool:
    return any(getattr(node, metric) is not None for node in report.nodes for metric in METRICS)


def gain_words(prediction: Prediction) -> str:
    """``Step time -35 % (-35 to -31), peak GPU memory 74 % (41 to 82): model-based, not measured.`` and which model."""
    low, middle, high = prediction.step_time_change_percent
    words = f"Step time {signed(middle)} % ({signed(low)} to {signed(high)})"
    if prediction.gpu_memory_utilization is not None:
        low, middle, high = prediction.gpu_memory_utilization
        words += ", peak GPU memory "
        if prediction.memory_at_most:
            words += f"at most {high:.0f} %"
        elif round(low) == round(high):
            words += f"{middle:.0f} %"
        else:
            words += f"{middle:.0f} % ({low:.0f} to {high:.0f})"
    basis = [capitalised(part) for part in (prediction.method, prediction.memory_method) if part]
    return " ".join((f"{words}: model-based, not measured.", *basis))


def method_words(prediction: Prediction) -> str:
    """What stands behind a prediction, as sentences."""
    parts = ("Model-based, not measured.", prediction.method, prediction.memory_method)
    return " ".join(part for part in parts if part)


def _middle(prediction: Prediction) -> str:
    return f"{signed(prediction.step_time_change_percent[1])} %"


def mean_of(report: Report, metric: str) -> float | None:
    """Mean of a metric over the minutes of work of all nodes, percent of one device; None where no node has it."""
    found = report.devices.get(metric)
    return None if found is None else found.mean


def has_gpus(report: Report) -> bool:
    """False only where all nodes are known to have none."""
    return not report.job.nodes or any(node.gpus != 0 for node in report.job.nodes)


def _why_unseen(report: Report) -> str:
    job = report.job
    refused = {gap.what for gap in report.run.gaps if gap.action}
    if job.source == "logs":
        return (
            "Cannot be judged: the log lines give no step times" if report.steps else "Cannot be judged: no steps found"
        )
    if not report.run.logs.complete:
        return "Nothing to judge by yet; older log lines are still being read"
    if job.started is None:
        return "Waiting for instances: nothing to judge yet" if job.is_running else "Never started: nothing to judge"
    if refused >= {"logs", "metrics"}:
        return "Cannot be judged: no access to logs or metrics"
    if refused & {"logs", "metrics"}:
        denied, lacking = ("logs", "no metrics") if "logs" in refused else ("metrics", "no step times")
        return f"Cannot be judged: no access to its {denied}, and there are {lacking}"
    if job.is_running:
        return "Too early to judge: no metrics and no steps yet"
    if job.training_seconds is not None and job.training_seconds < TOO_SHORT_S:
        return f"Too short to judge: it trained for {duration(job.training_seconds)}"
    return "Cannot be judged: no metrics and no step times"


def _figures(report: Report) -> str:
    parts = []
    for metric in OF_WORK:
        mean = mean_of(report, metric)
        if mean is not None and (metric != "cpu_utilization" or not has_gpus(report)):
            parts.append(f"{HOST_METRICS[metric].device} {percent(mean)}")
    if report.steps is not None and report.steps.median_s is not None:
        parts.append(f"step time {step_seconds(report.steps.median_s)}")
    limits = ". ".join(
        finding.title for finding in report.findings if finding.severity == "info" and finding.id not in report.muted
    )
    words = ", ".join(parts) + "." if parts else ""
    words = words[:1].upper() + words[1:]
    return f"{words} {limits}." if limits else words


#: What asks for action first; what asks for none keeps the order of time.
LOUDNESS: dict[Level, int] = {
    "critical": 0,
    "warning": 1,
    "unknown": 2,
    "partial": 2,
    "muted": 2,
    "waiting": 3,
    "unreviewed": 3,
    "info": 3,
    "healthy": 3,
}
_RECENT = timedelta(days=1)


def by_urgency(jobs: Iterable[JobSummary], now: datetime) -> list[JobSummary]:
    """In which order jobs are reviewed: those that run first, then those that failed within a day, then the rest as they
    are listed: newest first."""

    def rank(job: JobSummary) -> int:
        failed = job.status == "Failed" and now - (job.ended or job.created or BEGINNING) < _RECENT
        return 0 if job.is_running else 1 if failed else 2

    return sorted(jobs, key=rank)


def urgency_key(level: Level, runs: bool, gain_usd: float | None, cost_usd: float | None) -> tuple[float, ...]:
    """Where a reviewed job stands, the lowest first: by what could be recovered, the most first; of jobs that ask for action
    those that run (an hour), then those that have ended (in all), then of the rest.

    Where it is not known what a failed or stalled job could recover, its cost stands in: all of it may have been in vain.
    """
    loud = LOUDNESS[level]
    gain = cost_usd if gain_usd is None and level == "critical" else gain_usd
    return (not runs if loud <= LOUDNESS["warning"] else 2), -(gain or 0.0), loud, not runs


def urgency_key_of(job: JobSummary, report: Report | None) -> tuple[float, ...]:
    """Where a job of a list stands, which was reviewed or not yet."""
    if report is None:
        return urgency_key("unreviewed", job.is_running, None, None)
    return urgency_key(judge(report).level, job.is_running, stakes_usd(report), report.cost.usd)


#: partial: nothing stands out, but a part that matters could not be seen. unknown: nothing to judge by.
#: muted: healthy but for findings that somebody muted.
#: waiting: a review is under way. unreviewed: none was asked for.
Level = Literal["critical", "warning", "info", "partial", "muted", "healthy", "unknown", "waiting", "unreviewed"]
