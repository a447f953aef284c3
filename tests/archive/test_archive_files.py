"""A job in a folder: whole or not at all, the same after every interruption, by several writers, and without secrets."""

from __future__ import annotations

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import cache
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from monitor.archive import reading as manifests
from monitor.archive.document import report_document
from monitor.archive.layout import FRAMES, TABLES, location_of
from monitor.archive.reading import Archive, Manifest
from monitor.archive.store import FolderStore
from monitor.archive.writing import write
from monitor.errors import BadCall, CannotDo, NoData, NoSuchJob
from monitor.model import Gap, LogCoverage, Price, Report, Run, events_frame, metrics_frame, steps_frame
from monitor.review import report
from monitor.review.reviewer import Masked
from tests import builders
from tests.archive.test_run_files import JOB, _same

NAME = "bert-large-run-3"
MINUTES = timedelta(minutes=1)


def _report(name: str = NAME, after_end: timedelta = 20 * MINUTES, **changes: object) -> Report:
    """A report of two nodes with all three frames, worked out from its run as any report is."""
    built = _built()
    run = replace(built.run, job=replace(built.run.job, name=name, **changes.pop("job", {})))  # type: ignore[arg-type]
    run = replace(run, **changes)  # type: ignore[arg-type]
    if name == NAME and after_end == 20 * MINUTES and run.job == built.job and run.gaps == built.run.gaps:
        return _default()
    return report(run, (built.job.ended or builders.START) + after_end, Price(25.25, "our contract"))


@cache
def _default() -> Report:
    return report(_built().run, (_built().job.ended or builders.START) + 20 * MINUTES, Price(25.25, "our contract"))


@cache
def _built() -> Report:
    names = ("algo-1", "algo-2")
    built = builders.report(
        NAME,
        nodes=builders.nodes_of(2),
        metric_frame=builders.metrics(names, 60, {"gpu_utilization": 80.0, "cpu_utilization": 20.0}),
        step_frame=builders.steps(names, 200, 4.1),
    )
    events = events_frame(
        [
            {
                "timestamp": builders.START,
                "node": "algo-1",
                "rank": 0,
                "kind": "checkpoint",
                "text": "Saved größe=1 日本",
                "stream": f"{NAME}/algo-1-1",
                "line": 7,
            }
        ]
    )
    return replace(built, run=replace(built.run, events=events))


def _read(store: FolderStore, name: str = NAME) -> tuple[Run, Manifest]:
    archive = Archive(store)
    kept = archive.load(archive.find(name))
    return kept.run, kept.manifest


def test_a_run_comes_back_equal_and_so_does_its_report(tmp_path: Path) -> None:
    store, told = FolderStore(tmp_path), _report()
    write(store, told)
    run, manifest = _read(store)
    _same(run, told.run)
    again = report(run, manifest.reviewed_at, manifest.price)
    assert report_document(again) == report_document(told)
    assert again.phases == told.phases
    assert again.findings == told.findings
    assert manifest.is_final


def test_a_run_of_nothing_comes_back_equal(tmp_path: Path) -> None:
    bare = report(Run(JOB, steps_frame(), metrics_frame(), events_frame()), builders.START)
    write(FolderStore(tmp_path), bare)
    run, manifest = _read(FolderStore(tmp_path), JOB.name)
    _same(run, bare.run)
    assert manifest.price is None


def test_columns_have_types_that_every_engine_reads(tmp_path: Path) -> None:
    manifest = write(FolderStore(tmp_path), _report())
    kinds = {
        "text": pa.string(),
        "whole": pa.int64(),
        "number": pa.float64(),
        "yes/no": pa.bool_(),
        "instant": pa.timestamp("us", tz="UTC"),
    }
    assert set(manifest.parts) == {*TABLES, "report"}
    for name, columns in TABLES.items():
        file = parquet.ParquetFile(BytesIO((tmp_path / manifest.parts[name].path).read_bytes()))
        schema = file.schema_arrow
        assert {field.name: field.type for field in schema} == {column: kinds[kind] for column, kind in columns.items()}
        assert schema.metadata == {b"trainwatch.schema": b"1"}
        assert set(file.read()["job_name"].to_pylist()) <= {NAME}
    row = parquet.read_table(tmp_path / manifest.parts["jobs"].path, partitioning=None).to_pylist()[0]
    assert row["schema_version"] == 1
    assert row["created"].tzinfo is not None
    assert json.loads(row["configuration"])["microbatches"] == 8
    assert row["wasted_usd"] == row["overhead_usd"] == pytest.approx(_report().cost.overhead_usd)
    buckets = parquet.read_table(tmp_path / manifest.parts["buckets"].path, partitioning=None).to_pandas()
    assert row["wasted_instance_s"] == buckets[buckets["is_waste"]]["billed_instance_s"].sum()


