"""SageMaker: DescribeTrainingJob, ListTrainingJobs and Search, of jobs that run as the account's clock goes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from benchmarks.account.answer import Refusal
from benchmarks.account.plan import MINUTE_MS, Job
from benchmarks.account.world import World

_MOST = 100
_SORTS = {"Name": "TrainingJobName", "CreationTime": "CreationTime", "Status": "TrainingJobStatus"}


def describe_training_job(world: World, asked: dict[str, Any]) -> dict[str, Any]:
    """The job as of now. For one that is not there AWS says ValidationException, though its model promises another."""
    job, now_ms = world.jobs.get(asked["TrainingJobName"]), world.clock.now_ms()
    if job is None or now_ms < job.created_ms:
        raise Refusal("ValidationException", "Requested resource not found.")
    ended = now_ms >= job.ended_ms
    answer = {
        **_summary(world, job),
        "SecondaryStatus": job.status if ended else _secondary(job, now_ms),
        "SecondaryStatusTransitions": _transitions(job, now_ms),
        "HyperParameters": dict(job.hyperparameters),
        "AlgorithmSpecification": {
            "TrainingImage": f"763104351884.dkr.ecr.{world.account.region}.amazonaws.com/pytorch-training:2.1.0",
            "TrainingInputMode": "File",
            "EnableSageMakerMetricsTimeSeries": True,
        },
        "RoleArn": f"arn:aws:iam::{world.account.number}:role/training",
        "OutputDataConfig": {"S3OutputPath": "s3://training-output/"},
        "ResourceConfig": {"InstanceType": job.instance_type, "InstanceCount": job.nodes, "VolumeSizeInGB": 500},
        "StoppingCondition": {"MaxRuntimeInSeconds": 432_000},
        "EnableManagedSpotTraining": False,
    }
    if now_ms >= job.started_ms:
        answer["TrainingStartTime"] = job.started_ms / 1000
    if ended:
        seconds = (job.ended_ms - job.started_ms) // 1000
        answer |= {"TrainingTimeInSeconds": seconds, "BillableTimeInSeconds": seconds}
        if job.failure_reason:
            answer["FailureReason"] = job.failure_reason
    return answer


def list_training_jobs(world: World, asked: dict[str, Any]) -> dict[str, Any]:
    """Summaries, 100 a page unless asked for fewer.

    StatusEquals takes rows out of a page that was cut before, so a page may be empty and not be the last.
    """
    most = asked.get("MaxResults", _MOST)
    if not 1 <= most <= _MOST:
        raise Refusal("ValidationException", "1 validation error detected: Value at 'maxResults' is out of range")
    now_ms = world.clock.now_ms()
    rows = [_summary(world, job) for job in world.jobs.values() if job.created_ms <= now_ms]
    rows = [row for row in rows if _wanted(row, asked)]
    by = _SORTS[asked.get("SortBy", "CreationTime")]
    rows.sort(key=lambda row: (row[by], row["TrainingJobName"]), reverse=asked.get("SortOrder") != "Ascending")
    first = _place(asked.get("NextToken"))
    page = rows[first : first + most]
    if status := asked.get("StatusEquals"):
        page = [row for row in page if row["TrainingJobStatus"] == status]
    answer: dict[str, Any] = {"TrainingJobSummaries": page}
    if first + most < len(rows):
        answer["NextToken"] = f"jobs/{first + most}"
    return answer


def search(world: World, asked: dict[str, Any]) -> dict[str, Any]:
    """All that is known of the jobs that match, newest first, 100 a page."""
    most, first = asked.get("MaxResults", _MOST), _place(asked.get("NextToken"))
    filters = asked.get("SearchExpression", {}).get("Filters", ())
    now_ms = world.clock.now_ms()
    rows = [(job, _summary(world, job)) for job in world.jobs.values() if job.created_ms <= now_ms]
    rows = [(job, row) for job, row in rows if all(_passes(row, each) for each in filters)]
    rows.sort(key=lambda pair: (pair[1]["CreationTime"], pair[0].name), reverse=True)
    page = [describe_training_job(world, {"TrainingJobName": job.name}) for job, _ in rows[first : first + most]]
    answer: dict[str, Any] = {"Results": [{"TrainingJob": row} for row in page]}
    if first + most < len(rows):
        answer["NextToken"] = f"jobs/{first + most}"
    return answer


def _passes(row: dict[str, Any], told: dict[str, str]) -> bool:
    value, wanted = row.get(told["Name"]), told.get("Value", "")
    match told["Operator"]:
        case "Equals":
            return bool(value == wanted)
        case "Contains":
            return wanted in str(value)
        case "GreaterThanOrEqualTo":
            return isinstance(value, float) and value >= datetime.fromisoformat(wanted).replace(tzinfo=UTC).timestamp()
    raise Refusal("ValidationException", f"The operator {told['Operator']} is not supported.")


def _summary(world: World, job: Job) -> dict[str, Any]:
    now_ms = world.clock.now_ms()
    ended = now_ms >= job.ended_ms
    changed_ms = job.ended_ms if ended else max(job.created_ms, min(job.started_ms, now_ms))
    row: dict[str, Any] = {
        "TrainingJobName": job.name,
        "TrainingJobArn": world.job_arn(job),
        "CreationTime": job.created_ms / 1000,
        "LastModifiedTime": changed_ms / 1000,
        "TrainingJobStatus": job.status if ended else "InProgress",
    }
    if ended:
        row["TrainingEndTime"] = job.ended_ms / 1000
    return row


def _steps(job: Job) -> list[tuple[str, float]]:
    return [
        ("Starting", job.created_ms),
        ("Downloading", job.started_ms - MINUTE_MS),
        ("Training", job.started_ms),
        ("Uploading", job.ended_ms - min(MINUTE_MS / 2, (job.ended_ms - job.started_ms) / 10)),
        (job.status, job.ended_ms),
    ]


def _secondary(job: Job, now_ms: float) -> str:
    return [status for status, begin_ms in _steps(job) if begin_ms <= now_ms][-1]


def _transitions(job: Job, now_ms: float) -> list[dict[str, Any]]:
    steps = _steps(job)
    found = []
    for at, (status, begin_ms) in enumerate(steps):
        if begin_ms > now_ms:
            break
        row: dict[str, Any] = {"Status": status, "StartTime": begin_ms / 1000, "StatusMessage": f"{status} the job"}
        end_ms = steps[at + 1][1] if at + 1 < len(steps) else begin_ms
        if end_ms <= now_ms:
            row["EndTime"] = end_ms / 1000
        found.append(row)
    return found


def _wanted(row: dict[str, Any], asked: dict[str, Any]) -> bool:
    return (
        asked.get("NameContains", "") in row["TrainingJobName"]
        and row["CreationTime"] > asked.get("CreationTimeAfter", float("-inf"))
        and row["CreationTime"] < asked.get("CreationTimeBefore", float("inf"))
        and row["LastModifiedTime"] > asked.get("LastModifiedTimeAfter", float("-inf"))
        and row["LastModifiedTime"] < asked.get("LastModifiedTimeBefore", float("inf"))
    )


def _place(token: str | None) -> int:
    if not token:
        return 0
    head, _, index = token.partition("/")
    if head != "jobs" or not index.isdecimal():
        raise Refusal("ValidationException", "Invalid NextToken.")
    return int(index)
