"""Which jobs match, with their instances, starts and tags? One call of Search per hundred jobs, if it is allowed.

Search is not in every policy. Where it is refused ListTrainingJobs answers, which knows neither instances nor tags.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from monitor.aws.calls import Pagination
from monitor.aws.clients import Clients
from monitor.aws.errors import is_damaged
from monitor.errors import CannotDo, NoCredentials, Throttled, TrainwatchError, Unreachable
from monitor.fetch.job_answer import instance_groups, utc
from monitor.fetch.jobs import list_jobs
from monitor.fetch.source import Found, JobQuery, gap_of
from monitor.model import Gap, JobSummary

# The most that one call of Search returns.
_PAGE = 100
# What Search cannot be asked for is looked for here, in no more than so many further jobs.
_LOOKED_THROUGH = 500
_BEGINNING = datetime.min.replace(tzinfo=UTC)


def find_jobs(clients: Clients, query: JobQuery) -> Found:
    """The jobs that match. Errors of ``monitor.errors`` where not even a list can be had."""
    try:
        return _searched(clients, query)
    except (NoCredentials, Throttled):
        raise
    except TrainwatchError as error:
        if isinstance(error, Unreachable) and not is_damaged(error):
            raise
        return _listed(clients, query, error)


def _searched(clients: Clients, query: JobQuery) -> Found:
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
        jobs += [job for job in page if matches(job, query)]
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
    return Found(tuple(jobs[: query.limit]), token is not None or len(jobs) > query.limit, gaps)


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


def matches(job: JobSummary, query: JobQuery) -> bool:
    """Whether a job is one that is asked for, by what is known of it."""
    after, before = query.created_after, query.created_before
    key, equals, text = (query.tag or "").partition("=")
    key, text = key.strip(), text.strip()
    return (
        (not query.status or job.status == query.status)
        and (query.name_contains or "") in job.name
        and (after is None or _created(job) >= after)
        and (before is None or _created(job) < before)
        and (query.instance_type or "") in (job.instance_type or "")
        and (not key or ((told := job.tag(key)) is not None and (not equals or told == text)))
    )


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


def _listed(clients: Clients, query: JobQuery, refused: TrainwatchError) -> Found:
    """By ListTrainingJobs, which cannot filter by everything; what is missing is said."""
    remedy = refused.remedy or ""
    if query.tag or query.instance_type:
        raise CannotDo(
            f"{refused.message.rstrip('.')}: without it, jobs cannot be filtered by tag or instance type.",
            f"{remedy} Or clear these filters.".strip(),
        ) from refused
    # One more than asked for tells whether there are more.
    rows = list_jobs(clients, replace(query, limit=query.limit + 1))
    rows = tuple(row for row in rows if matches(row, query))
    without = "instance types, tags and the figures of running jobs are only known for reviewed jobs"
    gap = replace(gap_of("job", refused), why=f"{refused.message.rstrip('.')}: {without}.", transient=True)
    return Found(rows[: query.limit], len(rows) > query.limit, (gap,))


def _created(job: JobSummary) -> datetime:
    return job.created or _BEGINNING