def test_a_row_from_before_a_column_came_is_read_and_the_column_is_not_known(tmp_path: Path) -> None:
    manifest = write(FolderStore(tmp_path), _report())
    new = ("overhead_usd", "recoverable_usd", "recoverable_usd_per_hour", "recoverable_instance_s")
    before = replace(manifest, row={name: value for name, value in manifest.row.items() if name not in new})
    row = manifests.row_of(manifests.to_bytes(before), "it")
    assert set(row) == set(TABLES["jobs"])
    assert row["overhead_usd"] == row["wasted_usd"] is not None
    assert [row[name] for name in new[1:]] == [None] * 3


class Failing:
    """A folder whose ``after`` next files are written, and no more."""

    def __init__(self, folder: Path, after: int) -> None:
        self._store = FolderStore(folder)
        self.left = after

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def write(self, path: str, data: bytes) -> None:
        if not self.left:
            raise CannotDo("The archive cannot be written: No space left on device.", "Make room.")
        self.left -= 1
        self._store.write(path, data)


FILES = len(TABLES) + 2


@pytest.mark.parametrize("after", range(FILES))
def test_an_interrupted_run_leaves_no_job_and_is_completed_by_the_next(tmp_path: Path, after: int) -> None:
    store = FolderStore(tmp_path)
    with pytest.raises(CannotDo, match="No space"):
        write(Failing(tmp_path, after), _report())  # type: ignore[arg-type]
    with pytest.raises(NoData if after else NoSuchJob, match="started but not completed" if after else "no job"):
        _read(store)
    write(store, _report())
    assert _read(store)[1].is_final


@pytest.mark.parametrize("after", range(1, FILES))
def test_a_job_that_was_being_replaced_never_mixes_two_reviews(tmp_path: Path, after: int) -> None:
    store = FolderStore(tmp_path)
    first = _report(after_end=MINUTES)
    write(store, first)
    shorter = first.run.steps.head(300)
    second = report(replace(first.run, steps=shorter, metrics=first.run.metrics.head(9)), first.reviewed_at + MINUTES)
    with pytest.raises(CannotDo):
        write(Failing(tmp_path, after), second)  # type: ignore[arg-type]
    # Steps come first; until the last of the frames the old ones do not fit together any more.
    with pytest.raises(NoData, match="is incomplete: its steps are not the ones"):
        _read(store)
    write(store, second)
    assert len(_read(store)[0].steps) == 300


def test_many_writers_of_one_job_and_their_readers_agree(tmp_path: Path) -> None:
    told, barrier = _report(), threading.Barrier(8)

    def work(turn: int) -> int:
        # Each looks at another moment.
        later = replace(told, reviewed_at=told.reviewed_at + turn * MINUTES)
        barrier.wait()
        write(FolderStore(tmp_path), later)
        return len(_read(FolderStore(tmp_path))[0].steps)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(work, range(8))) == {len(told.run.steps)}
    _same(_read(FolderStore(tmp_path))[0], told.run)
    assert not list(tmp_path.rglob(".unfinished*"))


def test_writers_of_many_jobs_at_once(tmp_path: Path) -> None:
    told = _report()

    def work(number: int) -> None:
        job = replace(told.run.job, name=f"job-{number}")
        write(FolderStore(tmp_path), replace(told, run=replace(told.run, job=job)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(12)))
    assert {_read(FolderStore(tmp_path), f"job-{number}")[0].job.name for number in range(12)} == {
        f"job-{number}" for number in range(12)
    }


def test_the_same_job_gives_the_same_frames(tmp_path: Path) -> None:
    one, other = (write(FolderStore(tmp_path / name), _report()) for name in "ab")
    assert {name: one.parts[name].sha256 for name in FRAMES} == {name: other.parts[name].sha256 for name in FRAMES}


@pytest.mark.parametrize("table", FRAMES)
@pytest.mark.parametrize("harm", ["gone", "cut", "changed"])
def test_a_damaged_table_is_said_and_not_read(tmp_path: Path, table: str, harm: str) -> None:
    manifest = write(FolderStore(tmp_path), _report())
    path = tmp_path / manifest.parts[table].path
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.unlink() if harm == "gone" else path.write_bytes(data if harm == "changed" else data[:-9])
    with pytest.raises(NoData, match=rf"incomplete: its {table} are.*Archive the job again") as told:
        _read(FolderStore(tmp_path))
    assert ("missing" in told.value.message) == (harm == "gone")
    assert Archive(FolderStore(tmp_path)).broken(manifest) == (table,)


_FILE = manifests.to_bytes(
    Manifest(JOB, builders.START, True, "r", (Gap("logs", "None."),), 60, LogCoverage(), None, (), {}, {"a": 1})
)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(_FILE) - 1), st.integers(1, 255), st.booleans())
def test_one_damaged_byte_of_a_manifest_is_found_or_does_not_matter(place: int, change: int, cut: bool) -> None:
    data = bytearray(_FILE)
    data[place] ^= change
    try:
        found = manifests.from_bytes(bytes(data[:place] if cut else data), "it")
    except NoData:
        return
    assert found == manifests.from_bytes(_FILE, "it")


