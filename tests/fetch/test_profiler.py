"""What a job's profiler left in its bucket is found from the job itself, read in part, billed, and kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from monitor.archive.cache import Cache
from monitor.archive.document import report_document
from monitor.archive.store import FolderStore
from monitor.aws.clients import Clients
from monitor.demo.measurements import Sampled, key_of, minute
from monitor.errors import NoData, NotAllowed
from monitor.fetch.account import AwsSource
from monitor.fetch.metrics.profiler import FolderMinutes
from monitor.model import Report
from monitor.review import Reviewer
from monitor.review.archived import ArchiveSource
from monitor.review.archiving import Archiver, ArchiveRequest
from tests.aws.fake import answer_with, reply
from tests.fetch.sample import cluster, create_job

_START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
_NOW = _START + timedelta(hours=3)
_BUCKET = "training-output"


def _host(slow: int | None = None, gpus: int = 4, samples: int = 120) -> Sampled:
    busy = np.full((samples, gpus), 96.0)
    if slow is not None:
        busy[:, slow] = 41.0
    cores = np.full((samples, 48), 20.0)
    return Sampled(busy, np.full((samples, gpus), 55.0), cores, cores / 10)


@pytest.fixture
def bucket(account: Clients) -> Any:
    made = account.client("s3")
    made.create_bucket(Bucket=_BUCKET)
    return made


def _job(account: Clients, minutes: int = 30, **attributes: Any) -> None:
    end = _START + timedelta(minutes=minutes)
    create_job(
        account,
        "vit",
        cluster(2),
        training_job_status="Completed",
        creation_time=_START - timedelta(minutes=3),
        training_start_time=_START,
        training_end_time=end,
        secondary_status_transitions=[
            {"Status": "Training", "StartTime": _START.replace(tzinfo=None), "EndTime": end.replace(tzinfo=None)}
        ],
        **attributes,
    )


def _profiled(account: Clients, **attributes: Any) -> None:
    _job(account, profiler_config={"S3OutputPath": f"s3://{_BUCKET}/runs/", **attributes})


def _fill(bucket: Any, minutes: int = 30, hours: bool = True, behind: bytes = b"") -> None:
    """Both nodes' objects, one in which the third GPU of algo-2 is slow; ``behind`` stands at the end of each of algo-1."""
    for at in range(minutes):
        begins = int(_START.timestamp()) + 60 * at
        for node, slow, more in (("algo-1", None, behind), ("algo-2", 2, b"")):
            data = minute(node, begins, _host(slow, samples=12)) + more
            bucket.put_object(Bucket=_BUCKET, Key=key_of("runs", "vit", node, begins, hours), Body=data)
    bucket.put_object(Bucket=_BUCKET, Key="runs/vit/profiler-output/system/training_job_end.ts", Body=b"")


def _review(account: Clients, **options: Any) -> Report:
    return Reviewer(AwsSource(account), "vit", **options).review(_NOW)


@pytest.mark.parametrize("hours", [True, False])
def test_each_gpu_of_a_node_has_its_figures(account: Clients, bucket: Any, hours: bool) -> None:
    _profiled(account)
    _fill(bucket, hours=hours)
    report = _review(account)
    one, two = report.nodes
    assert [gpu.utilization.mean for gpu in two.gpus if gpu.utilization] == [96.0, 96.0, 41.0, 96.0]
    assert [gpu.memory_max_pct for gpu in one.gpus] == [55.0] * 4
    document = report_document(report)
    assert document["nodes"][1]["gpus"][2]["gpu_utilization"]["mean"] == 41.0
    read = report.run.profiler
    assert read is not None
    assert read.objects == document["coverage"]["profiler"]["objects"] > 10
    assert read.size_bytes > 0
    calls = report.api.calls
    assert calls["ListObjectsV2"] == 1
    assert calls["GetObject"] == read.objects
    assert read.usd == pytest.approx(0.005 / 1000 + read.objects * 0.0004 / 1000)
    assert report.api.estimated_usd >= read.usd


@pytest.mark.parametrize(
    "said", [{}, {"profiler_config": {"DisableProfiler": True, "S3OutputPath": f"s3://{_BUCKET}/runs"}}]
)
def test_a_job_without_a_profiler_costs_no_call(account: Clients, said: dict[str, Any]) -> None:
    _job(account, **said)
    report = _review(account)
    assert not {"ListObjectsV2", "GetObject"} & report.api.calls.keys()
    assert report.run.profiler is None
    assert [gap for gap in report.gaps if gap.what == "profiler"] == []
    assert report_document(report)["nodes"][0]["gpus"] == []


def test_nobody_reads_it_who_does_not_want_to(account: Clients, bucket: Any) -> None:
    _profiled(account)
    _fill(bucket)
    assert not {"ListObjectsV2", "GetObject"} & _review(account, profiler=False).api.calls.keys()


