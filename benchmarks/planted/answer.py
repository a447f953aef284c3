"""What does DescribeTrainingJob answer for a simulated job?"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from benchmarks.planted.plan import Plan


@dataclass(frozen=True, slots=True)
class Phase:
    """One entry of SecondaryStatusTransitions, in Unix seconds; ``end_s`` is None while it lasts."""

    status: str
    start_s: float
    end_s: float | None
    message: str


_STATUS = {
    "completed": ("Completed", "Completed"),
    "running": ("InProgress", "Training"),
    "stopped": ("Stopped", "Stopped"),
    "failed": ("Failed", "Failed"),
    "max-runtime": ("Stopped", "MaxRuntimeExceeded"),
    "max-wait": ("Stopped", "MaxWaitTimeExceeded"),
    "never-started": ("Failed", "Failed"),
}


def answer(plan: Plan, created_s: float, phases: list[Phase], now_s: float, reason: str) -> dict[str, Any]:
    """The answer as boto3 gives it, with datetimes."""
    status, secondary = _STATUS[plan.ending.kind]
    running = status == "InProgress"
    work = [phase for phase in phases if phase.status in {"Downloading", "Training", "Uploading", "Interrupted"}]
    told: dict[str, Any] = {
        "TrainingJobName": plan.name,
        "TrainingJobArn": f"arn:aws:sagemaker:us-east-1:111122223333:training-job/{plan.name}",
        "TrainingJobStatus": status,
        "SecondaryStatus": phases[-1].status if running else secondary,
        "HyperParameters": _hyperparameters(plan),
        "AlgorithmSpecification": {
            "TrainingImage": "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.3.0-gpu-py311",
            "TrainingInputMode": "File",
        },
        "ResourceConfig": {
            "InstanceType": plan.hardware.name,
            "InstanceCount": plan.nodes,
            "VolumeSizeInGB": 500,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": plan.max_runtime_s},
        "CreationTime": _time(created_s),
        "LastModifiedTime": _time(now_s if running else (phases[-1].end_s or phases[-1].start_s)),
        "SecondaryStatusTransitions": [
            {
                "Status": phase.status,
                "StartTime": _time(phase.start_s),
                **({} if phase.end_s is None else {"EndTime": _time(phase.end_s)}),
                "StatusMessage": phase.message,
            }
            for phase in phases
        ],
        "EnableManagedSpotTraining": plan.spot,
    }
    if plan.spot:
        told["StoppingCondition"]["MaxWaitTimeInSeconds"] = plan.max_runtime_s + 86_400
        told["CheckpointConfig"] = {"S3Uri": "s3://example-bucket/checkpoints", "LocalPath": "/opt/ml/checkpoints"}
    if reason:
        told["FailureReason"] = reason
    if work:
        told["TrainingStartTime"] = _time(work[0].start_s)
        if not running:
            end_s = phases[-1].end_s or phases[-1].start_s
            told["TrainingEndTime"] = _time(end_s)
            spent = sum((phase.end_s or end_s) - phase.start_s for phase in work if phase.status != "Interrupted")
            told["TrainingTimeInSeconds"] = round(spent)
            told["BillableTimeInSeconds"] = round(spent * (0.36 if plan.spot else 1.0))
    return told


def _hyperparameters(plan: Plan) -> dict[str, str]:
    given: dict[str, Any] = {
        "sagemaker_program": "train.py",
        "sagemaker_job_name": plan.name,
        "sagemaker_region": "us-east-1",
        "sagemaker_container_log_level": 20,
    }
    if plan.launcher == "torchrun":
        given |= {"sagemaker_torch_distributed_enabled": True, "sagemaker_instance_type": plan.hardware.name}
    elif plan.launcher == "mpi":
        given |= {"sagemaker_mpi_enabled": True, "sagemaker_mpi_custom_mpi_options": ""}
        if plan.processes_per_host:
            given["sagemaker_mpi_num_of_processes_per_host"] = plan.processes_per_host
    # The SDK writes every value as JSON text.
    return {key: json.dumps(value) for key, value in given.items()} | plan.hyperparameters


def _time(unix_s: float) -> datetime:
    return datetime.fromtimestamp(round(unix_s, 3), UTC)
