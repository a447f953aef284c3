"""What would DescribeTrainingJob answer for a sample job?"""

from __future__ import annotations

import json

from monitor.demo.endings import failure_reason
from monitor.demo.parameters import BUCKET, sdk_hyperparameters
from monitor.demo.profiles import INTERVAL_MS, profiler_path
from monitor.demo.schedule import SampleJob, Status
from monitor.demo.story import NoCapacity, OutOfMemory, Story

ROLE = "arn:aws:iam::123456789012:role/TrainingRole"
IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/pytorch-training"


def describe(job: SampleJob) -> dict[str, object]:
    """The answer's fields under their API names, times aware; a field that AWS would leave out is not there."""
    story = job.story
    fields: dict[str, object] = {
        "TrainingJobName": job.name,
        "TrainingJobStatus": job.status,
        "SecondaryStatus": job.statuses[-1].status,
        "SecondaryStatusTransitions": [_transition(status) for status in job.statuses],
        "HyperParameters": {
            name: json.dumps(value) for name, value in sdk_hyperparameters(job.story, job.name).items()
        },
        "AlgorithmSpecification": {
            "TrainingImage": f"{IMAGE}:{'1.12.1' if story.launcher == 'mpi' else '2.7.1'}-{_flavour(story)}",
            "TrainingInputMode": "File",
            "EnableSageMakerMetricsTimeSeries": True,
            "MetricDefinitions": [{"Name": n, "Regex": r} for n, r in story.metric_definitions.items()],
        },
        "RoleArn": ROLE,
        "InputDataConfig": [_channel(name) for name in ("train", "test")],
        "OutputDataConfig": {"S3OutputPath": f"{BUCKET}/{story.base_name}"},
        "ResourceConfig": _resources(story),
        "StoppingCondition": {"MaxRuntimeInSeconds": story.max_runtime_s},
        "CreationTime": job.created,
        "LastModifiedTime": job.ended or job.statuses[-1].start,
        "EnableManagedSpotTraining": story.spot,
        "EnableNetworkIsolation": False,
        "EnableInterContainerTrafficEncryption": False,
        "ProfilingStatus": "Disabled",
    }
    if story.profiled is not None:
        fields["ProfilingStatus"] = "Enabled"
        fields["ProfilerConfig"] = {
            "S3OutputPath": profiler_path(story),
            "ProfilingIntervalInMilliseconds": INTERVAL_MS,
            "DisableProfiler": False,
        }
    if story.spot:
        fields["StoppingCondition"] = {
            "MaxRuntimeInSeconds": story.max_runtime_s,
            "MaxWaitTimeInSeconds": 2 * story.max_runtime_s,
        }
    if story.checkpoint_every:
        fields["CheckpointConfig"] = {
            "S3Uri": f"{BUCKET}/{story.base_name}/checkpoints",
            "LocalPath": "/opt/ml/checkpoints",
        }
    if job.started is not None:
        fields["TrainingStartTime"] = job.started
    if job.ended is not None:
        fields["TrainingEndTime"] = job.ended
    if job.training_s is not None:
        fields["TrainingTimeInSeconds"] = job.training_s
        fields["BillableTimeInSeconds"] = round(job.training_s * story.billable_share)
    reason = _failure(job)
    if reason:
        fields["FailureReason"] = reason[:1024]
    if job.status == "Completed":
        fields["ModelArtifacts"] = {"S3ModelArtifacts": f"{BUCKET}/{story.base_name}/{job.name}/output/model.tar.gz"}
    return fields


def _failure(job: SampleJob) -> str:
    match job.story.fault:
        case NoCapacity():
            group = job.story.groups[0]
            return (
                f"CapacityError: Unable to provision requested ML compute capacity: {len(group.nodes)} x "
                f"{group.instance_type}. Please retry using a different ML instance type or after some time."
            )
        case OutOfMemory() as fault:
            return "AlgorithmError: " + failure_reason(job.story, fault) + ", exit code: 1"
        case _:
            return ""


def _resources(story: Story) -> dict[str, object]:
    if len(story.groups) > 1:
        return {
            "InstanceGroups": [
                {"InstanceGroupName": g.name, "InstanceType": g.instance_type, "InstanceCount": len(g.nodes)}
                for g in story.groups
            ],
            "VolumeSizeInGB": 200,
        }
    group = story.groups[0]
    return {"InstanceType": group.instance_type, "InstanceCount": len(group.nodes), "VolumeSizeInGB": 500}


def _channel(name: str) -> dict[str, object]:
    source = {
        "S3DataType": "S3Prefix",
        "S3Uri": f"{BUCKET}/data/{name}",
        "S3DataDistributionType": "FullyReplicated",
    }
    return {"ChannelName": name, "DataSource": {"S3DataSource": source}, "CompressionType": "None"}


def _flavour(story: Story) -> str:
    return "gpu-py38" if story.launcher == "mpi" else "gpu-py312" if story.load.gpu_pct else "cpu-py312"


def _transition(status: Status) -> dict[str, object]:
    entry: dict[str, object] = {"Status": status.status, "StartTime": status.start, "StatusMessage": status.message}
    if status.end is not None:
        entry["EndTime"] = status.end
    return entry
