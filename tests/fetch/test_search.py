"""Jobs by Search: what is asked, what comes back, and what happens where it is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from monitor.errors import BadCall, CannotDo, NotAllowed, Throttled
from monitor.fetch.jobs import find_jobs
from monitor.fetch.source import JobQuery

NOW = datetime(2026, 9, 25, 12, tzinfo=UTC)


def row(place: int, **more: Any) -> dict[str, Any]:
    return {
        "TrainingJobName": f"job-{place:03d}",
        "TrainingJobStatus": "InProgress" if place < 40 else "Completed",
        "CreationTime": NOW - timedelta(hours=place),
        "TrainingStartTime": NOW - timedelta(hours=place) + timedelta(minutes=5),
        "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge" if place % 2 else "ml.g5.12xlarge", "InstanceCount": 4},
        "Tags": [{"Key": "team", "Value": "nlp" if place % 3 else "vision"}],
        **more,
    }


class Account:
    """Search and ListTrainingJobs over so many jobs; what it was asked is kept."""

    region = "us-east-1"

    def __init__(self, jobs: int = 300, refuse: Exception | None = None) -> None:
        self.rows = [row(place) for place in range(jobs)]
        self.refuse = refuse
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def call(self, service: str, method: str, **wanted: Any) -> dict[str, Any]:
        self.asked.append((method, wanted))
        first = int(wanted.get("NextToken", 0))
        page = self.rows[first : first + 100]
        more = {"NextToken": str(first + 100)} if first + 100 < len(self.rows) else {}
        if method == "search":
            if self.refuse:
                raise self.refuse
            return {"Results": [{"TrainingJob": job} for job in page], **more}
        assert method == "list_training_jobs"
        return {"TrainingJobSummaries": page, **more}


def _found(account: Account, **asked: Any) -> Any:
    return find_jobs(account, JobQuery(**{"limit": 300, **asked}))  # type: ignore[arg-type]


def test_three_hundred_jobs_with_all_that_a_row_shows_are_three_calls() -> None:
    account = Account()
    result = _found(account)
    assert (len(result.jobs), len(account.asked), result.more) == (300, 3, False)
    first = result.jobs[0]
    assert (first.instance_type, first.instance_count) == ("ml.g5.12xlarge", 4)
    assert first.tags == {"team": "vision"}
    assert first.started == NOW + timedelta(minutes=5)


def test_what_is_cut_is_said() -> None:
    assert _found(Account(301)).more
    assert _found(Account(100), limit=50).more


@pytest.mark.parametrize(
    ("asked", "filters"),
    [
        ({"status": "Failed"}, [{"Name": "TrainingJobStatus", "Operator": "Equals", "Value": "Failed"}]),
        ({"name_contains": "gpt"}, [{"Name": "TrainingJobName", "Operator": "Contains", "Value": "gpt"}]),
        ({"tag": "team"}, [{"Name": "Tags.team", "Operator": "Exists"}]),
        ({"tag": "team=nlp"}, [{"Name": "Tags.team", "Operator": "Equals", "Value": "nlp"}]),
    ],
)
def test_the_service_filters_what_it_can(asked: dict[str, str], filters: list[dict[str, str]]) -> None:
    account = Account(10)
    _found(account, **asked)
    assert account.asked[0][1]["SearchExpression"] == {"Filters": filters}


@pytest.mark.parametrize(
    ("asked", "jobs"),
    [
        ({"instance_type": "p4d"}, 150),
        ({"tag": "team=vision"}, 100),
        ({"status": "InProgress"}, 40),
        ({"created_after": NOW - timedelta(hours=24)}, 25),
        ({"created_before": NOW - timedelta(hours=289)}, 10),
        ({"name_contains": "job-29"}, 10),
    ],
)
def test_what_comes_back_is_held_against_the_question_again(asked: dict[str, Any], jobs: int) -> None:
    assert len(_found(Account(), **asked).jobs) == jobs


def test_what_is_too_old_is_not_read() -> None:
    account = Account(1000)
    _found(account, created_after=NOW - timedelta(hours=24))
    assert len(account.asked) == 1


def test_without_the_right_to_search_the_list_answers_and_says_what_is_missing() -> None:
    account = Account(refuse=NotAllowed("AWS does not allow sagemaker:Search to ann.", "Have it allowed."))
    result = _found(account)
    assert [method for method, _ in account.asked].count("list_training_jobs") == 3
    assert len(result.jobs) == 300
    assert result.jobs[0].instance_type is None
    (gap,) = result.gaps
    assert "AWS does not allow sagemaker:Search to ann: instance types, tags" in gap.why
    assert gap.remedy == "Have it allowed."


@pytest.mark.parametrize("asked", [{"tag": "team"}, {"instance_type": "p4d"}])
def test_a_filter_that_cannot_be_kept_is_an_error_and_not_everything(asked: dict[str, str]) -> None:
    account = Account(refuse=BadCall("Unknown operation Search.", ""))
    with pytest.raises(CannotDo, match=r"cannot be filtered by tag or instance type.*clear"):
        _found(account, **asked)


def test_who_is_asked_to_slow_down_does_not_ask_otherwise() -> None:
    account = Account(refuse=Throttled("AWS kept throttling requests.", "Wait."))
    with pytest.raises(Throttled):
        _found(account)
    assert len(account.asked) == 1
