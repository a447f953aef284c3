"""Which training jobs are there, and what is known of one of them?"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from monitor.aws.calls import Pagination
from monitor.aws.clients import Clients
from monitor.errors import BadCall, NoData, NoSuchJob, TrainwatchError
from monitor.fetch.background import side_by_side
from monitor.fetch.job_answer import instance_groups, job_of, utc
from monitor.fetch.source import JobQuery
from monitor.model import Job, JobSummary

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
_BEGINNING = datetime.min.replace(tzinfo=UTC)

# Instance type and count, and when training started.
_Told = tuple[str | None, int | None, datetime | None]
InstancesByJob = dict[tuple[str, datetime | None], _Told]


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
    found.sort(key=lambda summary: summary.created or _BEGINNING, reverse=True)
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
        missing, side_by_side(lambda row: _told(clients, row), missing, _SIDE_BY_SIDE), strict=True
    ):
        if told is not None:
            memory[_key(summary)] = told
    nothing: _Told = (None, None, None)
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
    times = [row.created or _BEGINNING for row in rows]
    jumps = any(later - earlier > _TOGETHER for earlier, later in pairwise(times))
    return not times or (times[0] >= times[-1] and not jumps)


def _status(typed: str) -> str:
    for status in STATUSES:
        if status.lower() == typed.strip().lower():
            return status
    raise BadCall(f"No training job has the status '{typed}'.", f"Use one of {', '.join(STATUSES)}.")


def _key(summary: JobSummary) -> tuple[str, datetime | None]:
    return summary.name, summary.created


def _told(clients: Clients, summary: JobSummary) -> _Told | None:
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
