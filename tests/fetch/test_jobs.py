from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from monitor.archive.reading import fields_of, valued
from monitor.aws.clients import Clients
from monitor.errors import BadCall, CannotDo, NoSuchJob, NotAllowed, Unreachable
from monitor.fetch.jobs import describe, job_of, list_jobs, with_instances
from monitor.fetch.source import JobQuery
from monitor.model import Channel, InstanceGroup, Job, JobSummary, Outputs
from tests.aws.fake import REGION, Scripted, answer_with, not_allowed, refusal
from tests.fetch.sample import START, answer, cluster, create_job, job

NAIVE = START.replace(tzinfo=None)


def test_inputs_and_outputs_without_secrets() -> None:
    s3 = {"S3DataType": "S3Prefix", "S3Uri": "s3://data/train?signature=abcdefgh"}
    lustre = {"FileSystemId": "fs-01", "FileSystemType": "FSxLustre", "DirectoryPath": "/fsx/data"}
    efs = {"FileSystemId": "fs-02", "FileSystemType": "EFS", "DirectoryPath": "/data"}
    found = job(
        AlgorithmSpecification={"TrainingInputMode": "Pipe"},
        InputDataConfig=[
            {"ChannelName": "train", "DataSource": {"S3DataSource": s3}, "ContentType": "text/csv"},
            {"ChannelName": "fast", "DataSource": {"S3DataSource": {"S3Uri": "s3://d"}}, "InputMode": "FastFile"},
            {"ChannelName": "lustre", "DataSource": {"FileSystemDataSource": lustre}},
            {"ChannelName": "efs", "DataSource": {"FileSystemDataSource": efs}},
        ],
        OutputDataConfig={"S3OutputPath": "s3://out", "KmsKeyId": "arn:aws:kms:us-east-1:1:key/k"},
        ModelArtifacts={"S3ModelArtifacts": "s3://out/a/output/model.tar.gz"},
        CheckpointConfig={"S3Uri": "s3://out/checkpoints"},
    )
    assert found.channels == (
        Channel("train", "s3://data/train?signature=***", "Pipe", "text/csv"),
        Channel("fast", "s3://d", "FastFile"),
        Channel("lustre", "fsx://fs-01/fsx/data"),
        Channel("efs", "efs://fs-02/data"),
    )
    assert found.outputs == Outputs("s3://out", "s3://out/a/output/model.tar.gz", "s3://out/checkpoints", own_key=True)
    assert valued(Job, fields_of(found)) == found, "an archive keeps them"


def test_homogeneous_job() -> None:
    found = job(
        HyperParameters={"sagemaker_mpi_enabled": "true", "mp_parameters": '{"partitions": 2}', "hf_token": "abc"},
        AlgorithmSpecification={"MetricDefinitions": [{"Name": "loss", "Regex": "loss: (.*)"}]},
        StoppingCondition={"MaxRuntimeInSeconds": 3600},
        EnableManagedSpotTraining=True,
        TrainingTimeInSeconds=3600,
        BillableTimeInSeconds=1200,
        WarmPoolStatus={"Status": "Terminated", "ResourceRetainedBillableTimeInSeconds": 900},
        FailureReason="AlgorithmError: x",
        RoleArn="arn:aws:iam::123456789012:role/service-role/TrainingRole",
    )
    assert found.instance_groups == (InstanceGroup("", "ml.g5.12xlarge", 2),)
    assert (found.instance_type, found.instance_count) == ("ml.g5.12xlarge", 2)
    assert [(node.name, node.gpus, node.vcpus, node.counts_from) for node in found.nodes] == [
        ("algo-1", 4, 48, "table"),
        ("algo-2", 4, 48, "table"),
    ]
    assert (found.launcher, found.smp_version, found.configuration["partitions"].value) == ("mpi", 1, 2)
    assert found.hyperparameters["hf_token"] == "***"
    assert found.metric_definitions == {"loss": "loss: (.*)"}
    assert (found.max_runtime_s, found.training_seconds, found.billable_seconds, found.spot) == (3600, 3600, 1200, True)
    assert (found.warm_pool_billable_seconds, job().warm_pool_billable_seconds) == (900, None)
    assert (found.failure_reason, found.role) == ("AlgorithmError: x", "TrainingRole")
    assert (found.started, found.ended) == (START + timedelta(minutes=3), START + timedelta(minutes=63))