@pytest.mark.parametrize("schema", [2, 99])
def test_a_newer_archive_is_refused_in_a_sentence_and_not_overwritten(tmp_path: Path, schema: int) -> None:
    write(FolderStore(tmp_path), _report())
    path = tmp_path / location_of(_report().job).run
    path.write_bytes(path.read_bytes().replace(b'{"schema": 1', b'{"schema": %d' % schema, 1))
    with pytest.raises(NoData, match=rf"has version {schema} .* reads version 1\. Use a newer version"):
        _read(FolderStore(tmp_path))
    with pytest.raises(NoData, match="Use a newer version"):
        Archive(FolderStore(tmp_path)).at(location_of(_report().job))


@pytest.mark.parametrize("data", [b"", b"{}", b"null", b'{"schema": 0, "sha256": "", "run": {}}', b"\xff\xfe"])
def test_what_is_no_manifest_is_said(data: bytes) -> None:
    for read in (manifests.from_bytes, manifests.row_of):
        with pytest.raises(NoData, match="Archive the job again"):
            read(data, "it")


@pytest.mark.parametrize(
    ("after_end", "changes", "final"),
    [
        (15 * MINUTES, {}, True),
        (14 * MINUTES, {}, False),
        (60 * MINUTES, {"gaps": (Gap("logs", "AWS is busy.", transient=True),)}, False),
        (60 * MINUTES, {"gaps": (Gap("logs", "Retention took them."),)}, True),
        (60 * MINUTES, {"gaps": (Gap("price", "No list answered.", transient=True),)}, True),
        (60 * MINUTES, {"job": {"status": "InProgress", "ended": None}}, False),
        (60 * MINUTES, {"job": {"status": "Deleting"}}, False),
    ],
)
def test_only_what_would_be_the_same_again_is_final(
    tmp_path: Path, after_end: timedelta, changes: dict[str, object], final: bool
) -> None:
    assert write(FolderStore(tmp_path), _report(after_end=after_end, **changes)).is_final is final


def test_no_secret_reaches_the_disk(tmp_path: Path) -> None:
    secret = "hf_" + "A1b2C3d4" * 4
    told = _report()
    events = told.run.events.assign(text=f"login with HF_TOKEN={secret} at /opt/ml", kind="error")
    logs = replace(told.run.logs, sample=(f"token {secret} #",))
    told = report(Masked()(replace(told.run, events=events, logs=logs)), told.reviewed_at)
    write(FolderStore(tmp_path), told, masked=("hf_token",))
    run, manifest = _read(FolderStore(tmp_path))
    assert run.events["text"].tolist() == ["login with HF_TOKEN=*** at /opt/ml"]
    assert manifest.masked == ("hf_token",)
    for path in tmp_path.rglob("*.*"):
        text = (
            path.read_bytes() if path.suffix == ".json" else str(parquet.ParquetFile(path).read().to_pylist()).encode()
        )
        assert secret.encode() not in text, path


def test_two_jobs_of_one_name_are_told_apart_by_their_arn(tmp_path: Path) -> None:
    arns = [
        f"arn:aws:sagemaker:us-east-1:{account}:training-job/{NAME}" for account in ("111111111111", "222222222222")
    ]
    for arn in arns:
        write(FolderStore(tmp_path), _report(job={"arn": arn}))
    with pytest.raises(BadCall, match=rf"2 jobs named {NAME}: {arns[0]}, {arns[1]}"):
        _read(FolderStore(tmp_path))
    assert [_read(FolderStore(tmp_path), arn)[0].job.arn for arn in arns] == arns


def test_who_types_half_a_name_is_told_the_whole(tmp_path: Path) -> None:
    write(FolderStore(tmp_path), _report())
    with pytest.raises(NoSuchJob, match=f"Did you mean {NAME}"):
        _read(FolderStore(tmp_path), "bert-large")
    with pytest.raises(NoSuchJob, match="List its jobs: jobs --archive"):
        _read(FolderStore(tmp_path), "whisper")


@pytest.mark.parametrize(
    ("obstacle", "words"),
    [("file", "cannot be written: "), ("full", "No space left on device. Name another folder, or free some space.")],
)
def test_a_disk_that_refuses_is_said_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, obstacle: str, words: str
) -> None:
    (tmp_path / "file").write_text("")
    if obstacle == "full":
        monkeypatch.setattr("os.fsync", _no_space)
    with pytest.raises(CannotDo, match=words):
        write(FolderStore(tmp_path / obstacle), _report())
    assert not list(tmp_path.rglob(".unfinished*"))


def _no_space(_: int) -> None:
    raise OSError(28, "No space left on device")


def test_what_a_killed_writer_left_is_no_file_of_the_archive_and_goes(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    path = tmp_path / location_of(_report().job).run
    path.parent.mkdir(parents=True)
    old, new = path.parent / ".unfinished-1-a", path.parent / ".unfinished-2-b"
    for left in (old, new):
        left.write_text("{")
    os.utime(old, (0, 0))
    assert not store.listed("runs/")
    assert not store.holds("runs/")
    write(store, _report())
    assert not old.exists()
    assert new.exists()