def test_an_output_that_was_emptied_is_a_gap_after_one_call(account: Clients, bucket: Any) -> None:
    _profiled(account)
    report = _review(account)
    assert report.api.calls["ListObjectsV2"] == 1
    (gap,) = (gap for gap in report.gaps if gap.what == "profiler")
    assert "holds none of the minutes" in gap.why
    assert not gap.transient


def test_an_address_that_is_none_is_a_gap(account: Clients) -> None:
    _job(account, profiler_config={"S3OutputPath": "s3://No_Bucket/x"})
    (gap,) = (gap for gap in _review(account).gaps if gap.what == "profiler")
    assert "not the address of a bucket" in gap.why


def test_a_bucket_that_is_gone_is_a_gap(account: Clients) -> None:
    _profiled(account)
    (gap,) = (gap for gap in _review(account).gaps if gap.what == "profiler")
    assert f"no bucket {_BUCKET}" in gap.why


def test_a_right_that_is_missing_is_a_gap_that_names_it_and_all_else_is_said(account: Clients, bucket: Any) -> None:
    _profiled(account)
    denied = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
    answer_with(account, "s3", [reply(denied, 403)] * 9)
    report = _review(account)
    (gap,) = (gap for gap in report.gaps if gap.what == "profiler")
    assert gap.action == "s3:ListBucket"
    assert gap.arn == f"arn:aws:s3:::{_BUCKET}"
    assert report.run.profiler is None
    assert report.nodes


def test_a_finished_job_is_kept_with_it_and_what_was_refused_is_asked_for_again(
    account: Clients, bucket: Any, tmp_path: Path
) -> None:
    _profiled(account)
    _fill(bucket)
    cache = Cache(tmp_path / "jobs", 1 << 30, "1")

    def refuse(**_: Any) -> None:
        raise NotAllowed("AWS does not allow it.", "Have it allowed.", "s3:ListBucket")

    events = account.client("s3").meta.events
    events.register_first("before-send.*", refuse)
    assert _review(account, cache=cache).run.profiler is None
    events.unregister("before-send.*", refuse)
    second = _review(account, cache=cache)
    assert second.kept_at is not None
    assert second.run.profiler is not None
    assert len(second.run.gpus)
    assert [gap for gap in second.gaps if gap.what == "profiler"] == []
    third = _review(account, cache=cache)
    assert not {"ListObjectsV2", "GetObject"} & third.api.calls.keys()
    assert third.run.profiler == second.run.profiler
    assert third.run.gpus.equals(second.run.gpus)


def test_a_copied_folder_serves_as_well(account: Clients, tmp_path: Path) -> None:
    _job(account)
    for at in range(30):
        begins = int(_START.timestamp()) + 60 * at
        path = tmp_path / "copied" / f"{begins}.algo-2.json"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(minute("algo-2", begins, _host(2, samples=12)))
    report = _review(account, minutes=FolderMinutes(tmp_path / "copied"))
    assert [gpu.utilization.mean for gpu in report.nodes[1].gpus if gpu.utilization] == [96.0, 96.0, 41.0, 96.0]
    assert report.nodes[0].gpus == ()
    assert not {"ListObjectsV2", "GetObject"} & report.api.calls.keys()


def test_a_folder_without_such_files_is_said(tmp_path: Path) -> None:
    (tmp_path / "readme.json").touch()
    with pytest.raises(NoData, match="holds no profiler output"):
        FolderMinutes(tmp_path)


def test_damaged_lines_are_counted(account: Clients, bucket: Any) -> None:
    _profiled(account)
    _fill(bucket, behind=b'{"Type":"gpu","Na')
    read = _review(account).run.profiler
    assert read is not None
    assert read.skipped_lines == read.objects // 2


def test_a_job_that_is_archived_keeps_it(account: Clients, bucket: Any, tmp_path: Path) -> None:
    _profiled(account)
    _fill(bucket)
    store = FolderStore(tmp_path)
    outcome = Archiver(store).archive(ArchiveRequest(AwsSource(account), "vit"), _NOW)
    assert outcome.state == "archived"
    kept = Reviewer(ArchiveSource(store), "vit").review(_NOW)
    assert [gpu.utilization.mean for gpu in kept.nodes[1].gpus if gpu.utilization] == [96.0, 96.0, 41.0, 96.0]
    assert kept.run.profiler is not None


def test_the_listing_of_a_long_job_stays_short(account: Clients, bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monitor.aws.bucket._PAGE", 20)
    _profiled(account)
    _fill(bucket)
    report = _review(account)
    assert 2 <= report.api.calls["ListObjectsV2"] <= 22
    assert all(node.gpus for node in report.nodes)