@pytest.mark.parametrize("zone", [None, UTC])
def test_times_are_aware_utc(zone: Any) -> None:
    start = START.replace(tzinfo=zone)
    found = job(
        CreationTime=start,
        SecondaryStatusTransitions=[
            {"Status": "Starting", "StartTime": start, "EndTime": start, "StatusMessage": "Launching"},
            {"Status": "Training", "StartTime": start},
        ],
    )
    assert found.created == START
    assert [(entry.status, entry.start, entry.end) for entry in found.transitions] == [
        ("Starting", START, START),
        ("Training", START, None),
    ]
    assert found.transitions[0].message == "Launching"


def groups(*kinds: tuple[str, str, int]) -> dict[str, Any]:
    rows = [{"InstanceGroupName": name, "InstanceType": kind, "InstanceCount": count} for name, kind, count in kinds]
    return {"InstanceGroups": rows, "VolumeSizeInGB": 1}


@pytest.mark.parametrize(
    ("resources", "names", "kind", "group"),
    [
        (groups(("gpu", "ml.p4d.24xlarge", 2), ("data", "ml.c5n.18xlarge", 1)), 3, None, ""),
        (groups(("a", "ml.p4d.24xlarge", 2), ("b", "ml.p4d.24xlarge", 1)), 3, "ml.p4d.24xlarge", ""),
        (groups(("only", "ml.p4d.24xlarge", 2)), 2, "ml.p4d.24xlarge", "only"),
        (cluster(64, "ml.p5.48xlarge"), 64, "ml.p5.48xlarge", ""),
        (cluster(1, "ml.z9.large"), 1, "ml.z9.large", ""),
        ({"VolumeSizeInGB": 1}, 0, None, ""),
        ({"InstanceCount": 2}, 2, None, ""),
        (None, 0, None, ""),
    ],
)
def test_nodes(resources: dict[str, Any] | None, names: int, kind: str | None, group: str) -> None:
    found = job(ResourceConfig=resources)
    assert found.node_names == tuple(f"algo-{number}" for number in range(1, names + 1))
    assert {node.instance_type for node in found.nodes} <= {kind}
    assert {node.group for node in found.nodes} <= {group}
    assert found.instance_type == kind
    assert found.instance_count == (names or None)


def test_counts_are_known_to_be_zero_or_not_known() -> None:
    assert {node.gpus for node in job(ResourceConfig=cluster(2, "ml.m5.4xlarge")).nodes} == {0}
    unknown = job(ResourceConfig=cluster(1, "ml.z9.large")).nodes[0]
    assert (unknown.gpus, unknown.vcpus, unknown.counts_from) == (None, None, "")


def test_job_that_never_started() -> None:
    given = answer(
        TrainingJobStatus="Failed",
        SecondaryStatus="Failed",
        FailureReason="CapacityError: no capacity",
        SecondaryStatusTransitions=[
            {"Status": "Starting", "StartTime": START, "EndTime": START + timedelta(minutes=9)},
            {"Status": "Failed", "StartTime": START + timedelta(minutes=9), "EndTime": START + timedelta(minutes=10)},
        ],
    )
    del given["TrainingStartTime"], given["TrainingEndTime"]
    found = job_of(given)
    assert found.started is None
    assert found.ended == START + timedelta(minutes=10)
    assert found.training_seconds is None


def test_an_almost_empty_answer_and_new_words() -> None:
    found = job_of({"TrainingJobName": "x", "TrainingJobStatus": "Dreaming", "SecondaryStatus": "Snoring"})
    assert (found.name, found.status, found.secondary_status) == ("x", "Dreaming", "Snoring")
    assert (found.created, found.started, found.ended, found.nodes, found.launcher) == (None, None, None, (), None)


