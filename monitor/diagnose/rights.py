"""Which rights are missing, what cannot be judged because of that, and what has to go into the IAM policy."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from monitor.errors import NotAllowed
from monitor.model import Gap, Report

_LOG_GROUP = "log-group:/aws/sagemaker/TrainingJobs"
# A program that may do one of these and not another reads with detours, or nothing: they are asked for together.
_TOGETHER = (
    frozenset({"logs:DescribeLogStreams", "logs:FilterLogEvents", "logs:GetLogEvents"}),
    frozenset({"logs:StartQuery", "logs:GetQueryResults", "logs:StopQuery"}),
    frozenset({"s3:ListBucket", "s3:GetObject"}),
)
_OF_LOG_GROUP = _TOGETHER[0] | {"logs:StartQuery", "logs:GetQueryResults"}
_OF_JOBS = frozenset({"sagemaker:DescribeTrainingJob"})
_NOTHING = {
    "logs:": "Without it, no log lines can be shown.",
    "sagemaker:DescribeTrainingJob": "Without it, no job can be reviewed.",
    "sagemaker:List": "Without it, the jobs cannot be listed.",
}
_SIDS = {"logs": "Logs", "cloudwatch": "Metrics", "sagemaker": "Jobs", "s3": "Profiler"}


@dataclass(frozen=True, slots=True)
class MissingRights:
    """What AWS refused of one kind of thing, and what that costs."""

    actions: tuple[str, ...]
    """As a policy names them: "logs:FilterLogEvents"."""
    lost: str
    """A sentence: what is not known."""
    why: str
    """AWS's answer, with who asked."""
    denied_by: str
    """The policy that denies it in so many words, which a further allow does not help against; else empty."""
    arn: str
    """Of the thing that was asked for, as far as it is known."""

    @property
    def title(self) -> str:
        """``Missing right: logs:FilterLogEvents``."""
        return f"Missing right{'' if len(self.actions) == 1 else 's'}: {', '.join(self.actions)}"

    @property
    def remedy(self) -> str:
        """What to do with ``statement``."""
        if self.denied_by:
            return (
                f"A {self.denied_by} denies it explicitly: whoever maintains that policy has to allow it. The IAM "
                "policy needs this statement as well."
            )
        return "Add this statement to the IAM policy of that user or role:"

    @property
    def statement(self) -> str:
        """JSON to copy: one statement of a policy, with every action that reading this takes."""
        return statement(self.actions, self.arn)


def of_report(report: Report) -> tuple[MissingRights, ...]:
    """What was refused to the review of a job, and what it therefore cannot say."""
    lost = {
        "logs": "Without the logs, nothing is known about steps, progress, errors, or what the time was spent on."
        if not report.run.logs.lines
        else "Some of the logs could not be read: steps and errors in them are not known.",
        "metrics": "Without the metrics, nothing is known about GPU, CPU and memory use."
        if report.run.metrics.empty
        else "Some of the metrics could not be read: the utilization of those devices is not known.",
        "profiler": "Without the output of its profiler, the GPUs of a node cannot be told apart.",
    }
    return of_gaps(report.run.gaps, lost, report.job.arn)


def of_list(gaps: Iterable[Gap], reports: Iterable[Report]) -> tuple[MissingRights, ...]:
    """What was refused to a list of jobs and to the reviews in it. The list itself does without Search."""
    lost = {
        "logs": "Without the logs, nothing is known about the steps and errors of these jobs.",
        "metrics": "Without the metrics, it is not known how busy these jobs keep their GPUs.",
    }
    of_reports = (gap for report in reports for gap in report.run.gaps)
    return of_gaps([gap for gap in (*gaps, *of_reports) if gap.what in lost], lost)


def of_error(error: NotAllowed) -> tuple[MissingRights, ...]:
    """The right whose refusal left nothing to show."""
    lost = next((said for start, said in _NOTHING.items() if error.action.startswith(start)), "")
    refused = MissingRights((error.action,), lost, error.message, error.denied_by, error.arn)
    return (refused,) if error.action else ()


def of_gaps(gaps: Iterable[Gap], lost: Mapping[str, str], arn: str = "") -> tuple[MissingRights, ...]:
    """The refused rights among gaps, together by what they concern; ``lost`` says what each kind of gap costs."""
    # What costs most first: without logs there is no step.
    kinds: dict[str, list[Gap]] = {what: [] for what in lost}
    for gap in gaps:
        if gap.action:
            kinds.setdefault(gap.what, []).append(gap)
    return tuple(
        MissingRights(
            actions=tuple(dict.fromkeys(gap.action for gap in found)),
            lost=lost.get(what, ""),
            why=" ".join(list(dict.fromkeys(gap.why for gap in found))[:2]),
            denied_by=next((gap.denied_by for gap in found if gap.denied_by), ""),
            arn=next((gap.arn for gap in found if gap.arn), arn),
        )
        for what, found in kinds.items()
        if found
    )


def statement(actions: Sequence[str], arn: str = "") -> str:
    """One statement of an IAM policy, for the region and account of ``arn``; "*" for what that does not tell."""
    wanted = set(actions)
    for together in _TOGETHER:
        wanted |= together if wanted & together else set()
    service = actions[0].partition(":")[0] if actions else ""
    parts = [*arn.split(":"), "", "", "", "", ""]
    where = f"{parts[1] or 'aws'}:{{}}:{parts[3] or '*'}:{parts[4] or '*'}"
    resource: str | list[str] = "*"
    if wanted <= _OF_LOG_GROUP:
        group = f"arn:{where.format('logs')}:{_LOG_GROUP}"
        resource = [group, f"{group}:*"]
    elif wanted <= _OF_JOBS:
        resource = f"arn:{where.format('sagemaker')}:training-job/*"
    elif wanted == _TOGETHER[2] and (bucket := parts[5].partition("/")[0]):
        place = f"arn:{parts[1] or 'aws'}:s3:::{bucket}"
        resource = [place, f"{place}/*/profiler-output/system/*"]
    listed = sorted(wanted)
    said = {
        "Sid": f"Trainwatch{_SIDS.get(service, 'Reads')}",
        "Effect": "Allow",
        "Action": listed[0] if len(listed) == 1 else listed,
        "Resource": resource,
    }
    # A line a key: a statement of a dozen lines would push the answer off the page.
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in said.items())
    return f"{{\n{lines}\n}}"
