"""The Jobs page over a whole account: few calls, what is at stake, tags and time, states of refusal, names of others."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from monitor.charts.sparkline import picture
from monitor.errors import NotAllowed, Throttled, TrainwatchError
from monitor.fetch.account import AwsSource
from monitor.fetch.source import JobQuery
from monitor.model import ApiBill, JobSummary
from monitor.review import Snapshot
from monitor.show import data
from monitor.show.jobs import query as jobs_query
from monitor.show.jobs.table import by_urgency
from tests import situations
from tests.aws.fake import offline
from tests.pages.conftest import Open, jobs_page
from tests.pages.fake import FakeAccount, grid, texts

__all__ = ["offline"]
pytestmark = pytest.mark.usefixtures("offline")


class Calls:
    """The seam to AWS: an account of so many jobs, forty of them running; every call is kept, some are refused."""

    region = "us-east-1"

    def __init__(self, jobs: int = 300, **refused: TrainwatchError) -> None:
        self.now = datetime.now(UTC)
        self.jobs = [self._job(place) for place in range(jobs)]
        self.refused = refused
        self.made: list[str] = []

    def _job(self, place: int) -> dict[str, Any]:
        created = self.now - timedelta(minutes=20 * place + 1)
        return {
            "TrainingJobName": f"gpt-run-{place:03d}",
            "TrainingJobStatus": "InProgress" if place < 40 else "Completed",
            "CreationTime": created,
            "TrainingStartTime": created,
            **({} if place < 40 else {"TrainingEndTime": created + timedelta(minutes=30)}),
            "ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 8},
            "Tags": [{"Key": "team", "Value": "nlp" if place % 2 else "vision"}],
        }

    def call(self, service: str, method: str, **wanted: Any) -> dict[str, Any]:
        self.made.append(method)
        if method in self.refused:
            raise self.refused[method]
        if method == "get_metric_data":
            times = [self.now - timedelta(minutes=5 * place) for place in (3, 2, 1)]
            results = [
                {"Id": query["Id"], "Timestamps": times, "Values": [400.0, 480.0, 560.0], "StatusCode": "Complete"}
                for query in wanted["MetricDataQueries"]
            ]
            return {"MetricDataResults": results}
        first = int(wanted.get("NextToken", 0))
        more = {"NextToken": str(first + 100)} if first + 100 < len(self.jobs) else {}
        page = self.jobs[first : first + 100]
        if method == "search":
            return {"Results": [{"TrainingJob": job} for job in page], **more}
        assert method == "list_training_jobs", method
        return {"TrainingJobSummaries": page, **more}

    def client(self, service: str) -> None:
        return None

    def bill(self) -> ApiBill:
        return ApiBill({"Search": 3, "GetMetricData": 2}, 0.0064)

    def account_label(self) -> str:
        return "123456789012"

    def endpoint(self, service: str = "sagemaker") -> str:
        return "https://api.sagemaker.us-east-1.amazonaws.com"


class Unreviewed:
    """Reviews that are still to come, so that what is shown comes from the list and the metrics alone."""

    def snapshot(self, name: str, urgency: int = 0) -> Snapshot:
        return Snapshot(working=True, progress="waiting for its turn")


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> Any:
    def open_(calls: Calls, **parameters: str) -> AppTest:
        monkeypatch.setattr(data, "connect", lambda _: AwsSource(calls))  # type: ignore[arg-type]
        monkeypatch.setattr(data, "observe", lambda _: Unreviewed())
        return jobs_page(30, **parameters)

    return open_


def test_three_hundred_jobs_need_at_most_ten_calls_to_show(board: Any) -> None:
    calls = Calls()
    page = board(calls)
    assert len(calls.made) <= 10, calls.made
    table = grid(page)
    assert len(table) == 300
    running = table[table["status"] == "running"]
    assert len(running) == 40
    assert running["gpu_pct"].tolist() == ["60 %"] * 40
    assert picture([50.0, 60.0, 70.0]) in page.get("bidi_component")[0].proto.json
    assert set(table["instances"]) == {"8 × p4d.24xlarge"}
    assert table["stands_out"].iloc[-1] == "not reviewed yet"
    assert "healthy" not in set(table["stands_out"])
    assert "5 calls to AWS, about $0.006" in texts(page)
    before = len(calls.made)
    page.run()
    assert len(calls.made) == before


def test_the_cost_of_running_jobs_is_unknown_and_not_nothing_without_a_price(board: Any) -> None:
    tile = next(metric for metric in board(Calls(50)).metric if metric.label == "Cost / h")
    assert tile.value == "–"
    assert tile.proto.delta_description == "for 0 of 40 running"
    assert "No price yet for 40 running jobs (p4d.24xlarge)." in tile.help


@pytest.mark.parametrize(
    ("parameters", "jobs"),
    [
        ({"tag": "team=nlp"}, 150),
        ({"tag": "owner"}, 0),
        ({"instance": "p4d", "status": "InProgress"}, 40),
        ({"created": "1h"}, 3),
        ({"from": "2020-01-01", "until": "2020-01-31"}, 0),
        ({"search": "run-29"}, 10),
    ],
)
def test_filters_of_the_address_hold(board: Any, parameters: dict[str, str], jobs: int) -> None:
    page = board(Calls(), **parameters)
    if jobs:
        assert abs(len(grid(page)) - jobs) <= 1
    else:
        assert "No job matches these filters." in texts(page)
    page.button(key="clear-filters").click().run()
    assert len(grid(page)) == 300
    assert not set(parameters) & set(page.query_params)


def test_more_jobs_than_are_listed_are_said_and_can_be_had(board: Any) -> None:
    page = board(Calls(450))
    assert "The newest 300 jobs; more match" in texts(page)
    next(button for button in page.button if button.label.startswith("List 300 more")).click().run()
    assert len(grid(page)) == 450


DENIED = NotAllowed("AWS does not allow this to ann.", "Have it allowed.")


@pytest.mark.parametrize(
    ("refused", "rows", "said"),
    [
        ({"search": DENIED}, 30, "AWS does not allow this to ann: instance types, tags and the figures"),
        ({"get_metric_data": DENIED}, 30, "AWS does not allow this to ann. Have it allowed."),
        ({"search": DENIED, "list_training_jobs": DENIED}, 0, "AWS does not allow this to ann. Have it allowed."),
        ({"search": Throttled("AWS kept throttling requests.", "Wait a minute.")}, 0, "AWS is throttling requests"),
    ],
)
def test_what_is_refused_is_said_beside_what_is_not(
    board: Any, refused: dict[str, TrainwatchError], rows: int, said: str
) -> None:
    page = board(Calls(30, **refused))
    assert said in texts(page)
    assert len(grid(page)) == rows


def test_what_runs_and_what_failed_today_is_reviewed_first() -> None:
    now = datetime(2026, 9, 25, tzinfo=UTC)
    old = [JobSummary(f"done-{place}", "Completed", now - timedelta(hours=place)) for place in range(40)]
    failed = JobSummary("failed", "Failed", now - timedelta(hours=20), now - timedelta(hours=19))
    long_ago = JobSummary("failed-long-ago", "Failed", now - timedelta(days=9), now - timedelta(days=8))
    runs = JobSummary("runs", "InProgress", now - timedelta(days=12))
    chosen = [job.name for job in by_urgency((*old, failed, long_ago, runs), now)]
    assert chosen[:3] == ["runs", "failed", "done-0"]
    assert chosen[-1] == "failed-long-ago"


def test_rows_change_places_once_when_reviews_are_in_and_again_only_when_asked(open_page: Open) -> None:
    healthy, failed = situations.healthy(), situations.failed()
    account = FakeAccount((healthy, failed))
    page = open_page(account)
    names = [failed.job.name, healthy.job.name]
    assert grid(page)["name"].tolist() == names
    low = situations.low_utilization(healthy.job.name)
    low = replace(low, cost=replace(low.cost, recoverable_usd=9000.0))
    account.reports = (low, replace(healthy, run=replace(healthy.run, job=failed.job)))
    data._listing.clear()
    page.run()
    assert grid(page)["name"].tolist() == names
    next(button for button in page.button if button.label == "Re-sort, worst first").click().run()
    assert grid(page)["name"].tolist() == names[::-1]


def test_a_running_job_says_what_it_costs(open_page: Open) -> None:
    page = open_page(FakeAccount((situations.running(),)))
    figures = {metric.label: metric.value for metric in page.metric}
    row = grid(page).iloc[0]
    assert figures["Running"] == "1"
    assert figures["Cost / h"] == "$131.08"
    assert figures["Overhead so far"] == "$40.10"
    assert row["cost_usd"] == "$98.30"
    assert row["step_time"].startswith("4.10 s ±")
    told = page.get("bidi_component")[0].proto.json
    assert b64decode(told.split("base64,")[1].split('"')[0]).count(b"L") > 5


@pytest.mark.parametrize("evil", ["![x](http://a.example/b.png)", "<script>alert(1)</script>", ":material/x: $math$"])
def test_names_tags_and_filters_of_others_stay_text(board: Any, evil: str) -> None:
    calls = Calls(2)
    calls.jobs[0]["Tags"] = [{"Key": evil, "Value": evil}]
    calls.jobs[0]["TrainingJobName"] = evil
    page = board(calls, search=evil[:5], tag=evil)
    for kind in ("markdown", "caption", "info", "warning", "error", "title"):
        for element in page.get(kind):
            assert evil not in str(element.value)


def test_a_query_of_the_last_hour_stays_the_same_for_a_while() -> None:
    at = datetime(2026, 9, 25, 12, 1, tzinfo=UTC)
    asked = jobs_query.JobFilter(created="1h")
    assert asked.query(at, 300) == asked.query(at + timedelta(minutes=3), 300)
    assert asked.query(at, 300) == JobQuery(created_after=datetime(2026, 9, 25, 11, tzinfo=UTC), limit=300)