@pytest.mark.parametrize("count", [10**9, 2**31 - 1, 100_001])
@pytest.mark.parametrize("grouped", [False, True])
def test_more_instances_than_any_job_has_are_refused(count: int, grouped: bool) -> None:
    resources: dict[str, Any] = {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": count}
    if grouped:
        resources = {"InstanceGroups": [{"InstanceGroupName": "a", **resources}]}
    with pytest.raises(CannotDo, match=f"said to have {count:,} instances"):
        job_of({"TrainingJobName": "a", "ResourceConfig": resources})


def test_describe_on_an_account(account: Clients) -> None:
    create_job(account, "vit", training_job_status="InProgress", secondary_status="Training", training_end_time=None)
    assert describe(account, "vit").is_running
    assert describe(account, f"arn:aws:sagemaker:{REGION}:123456789012:training-job/vit").name == "vit"
    assert describe(account, "vit").ended is None


def test_no_such_job_names_the_nearest(account: Clients) -> None:
    for name in ("gpt-run-1", "gpt-run-2", "vit-mics-2026-03-01-10-00-00-123", "bert"):
        create_job(account, name)
    for typed, nearest in (("gpt-run1", "'gpt-run-1'"), ("vit-mics", "'vit-mics-2026-03-01-10-00-00-123'")):
        with pytest.raises(NoSuchJob, match=f"Did you mean .*{nearest}") as caught:
            describe(account, typed)
        assert REGION in str(caught.value)
        assert "--region" in caught.value.remedy
        assert "bert" not in str(caught.value)
    with pytest.raises(NoSuchJob) as caught:
        describe(account, "zzz")
    assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "bad name!", "x" * 400, "gpt_run", "ünïcode"])
def test_names_that_no_job_can_have(account: Clients, name: str) -> None:
    with pytest.raises(NoSuchJob):
        describe(account, name)


def test_an_old_job_is_found_by_a_part_of_its_name() -> None:
    newest = [{"TrainingJobName": f"other-{number}", "CreationTime": START} for number in range(300)]

    def listing(**asked: Any) -> dict[str, Any]:
        return {"TrainingJobSummaries": [{"TrainingJobName": "vit-2020"}] if "NameContains" in asked else newest[:100]}

    def describing(**_: Any) -> dict[str, Any]:
        raise BadCall("1 validation error")

    with pytest.raises(NoSuchJob, match="Did you mean 'vit-2020'"):
        describe(Scripted(describe_training_job=describing, list_training_jobs=listing), "vit")


def test_missing_rights(account: Clients) -> None:
    answer_with(account, "sagemaker", (refusal("AccessDeniedException") for _ in range(9)), "DescribeTrainingJob")
    with pytest.raises(NotAllowed, match="sagemaker:DescribeTrainingJob"):
        describe(account, "vit")


def test_no_such_job_without_the_right_to_list(account: Clients) -> None:
    answer_with(account, "sagemaker", (refusal("AccessDeniedException") for _ in range(9)), "ListTrainingJobs")
    with pytest.raises(NoSuchJob, match="no training job 'vit'"):
        describe(account, "vit")


def test_wrong_endpoint_is_not_a_wrong_name() -> None:
    with pytest.raises((BadCall, Unreachable)):
        describe(Clients(REGION, endpoint_url="foo"), "vit")


# --- the list ----------------------------------------------------------------------------------------------------


def fill(account: Clients, count: int) -> list[str]:
    """``count`` jobs, oldest first as moto lists them; every tenth failed. The names, newest first."""
    names = [f"job-{number:03d}" for number in range(count)]
    for number, name in enumerate(names):
        status = "Failed" if number % 10 == 0 else "Completed"
        create_job(account, name, training_job_status=status, creation_time=NAIVE + timedelta(hours=number))
    return names[::-1]


def test_list_is_newest_first_whatever_the_service_does(account: Clients) -> None:
    newest_first = fill(account, 130)

    def listed(**query: Any) -> list[str]:
        return [summary.name for summary in list_jobs(account, JobQuery(**query))]

    assert listed(limit=1000) == newest_first
    assert listed(limit=5) == newest_first[:5]
    assert listed(limit=0) == []
    assert listed(status="failed", limit=3) == ["job-120", "job-110", "job-100"]
    assert listed(name_contains="12", limit=2) == ["job-129", "job-128"]
    assert listed(name_contains="nothing") == []
    assert listed(created_after=START + timedelta(hours=127)) == ["job-129", "job-128"]


def test_summaries(account: Clients) -> None:
    assert list_jobs(account, JobQuery()) == ()
    create_job(account, "vit", creation_time=NAIVE, training_end_time=NAIVE + timedelta(hours=1))
    (summary,) = list_jobs(account, JobQuery())
    assert (summary.name, summary.status) == ("vit", "Completed")
    assert (summary.created, summary.ended) == (START, START + timedelta(hours=1))
    assert (summary.instance_type, summary.instance_count) == (None, None)


def test_unknown_status_is_a_bad_call(account: Clients) -> None:
    with pytest.raises(BadCall, match=r"'Running'.*InProgress"):
        list_jobs(account, JobQuery(status="Running"))


