"""What does an answer of DescribeTrainingJob say, in this program's words?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from monitor.errors import CannotDo
from monitor.fetch.configuration import MP_PARAMETERS, configuration, launcher, library_of, masked_texts, smp_version
from monitor.fetch.instance_types import lookup
from monitor.masking import secrets_of, without_secrets
from monitor.model import ENDED_STATUSES, Channel, InstanceGroup, Job, Node, Outputs, ProfilerOutput, Transition

#: Clusters that are known to train have some ten thousand.
MOST_INSTANCES = 100_000


def job_of(answer: Mapping[str, Any], name: str = "") -> Job:
    """The Job that an answer of DescribeTrainingJob tells; what the answer lacks stays None or empty.

    CannotDo where it has more instances than any job: a billion nodes would be made before anybody could say so.
    """
    hyperparameters = {str(key): str(text) for key, text in (answer.get("HyperParameters") or {}).items()}
    secrets = secrets_of(
        hyperparameters, library_of(hyperparameters.get(MP_PARAMETERS, "{}")), answer.get("Environment") or {}
    )
    groups = instance_groups(answer)
    if (count := sum(group.count for group in groups)) > MOST_INSTANCES:
        raise CannotDo(
            f"This job is said to have {count:,} instances, and none has more than {MOST_INSTANCES:,}.",
            "Check AWS_ENDPOINT_URL, or the answer that was read.",
        )
    status = answer.get("TrainingJobStatus")
    transitions = _transitions(answer, secrets)
    started, ended = utc(answer.get("TrainingStartTime")), utc(answer.get("TrainingEndTime"))
    if ended is None and status in ENDED_STATUSES and transitions:
        # A job that failed before it had an instance has no TrainingEndTime.
        ended = transitions[-1].end or transitions[-1].start
    return Job(
        name=answer.get("TrainingJobName") or name,
        source="aws",
        arn=answer.get("TrainingJobArn", ""),
        status=status,
        secondary_status=answer.get("SecondaryStatus"),
        instance_groups=groups,
        created=utc(answer.get("CreationTime")),
        started=started,
        ended=ended,
        transitions=transitions,
        training_seconds=answer.get("TrainingTimeInSeconds"),
        billable_seconds=answer.get("BillableTimeInSeconds"),
        warm_pool_billable_seconds=(answer.get("WarmPoolStatus") or {}).get("ResourceRetainedBillableTimeInSeconds"),
        max_runtime_s=(answer.get("StoppingCondition") or {}).get("MaxRuntimeInSeconds"),
        spot=bool(answer.get("EnableManagedSpotTraining")),
        # It quotes what the program wrote last.
        failure_reason=without_secrets(answer.get("FailureReason") or "", secrets) or None,
        hyperparameters=masked_texts(hyperparameters, secrets),
        metric_definitions=_metric_definitions(answer),
        nodes=_nodes(groups),
        launcher=launcher(hyperparameters),
        smp_version=smp_version(hyperparameters),
        configuration=configuration(hyperparameters, secrets),
        channels=_channels(answer, secrets),
        outputs=_outputs(answer, secrets),
        profiler=_profiler(answer, secrets),
        role=str(answer.get("RoleArn") or "").rpartition("/")[2],
        secrets=secrets,
    )


def instance_groups(answer: Mapping[str, Any]) -> tuple[InstanceGroup, ...]:
    """The groups of a heterogeneous job, or the one unnamed group of any other; empty for a serverless job."""
    resources = answer.get("ResourceConfig") or {}
    groups = resources.get("InstanceGroups") or ()
    if groups:
        return tuple(
            InstanceGroup(group.get("InstanceGroupName", ""), group.get("InstanceType", ""), group["InstanceCount"])
            for group in groups
            if group.get("InstanceCount")
        )
    count = resources.get("InstanceCount")
    return (InstanceGroup("", resources.get("InstanceType", ""), count),) if count else ()


def utc(moment: datetime | None) -> datetime | None:
    """Aware UTC; a time without a zone is UTC already."""
    if moment is None:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _nodes(groups: tuple[InstanceGroup, ...]) -> tuple[Node, ...]:
    """algo-1 to algo-N. Which of them is in which group is not told (their numbers do not follow the groups)."""
    types = {group.instance_type for group in groups}
    instance_type = types.pop() or None if len(types) == 1 else None
    known = (lookup(instance_type) if instance_type else None) or Node("", instance_type)
    group = groups[0].name if len(groups) == 1 else ""
    numbers = range(1, sum(group.count for group in groups) + 1)
    return tuple(replace(known, name=f"algo-{number}", group=group) for number in numbers)


def _transitions(answer: Mapping[str, Any], secrets: tuple[str, ...]) -> tuple[Transition, ...]:
    found = []
    for entry in answer.get("SecondaryStatusTransitions") or ():
        start = utc(entry.get("StartTime"))
        if start is not None:
            message = without_secrets(entry.get("StatusMessage") or "", secrets)
            found.append(Transition(entry.get("Status", ""), start, utc(entry.get("EndTime")), message))
    return tuple(found)


def _channels(answer: Mapping[str, Any], secrets: tuple[str, ...]) -> tuple[Channel, ...]:
    found = []
    for entry in answer.get("InputDataConfig") or ():
        source = entry.get("DataSource") or {}
        in_s3, system = source.get("S3DataSource") or {}, source.get("FileSystemDataSource") or {}
        uri = in_s3.get("S3Uri", "")
        if system:
            kind = "efs" if system.get("FileSystemType") == "EFS" else "fsx"
            uri = f"{kind}://{system.get('FileSystemId', '')}{system.get('DirectoryPath', '')}"
        mode = entry.get("InputMode") or (answer.get("AlgorithmSpecification") or {}).get("TrainingInputMode", "")
        found.append(
            Channel(
                entry.get("ChannelName", ""),
                without_secrets(uri, secrets),
                "" if system else mode,
                entry.get("ContentType") or "",
            )
        )
    return tuple(found)


def _outputs(answer: Mapping[str, Any], secrets: tuple[str, ...]) -> Outputs:
    given = answer.get("OutputDataConfig") or {}
    places = (
        given.get("S3OutputPath"),
        (answer.get("ModelArtifacts") or {}).get("S3ModelArtifacts"),
        (answer.get("CheckpointConfig") or {}).get("S3Uri"),
    )
    path, model, checkpoints = (without_secrets(place, secrets) if place else None for place in places)
    own_volume_key = bool((answer.get("ResourceConfig") or {}).get("VolumeKmsKeyId"))
    return Outputs(path, model, checkpoints, bool(given.get("KmsKeyId")), own_volume_key)


def _profiler(answer: Mapping[str, Any], secrets: tuple[str, ...]) -> ProfilerOutput | None:
    """Where the profiler writes; None where the answer says that none does."""
    given = answer.get("ProfilerConfig") or {}
    path = str(given.get("S3OutputPath") or "")
    if given.get("DisableProfiler") or not path.startswith("s3://"):
        return None
    return ProfilerOutput(without_secrets(path, secrets), given.get("ProfilingIntervalInMilliseconds"))


def _metric_definitions(answer: Mapping[str, Any]) -> dict[str, str]:
    definitions = (answer.get("AlgorithmSpecification") or {}).get("MetricDefinitions") or ()
    return {entry["Name"]: entry["Regex"] for entry in definitions if entry.get("Name") and entry.get("Regex")}
