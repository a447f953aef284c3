"""The training jobs that there are, and what is known of one of them. Answers of DescribeTrainingJob in this program's words, and
Search: instances, starts and tags of a hundred jobs a call, if it is allowed.

Search is not in every policy. Where it is refused ListTrainingJobs answers, which knows neither instances nor tags.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from monitor.aws.calls import Pagination, side_by_side
from monitor.aws.errors import is_damaged
from monitor.errors import BadCall, CannotDo, NoCredentials, NoData, NoSuchJob, Throttled, TrainwatchError, Unreachable
from monitor.fetch.configuration import MP_PARAMETERS, configuration, launcher, library_of, masked_texts, smp_version
from monitor.fetch.instance_types import lookup
from monitor.fetch.source import JobQuery, JobQueryResult, gap_of
from monitor.masking import secrets_of, without_secrets
from monitor.model import (
    BEGINNING,
    ENDED_STATUSES,
    Channel,
    Gap,
    InstanceGroup,
    Job,
    JobSummary,
    Node,
    Outputs,
    ProfilerOutput,
    Transition,
)

if TYPE_CHECKING:
    from monitor.aws.clients import Clients

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


#: The values of TrainingJobStatus.
STATUSES = ("InProgress", "Completed", "Failed", "Stopping", "Stopped", "Deleting")

# The most that one call of ListTrainingJobs returns.
_PAGE = 100
# How many of the newest jobs are searched for a name like the one that was typed.
_NEWEST = 200
# DescribeTrainingJob's quota is not published: a few at a time.
_SIDE_BY_SIDE = 4
_LONGEST_NAME_PART = 63
_TOGETHER = timedelta(minutes=1)

# Instance type and count, and when training started.
_Answer = tuple[str | None, int | None, datetime | None]
InstancesByJob = dict[tuple[str, datetime | None], _Answer]


def describe(clients: Clients, name: str) -> Job:
    """The job of that name (or ARN). NoSuchJob names up to three nearest; NotAllowed and its like pass through."""
    name = name.rpartition("training-job/")[2].strip()
    clients.client("sagemaker")  # what is wrong with the region or the endpoint is not wrong with the name
    try:
        answer = clients.call("sagemaker", "describe_training_job", TrainingJobName=name)
    except (NoData, BadCall) as error:
        # AWS says ValidationException for a name it does not have as for one that no job can have.
        raise _no_such_job(clients, name) from error
    return job_of(answer, name)


def list_jobs(clients: Clients, query: JobQuery) -> tuple[JobSummary, ...]:
    """The jobs that match, newest first by creation, at most ``query.limit``. BadCall for an unknown status."""
    wanted: dict[str, Any] = {"SortBy": "CreationTime", "SortOrder": "Descending", "MaxResults": _PAGE}
    if query.status:
        wanted["StatusEquals"] = _status(query.status)
    if query.name_contains:
        wanted["NameContains"] = query.name_contains
    if query.created_after:
        wanted["CreationTimeAfter"] = query.created_after
    if query.modified_after:
        wanted["LastModifiedTimeAfter"] = query.modified_after
    found: list[JobSummary] = []
    for page in _pages(clients, wanted):
        found += page
        # A service that honors the order needs not be asked for more; one that does not is read to its end.
        if len(found) >= query.limit and _newest_first(found):
            break
    found.sort(key=lambda summary: summary.created or BEGINNING, reverse=True)
    return tuple(found[: max(query.limit, 0)])


def with_instances(
    clients: Clients, summaries: Sequence[JobSummary], known: InstancesByJob | None = None
) -> tuple[JobSummary, ...]:
    """The same rows with what ListTrainingJobs lacks (instances, start of training): a DescribeTrainingJob each.

    ``known`` remembers them between calls (once it has started, a job's never change). Where AWS refuses, they stay None.
    """
    memory = {} if known is None else known
    missing = [summary for summary in summaries if _key(summary) not in memory]
    for summary, told in zip(
        missing, side_by_side(lambda row: _described(clients, row), missing, _SIDE_BY_SIDE), strict=True
    ):
        if told is not None:
            memory[_key(summary)] = told
    nothing: _Answer = (None, None, None)
    rows = []
    for summary in summaries:
        kind, count, started = memory.get(_key(summary), nothing)
        rows.append(replace(summary, instance_type=kind, instance_count=count, started=started))
    for summary in missing:
        if summary.ended is None and memory.get(_key(summary), nothing)[2] is None:
            memory.pop(_key(summary), None)
    return tuple(rows)


def _pages(clients: Clients, wanted: dict[str, Any]) -> Iterator[list[JobSummary]]:
    """Page after page; with a filter a page may be empty and not be the last (AWS cuts pages before it filters)."""
    token: str | None = None
    onward = Pagination("sagemaker:ListTrainingJobs")
    while True:
        more = {"NextToken": token} if token else {}
        answer = clients.call("sagemaker", "list_training_jobs", **wanted, **more)
        rows = answer.get("TrainingJobSummaries", ())
        yield [_summary(row) for row in rows]
        token = onward.after(answer.get("NextToken"), len(rows))
        if token is None:
            return


def _summary(row: dict[str, Any]) -> JobSummary:
    created, ended = utc(row.get("CreationTime")), utc(row.get("TrainingEndTime"))
    return JobSummary(row["TrainingJobName"], row.get("TrainingJobStatus", ""), created, ended)


def _newest_first(rows: Sequence[JobSummary]) -> bool:
    # Jobs that were created together may stand either way round, which is no reason to read ten thousand others.
    times = [row.created or BEGINNING for row in rows]
    jumps = any(later - earlier > _TOGETHER for earlier, later in pairwise(times))
    return not times or (times[0] >= times[-1] and not jumps)


def _status(typed: str) -> str:
    for status in STATUSES:
        if status.lower() == typed.strip().lower():
            return status
    raise BadCall(f"No training job has the status '{typed}'.", f"Use one of {', '.join(STATUSES)}.")


def _key(summary: JobSummary) -> tuple[str, datetime | None]:
    return summary.name, summary.created


def _described(clients: Clients, summary: JobSummary) -> _Answer | None:
    try:
        answer = clients.call("sagemaker", "describe_training_job", TrainingJobName=summary.name)
    except TrainwatchError:
        # Three columns are not worth the list.
        return None
    groups = instance_groups(answer)
    types = dict.fromkeys(group.instance_type for group in groups if group.instance_type)
    return " + ".join(types) or None, sum(group.count for group in groups) or None, utc(answer.get("TrainingStartTime"))


def _no_such_job(clients: Clients, name: str) -> NoSuchJob:
    near = _nearest(clients, name)
    guess = f"Did you mean {_either(near)}? Otherwise" if near else "To find it,"
    return NoSuchJob(
        f"There is no training job '{name}' in {clients.region}.",
        f"{guess} list the jobs, or name another region with --region.",
    )


def _nearest(clients: Clients, name: str) -> list[str]:
    """Up to three names: those that contain what was typed, then those spelled most like it. Empty where denied."""
    if not name:
        return []
    try:
        newest = [summary.name for summary in list_jobs(clients, JobQuery(limit=_NEWEST))]
        # The SDK adds a time stamp to a base name, and the base name is what people remember.
        containing = [other for other in newest if name in other] or _older_names(clients, name)
    except TrainwatchError:
        return []
    alike = difflib.get_close_matches(name, newest, n=3, cutoff=0.6)
    return list(dict.fromkeys([*containing[:3], *alike]))[:3]


def _older_names(clients: Clients, part: str) -> list[str]:
    """Names that contain ``part``, from one call: a guess is not worth walking through ten thousand jobs."""
    answer = clients.call(
        "sagemaker",
        "list_training_jobs",
        NameContains=part[:_LONGEST_NAME_PART],
        SortBy="CreationTime",
        SortOrder="Descending",
    )
    return [row["TrainingJobName"] for row in answer.get("TrainingJobSummaries", ())]


def _either(names: list[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


# The most that one call of Search returns.
# What Search cannot be asked for is looked for here, in no more than so many further jobs.
_LOOKED_THROUGH = 500


def find_jobs(clients: Clients, query: JobQuery) -> JobQueryResult:
    """The jobs that match. Errors of ``monitor.errors`` where not even a list can be had."""
    try:
        return _searched(clients, query)
    except (NoCredentials, Throttled):
        raise
    except TrainwatchError as error:
        if isinstance(error, Unreachable) and not is_damaged(error):
            raise
        return _listed(clients, query, error)


def _searched(clients: Clients, query: JobQuery) -> JobQueryResult:
    wanted: dict[str, Any] = {
        "Resource": "TrainingJob",
        "SortBy": "CreationTime",
        "SortOrder": "Descending",
        "MaxResults": _PAGE,
    }
    if filters := _filters(query):
        wanted["SearchExpression"] = {"Filters": filters}
    jobs: list[JobSummary] = []
    looked = 0
    token: str | None = None
    gaps: tuple[Gap, ...] = ()
    onward = Pagination("sagemaker:Search")
    while True:
        try:
            answer = clients.call("sagemaker", "search", **wanted, **({"NextToken": token} if token else {}))
            following = onward.after(answer.get("NextToken"), len(answer.get("Results", ())))
        except NoCredentials:
            raise
        except TrainwatchError as error:
            if not looked:
                raise
            # What came before it is worth more than nothing.
            gaps = (gap_of("job", error),)
            break
        page = [summary_of(row["TrainingJob"]) for row in answer.get("Results", ()) if row.get("TrainingJob")]
        looked += len(page)
        jobs += [job for job in page if query.takes(job)]
        token = following
        if token is None:
            break
        # Newest first: what follows a page that is too old is too old as well.
        if query.created_after and page and _created(page[-1]) < query.created_after:
            token = None
            break
        if len(jobs) >= query.limit or looked >= query.limit + _LOOKED_THROUGH:
            break
    jobs.sort(key=_created, reverse=True)
    return JobQueryResult(tuple(jobs[: query.limit]), token is not None or len(jobs) > query.limit, gaps)


def _filters(query: JobQuery) -> list[dict[str, str]]:
    filters = []
    if query.status:
        filters.append({"Name": "TrainingJobStatus", "Operator": "Equals", "Value": query.status})
    if query.name_contains:
        filters.append({"Name": "TrainingJobName", "Operator": "Contains", "Value": query.name_contains})
    if query.tag:
        key, equals, text = query.tag.partition("=")
        tag = {"Name": f"Tags.{key.strip()}", "Operator": "Exists"}
        filters.append({**tag, "Operator": "Equals", "Value": text.strip()} if equals else tag)
    if query.modified_after:
        since = query.modified_after.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
        filters.append({"Name": "LastModifiedTime", "Operator": "GreaterThanOrEqualTo", "Value": since})
    return filters


def summary_of(answer: Mapping[str, Any]) -> JobSummary:
    """A row of the list, from all that is told of a job."""
    groups = instance_groups(answer)
    types = dict.fromkeys(group.instance_type for group in groups if group.instance_type)
    return JobSummary(
        answer["TrainingJobName"],
        answer.get("TrainingJobStatus", ""),
        utc(answer.get("CreationTime")),
        utc(answer.get("TrainingEndTime")),
        " + ".join(types) or None,
        sum(group.count for group in groups) or None,
        started=utc(answer.get("TrainingStartTime")),
        tags={str(tag.get("Key", "")): str(tag.get("Value", "")) for tag in answer.get("Tags") or ()},
    )


def _listed(clients: Clients, query: JobQuery, refused: TrainwatchError) -> JobQueryResult:
    """By ListTrainingJobs, which cannot filter by everything; what is missing is said."""
    remedy = refused.remedy or ""
    if query.tag or query.instance_type:
        raise CannotDo(
            f"{refused.message.rstrip('.')}: without it, jobs cannot be filtered by tag or instance type.",
            f"{remedy} Or clear these filters.".strip(),
        ) from refused
    # One more than asked for tells whether there are more.
    rows = list_jobs(clients, replace(query, limit=query.limit + 1))
    rows = tuple(row for row in rows if query.takes(row))
    without = "instance types, tags and the figures of running jobs are only known for reviewed jobs"
    gap = replace(gap_of("job", refused), why=f"{refused.message.rstrip('.')}: {without}.", transient=True)
    return JobQueryResult(rows[: query.limit], len(rows) > query.limit, (gap,))


def _created(job: JobSummary) -> datetime:
    return job.created or BEGINNING
