"""Training jobs as a test needs them: on moto, or as the answer of DescribeTrainingJob alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from moto.sagemaker.models import sagemaker_backends

from monitor.aws.clients import Clients
from monitor.fetch.jobs import job_of
from monitor.model import Job
from tests.aws.fake import ACCOUNT, REGION

START = datetime(2026, 3, 2, 8, 5, tzinfo=UTC)


def create_job(clients: Clients, name: str, resources: dict[str, Any] | None = None, **attributes: Any) -> None:
    """A job on moto. ``attributes`` are set behind its back: nothing else can give a job a status or a time."""
    resources = resources or {"InstanceType": "ml.g5.12xlarge", "InstanceCount": 2}
    clients.client("sagemaker").create_training_job(
        TrainingJobName=name,
        AlgorithmSpecification={"TrainingInputMode": "File", "TrainingImage": "image"},
        RoleArn=f"arn:aws:iam::{ACCOUNT}:role/training",
        OutputDataConfig={"S3OutputPath": "s3://bucket/output"},
        ResourceConfig={"VolumeSizeInGB": 100, **resources},
        StoppingCondition={"MaxRuntimeInSeconds": 86400},
    )
    job = sagemaker_backends[ACCOUNT][REGION].training_jobs[name]
    for key, value in attributes.items():
        # Aware times would break moto's own filters.
        setattr(job, key, value.replace(tzinfo=None) if isinstance(value, datetime) else value)


def answer(**fields: Any) -> dict[str, Any]:
    """An answer of DescribeTrainingJob for a job of two nodes that ran for an hour."""
    return {
        "TrainingJobName": "vit",
        "TrainingJobArn": f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:training-job/vit",
        "TrainingJobStatus": "Completed",
        "SecondaryStatus": "Completed",
        "ResourceConfig": {"InstanceType": "ml.g5.12xlarge", "InstanceCount": 2, "VolumeSizeInGB": 100},
        "CreationTime": START,
        "TrainingStartTime": START + timedelta(minutes=3),
        "TrainingEndTime": START + timedelta(minutes=63),
        **fields,
    }


def job(**fields: Any) -> Job:
    """The Job of ``answer``."""
    return job_of(answer(**fields))


def cluster(count: int, kind: str = "ml.g5.12xlarge") -> dict[str, Any]:
    """ResourceConfig of a homogeneous job."""
    return {"InstanceType": kind, "InstanceCount": count}