class Service:
    """ListTrainingJobs as AWS has it: sorted, and cut into pages before the status is looked at."""

    def __init__(self, jobs: int, same_second: bool = False) -> None:
        step = timedelta(0) if same_second else timedelta(minutes=5)
        self.rows = [
            {"TrainingJobName": f"job-{n}", "CreationTime": START - n * step, "TrainingJobStatus": "Completed"}
            for n in range(jobs)
        ]
        self.clients = Scripted(list_training_jobs=self.list)

    def list(self, **asked: Any) -> dict[str, Any]:
        assert (asked["SortBy"], asked["SortOrder"]) == ("CreationTime", "Descending")
        start, size = int(asked.get("NextToken", 0)), asked.get("MaxResults", 10)
        page = self.rows[start : start + size]
        if "StatusEquals" in asked:
            page = [row for row in page if row["TrainingJobStatus"] == asked["StatusEquals"]]
        token = {"NextToken": str(start + size)} if start + size < len(self.rows) else {}
        return {"TrainingJobSummaries": page, **token}


@pytest.mark.parametrize(("limit", "calls"), [(20, 1), (100, 1), (101, 2), (250, 3)])
def test_ten_thousand_jobs_are_not_read_for_a_few(limit: int, calls: int) -> None:
    service = Service(10_000)
    found = list_jobs(service.clients, JobQuery(limit=limit))
    assert [summary.name for summary in found] == [f"job-{n}" for n in range(limit)]
    assert len(service.clients.asked) == calls


def test_jobs_created_together_do_not_look_like_disorder() -> None:
    service = Service(10_000, same_second=True)
    for at, row in enumerate(service.rows):
        row["CreationTime"] -= timedelta(milliseconds=at - at % 7)
    list_jobs(service.clients, JobQuery(limit=20))
    assert len(service.clients.asked) == 1


def test_empty_pages_are_not_the_end() -> None:
    service = Service(1000)
    service.rows[555]["TrainingJobStatus"] = "Failed"
    assert [summary.name for summary in list_jobs(service.clients, JobQuery(status="Failed"))] == ["job-555"]


def test_instances_are_filled_once(account: Clients) -> None:
    create_job(account, "one", cluster(8, "ml.p4d.24xlarge"))
    create_job(
        account, "two", {"InstanceGroups": groups(("a", "ml.c5.xlarge", 1), ("b", "ml.g5.xlarge", 2))["InstanceGroups"]}
    )
    summaries = list_jobs(account, JobQuery())
    known: dict[Any, Any] = {}
    for _ in range(2):
        found = {row.name: (row.instance_type, row.instance_count) for row in with_instances(account, summaries, known)}
        assert found == {"one": ("ml.p4d.24xlarge", 8), "two": ("ml.c5.xlarge + ml.g5.xlarge", 3)}
    assert account.bill().calls["DescribeTrainingJob"] == 2


def test_the_start_is_asked_for_until_there_is_one() -> None:
    started: list[datetime | None] = [None, START, START]
    asked: list[str] = []

    def describe(**parameters: Any) -> dict[str, Any]:
        asked.append(parameters["TrainingJobName"])
        at = started[len(asked) - 1]
        return {"ResourceConfig": {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 2}} | (
            {"TrainingStartTime": at} if at else {}
        )

    clients = Scripted(describe_training_job=describe)
    row, known = JobSummary("one", "InProgress", START), {}  # type: ignore[var-annotated]
    seen = [with_instances(clients, [row], known)[0] for _ in range(3)]
    assert [found.started for found in seen] == [None, START, START]
    assert [found.instance_count for found in seen] == [2, 2, 2]
    assert len(asked) == 2


def test_instances_stay_unknown_where_they_may_not_be_read() -> None:
    clients = Scripted(
        list_training_jobs=Service(3).list, describe_training_job=not_allowed("sagemaker:DescribeTrainingJob")
    )
    rows = with_instances(clients, list_jobs(clients, JobQuery()))
    assert [(row.name, row.instance_type) for row in rows] == [("job-0", None), ("job-1", None), ("job-2", None)]
    assert with_instances(clients, ()) == ()


def test_datetimes_of_moto_are_utc(account: Clients) -> None:
    create_job(account, "vit")
    assert abs(datetime.now(UTC) - describe(account, "vit").created) < timedelta(minutes=1)
