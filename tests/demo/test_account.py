"""The account as any boto3 program sees it: jobs, logs and metrics of every story."""

from __future__ import annotations

import re
import socket
import time
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from monitor.demo.stories import STORIES
from monitor.demo.story import HARDWARE, NoCapacity, Story
from tests.demo.seen import NOW, OLD, Seen

every_story = pytest.mark.parametrize("story", STORIES, ids=[f"{n}-{s.base_name}" for n, s in enumerate(STORIES)])


def test_all_jobs_are_listed_newest_first(seen: Seen) -> None:
    rows = seen.sagemaker.list_training_jobs(SortBy="CreationTime", SortOrder="Descending")["TrainingJobSummaries"]
    assert [row["TrainingJobName"] for row in rows] == [job.name for job in seen.account.jobs]
    assert [row["CreationTime"] for row in rows] == sorted((row["CreationTime"] for row in rows), reverse=True)
    running = [row for row in rows if row["TrainingJobStatus"] == "InProgress"]
    assert len(running) == 2
    assert all("TrainingEndTime" not in row for row in running)


def test_filters_by_status_and_time_work(seen: Seen) -> None:
    failed = seen.sagemaker.list_training_jobs(StatusEquals="Failed")["TrainingJobSummaries"]
    recent = seen.sagemaker.list_training_jobs(CreationTimeAfter=NOW - timedelta(days=1))["TrainingJobSummaries"]
    assert {row["TrainingJobName"].rsplit("-20", 1)[0] for row in failed} == {"gptj-6b-smp", "llama2-70b-pretrain"}
    assert len(recent) == 5


@pytest.mark.parametrize("asked", [{"Operator": "Exists"}, {"Operator": "Equals", "Value": "gpt2"}], ids=str)
def test_jobs_are_found_by_their_tags(seen: Seen, asked: dict[str, str]) -> None:
    def names(key: str) -> list[str]:
        expression = {"Filters": [{"Name": f"Tags.{key}", **asked}]}
        rows = seen.sagemaker.search(Resource="TrainingJob", SearchExpression=expression)["Results"]
        return [row["TrainingJob"]["TrainingJobName"] for row in rows]

    wanted = [job.name for job in seen.account.jobs if job.name.startswith("gpt2-") or asked["Operator"] == "Exists"]
    assert sorted(names("project")) == sorted(wanted)
    assert names("owner") == []


@every_story
def test_describe_tells_a_consistent_job(seen: Seen, story: Story) -> None:
    answer = seen.describe(story)
    name = answer["TrainingJobName"]
    assert re.fullmatch(rf"{story.base_name}-\d{{4}}(-\d\d){{5}}-\d{{3}}", name)
    assert len(name) <= 63
    assert answer["TrainingJobArn"].endswith(f":123456789012:training-job/{name}")
    moments = [(t["StartTime"], t.get("EndTime")) for t in answer["SecondaryStatusTransitions"]]
    assert all(end == begin for (_, end), (begin, _) in pairwise(moments))
    assert answer["SecondaryStatusTransitions"][-1]["Status"] == answer["SecondaryStatus"]
    assert moments[0][0] == answer["CreationTime"] <= NOW
    assert all(isinstance(value, str) for value in answer["HyperParameters"].values())
    if answer["TrainingJobStatus"] == "InProgress":
        assert moments[-1][1] is None
        assert "TrainingEndTime" not in answer
        assert "BillableTimeInSeconds" not in answer
    else:
        assert answer["TrainingEndTime"] <= NOW
    # moto makes these up for every job.
    assert "test:dcg" not in str(answer)
    assert "FinalMetricDataList" not in answer


@every_story
def test_streams_are_named_as_sagemaker_names_them(seen: Seen, story: Story) -> None:
    job = seen.job(story)
    streams = seen.streams(story)
    assert len(streams) == len(story.nodes) * len(job.attempts)
    pattern = re.compile(rf"{job.name}/(algo-\d+)-(\d{{10}})")
    assert {pattern.fullmatch(name)[1] for name in streams} == (set() if not streams else set(story.nodes))  # type: ignore[index]


@every_story
def test_logs_lie_within_the_job_and_end_by_now(seen: Seen, story: Story) -> None:
    job = seen.job(story)
    if isinstance(story.fault, NoCapacity):
        return
    times = [at for node in story.nodes for at, _ in seen.events(story, node)]
    assert job.attempts[0].began <= min(times)
    assert max(times) <= (job.ended or NOW)


@every_story
def test_metrics_are_host_sums_within_bounds(seen: Seen, story: Story) -> None:
    job = seen.job(story)
    for (node, metric), values in seen.metrics(story).items():
        hardware = HARDWARE[story.group(node).instance_type]
        devices = hardware.vcpus if metric.startswith("CPU") else hardware.gpus if metric.startswith("GPU") else 1
        if isinstance(story.fault, NoCapacity) or devices == 0:
            assert not values
            continue
        assert values
        assert all(0 <= value <= 100 * devices for value in values.values())
        assert job.attempts[0].began - timedelta(minutes=5) < min(values)
        assert max(values) <= (job.ended or NOW)
        step = timedelta(minutes=5 if NOW - job.created > OLD else 1)
        assert {later - earlier for earlier, later in pairwise(sorted(values))} >= {step}


@every_story
def test_one_get_metric_data_of_a_job_is_quick_on_moto(seen: Seen, story: Story) -> None:
    before = time.perf_counter()
    seen.ask_metrics(story)
    assert time.perf_counter() - before < 10


def test_finished_jobs_do_not_overlap_in_time(seen: Seen) -> None:
    # moto looks at every datum of the window for every minute of every query.
    spans = sorted((job.created, job.ended) for job in seen.account.jobs if job.ended is not None)
    assert all(ended < created for (_, ended), (created, _) in pairwise(spans))


def test_the_finished_jobs_reach_back_past_the_end_of_fine_metrics(seen: Seen) -> None:
    assert sum(NOW - job.created > OLD for job in seen.account.jobs) == 2
    assert all(NOW - job.created < timedelta(days=40) for job in seen.account.jobs)


def test_a_stopped_account_is_gone_and_stopping_twice_is_harmless(seen: Seen) -> None:
    # Last in this file: moto's state is one a process, and this ends it.
    folder = Path(seen.account.environment["XDG_CONFIG_HOME"])
    address = urlsplit(seen.account.endpoint_url)
    assert folder.is_dir()
    seen.account.stop()
    seen.account.stop()
    assert not folder.exists()
    with socket.socket() as probe:
        assert probe.connect_ex((str(address.hostname), address.port or 0)) != 0
