"""Exported logs into an archive: as AWS itself would have told, each job once, and only what is new."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import boto3
import pandas as pd
import pytest
from moto import mock_aws

from benchmarks.account import Account, Job, streams_of
from benchmarks.account.exported import describe, export, subscribe
from monitor.archive.layout import RUNS
from monitor.archive.reading import Archive, Manifest, from_bytes
from monitor.archive.store import FolderStore, store_of
from monitor.cli.main import main
from monitor.errors import BadCall
from monitor.fetch.exports.job import ExportedJob, answer_of, descriptions
from monitor.fetch.exports.records import FolderObjects
from monitor.fetch.jobs import job_of
from monitor.model import Job as Described
from monitor.model import LogPage
from monitor.review import Reviewer
from monitor.review.exported import Reviewed, ReviewRequest, reviewed
from monitor.review.exported_tasks import LOST, Local, Reach
from monitor.settings import Settings
from tests.exports.strange import strange
from tests.fleet.test_facts_of_an_archive import put

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
PRICES = Settings(prices={"ml.p4d.24xlarge": 36.0})
LINES = 20.0


def job(name: str, hours: float, **more: Any) -> Job:
    begun = round((NOW - timedelta(hours=hours)).timestamp() * 1000)
    return Job(name=name, started_ms=begun, **{"minutes": 20.0, "lines_per_minute": LINES, **more})


ONE = job("gpt-1", 30, nodes=2, disorder_ms=3000, restarts=(9.0,))
TWO = job("gpt-2", 20, status="Failed", failure_reason="AlgorithmError: ExecuteUserScriptError: exit code 1")
THREE = job("gpt-3", 10)


def account(*jobs: Job, number: str = "123456789012") -> Account:
    return Account(jobs=jobs, number=number, now_ms=round(NOW.timestamp() * 1000))


class Place:
    """The folders of one review."""

    def __init__(self, folder: Path) -> None:
        self.logs, self.described, self.work = folder / "logs", folder / "described", folder / "work"
        self.store = FolderStore(folder / "archive")

    def review(self, described: bool = True, settings: Settings = PRICES, engine: Any = None) -> Reviewed:
        ask = ReviewRequest(
            (str(self.logs),), Reach(self.store.label, str(self.work)), settings, NOW,
            str(self.described) if described else None,
        )  # fmt: skip
        return reviewed(ask, self.store, FolderStore(self.work), engine or Local(1))

    def records(self) -> dict[str, Manifest]:
        found = [from_bytes(self.store.read(path) or b"", path) for path in self.store.listed(RUNS)]
        assert len({each.job.name for each in found}) == len(found), "each job is there once"
        return {each.job.name: each for each in found}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@mock_aws
def test_logs_descriptions_and_archive_may_all_be_in_a_bucket(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("AWS_ACCESS_KEY_ID", "x"), ("AWS_SECRET_ACCESS_KEY", "x"), ("AWS_REGION", "us-east-1")):
        monkeypatch.setenv(name, text)
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    export(account(THREE), place.logs)
    subscribe(account(TWO), place.logs)
    describe(account(TWO, THREE), place.logs / "described")
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket="my-bucket")
    for path in place.logs.rglob("*"):
        if path.is_file():
            s3.upload_file(str(path), "my-bucket", f"exported/{path.relative_to(place.logs)}")
    root, work = "s3://my-bucket/kept/archive", "s3://my-bucket/kept/work"
    ask = ReviewRequest(("s3://my-bucket/exported",), Reach(root, work), PRICES, NOW)
    archive = store_of(root)
    for states in ({"archived": 2}, {"unchanged": 2}):
        found = reviewed(ask, archive, store_of(work), Local(1))
        assert (found.states, found.undescribed, found.troubles) == (states, 0, ())
    # What is missing in the archive is read again.
    kept = from_bytes(archive.read(next(path for path in archive.listed(RUNS) if "gpt-2" in path)) or b"", "")
    for part in ("findings", "events"):
        archive.remove(kept.parts[part].path)
    assert {each.name: each.state for each in reviewed(ask, archive, store_of(work), Local(1)).jobs} == {
        "gpt-2": "archived", "gpt-3": "unchanged",
    }  # fmt: skip


class Direct:
    """The stub's job as AWS tells it: its pages come as they were written."""

    def __init__(self, told: Job) -> None:
        self._of = account(told)

    def logs(self, job: Described) -> Any:
        return self

    gaps: tuple[()] = ()
    numbering: Mapping[str, None] = MappingProxyType({})
    progress = None

    def newest(self) -> Sequence[LogPage]:
        return ()

    def read(self) -> Sequence[LogPage]:
        return [
            LogPage.of(each.name, each.name.rpartition("/")[2].rpartition("-")[0], 1, each.texts(), tuple(each.times.tolist()))
            for each in streams_of(self._of)
        ]  # fmt: skip


def direct(told: Job, described: Path) -> ExportedJob:
    (answer,) = descriptions((described / f"{told.name}.json").read_bytes())
    source = ExportedJob(told.name, lambda: iter(()), "", answer)
    source.logs = Direct(told).logs  # type: ignore[method-assign, assignment]
    return source


@pytest.mark.parametrize("way", ["export", "subscription"])
def test_a_job_is_reviewed_as_if_aws_had_told_it(place: Place, way: str) -> None:
    if way == "export":
        border = ONE.started_ms + 300_000
        # Of two exports that overlap by a minute, in objects of ten lines.
        export(account(ONE), place.logs, "first", until_ms=border + 60_000, lines=10)
        export(account(ONE), place.logs, "second", since_ms=border, lines=10)
    else:
        subscribe(account(ONE), place.logs, events=100, again=0.4, packed=True)
    describe(account(ONE), place.described)
    (answer,) = place.review().jobs
    assert (answer.state, answer.error, answer.described) == ("archived", "", True)
    run = Archive(place.store).load(place.records()["gpt-1"]).run
    theirs = Reviewer(direct(ONE, place.described), "gpt-1", PRICES).review(NOW).run
    assert len(run.steps) > 50
    pd.testing.assert_frame_equal(run.steps, theirs.steps)
    pd.testing.assert_frame_equal(run.events, theirs.events)
    assert run.job == theirs.job
    assert run.logs == theirs.logs


def test_a_second_review_reads_nothing_and_new_objects_cost_their_jobs_alone(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(account(ONE), place.logs)
    subscribe(account(TWO, THREE), place.logs, events=500)
    describe(account(ONE, TWO, THREE), place.described)
    assert place.review().states == {"archived": 3}
    opened: list[str] = []
    real = FolderObjects.opened

    def watched(objects: FolderObjects, path: str) -> Any:
        if objects.label == str(place.logs):
            opened.append(path)
        return real(objects, path)

    monkeypatch.setattr(FolderObjects, "opened", watched)
    again = place.review()
    assert (again.states, again.events, opened) == ({"unchanged": 3}, 0, [])
    # The rest of one job is exported: it alone is read again, whole.
    export(account(replace(TWO, started_ms=TWO.started_ms + 1_200_000, minutes=2.0)), place.logs, "later")
    assert {each.name: each.state for each in place.review().jobs} == {
        "gpt-1": "unchanged", "gpt-2": "archived", "gpt-3": "unchanged",
    }  # fmt: skip
    assert [path.split("/")[0] for path in opened] == ["later"]
    # A price that was not known makes nothing be read.
    opened.clear()
    unpriced = Place(place.logs.parent / "other")
    unpriced.logs, unpriced.described = place.logs, place.described
    unpriced.review(settings=Settings())
    opened.clear()
    assert unpriced.review().states == {"archived": 3}
    assert opened == []
    assert {each.row["price_usd_per_instance_hour"] for each in unpriced.records().values()} == {36.0}


def test_what_is_not_known_without_a_description_is_said_and_one_that_comes_later_takes_its_place(place: Place) -> None:
    export(account(ONE, TWO), place.logs)
    place.described.mkdir()
    first = place.review()
    assert (first.states, first.undescribed) == ({"archived": 2}, 2)
    known = place.records()["gpt-1"]
    assert (known.job.source, known.job.arn, known.job.status, known.row["account"]) == ("logs", "", None, None)
    assert any(gap.what == "job" and "no description of it was kept" in gap.why for gap in known.gaps)
    # From the first line to the last, on the nodes that wrote: at least that was billed.
    assert known.row["billed_instance_s"] == pytest.approx(2 * 20 * 60, abs=10)
    assert place.review().states == {"unchanged": 2}
    describe(account(ONE), place.described)
    assert {each.name: each.state for each in place.review().jobs} == {"gpt-1": "archived", "gpt-2": "unchanged"}
    described = place.records()["gpt-1"]
    assert (described.job.status, described.is_final) == ("Completed", True)
    assert described.row["account"] == "123456789012"
    assert [path for path in place.store.listed("jobs/") if "gpt-1" in path] == [described.parts["jobs"].path]
    # Descriptions that are gone again take nothing away: the archive knows the job.
    (place.described / "gpt-1.json").unlink()
    assert place.review().undescribed == 1
    assert place.records()["gpt-1"].job.status == "Completed"


def test_a_job_that_ran_when_it_was_described_is_of_that_moment(place: Place) -> None:
    long = job("long", 3, minutes=600.0, lines_per_minute=4.0)
    until = NOW - timedelta(hours=1)
    export(account(long), place.logs, until_ms=round(until.timestamp() * 1000))
    describe(account(long), place.described)
    assert place.review().states == {"archived": 1}
    known = place.records()["long"]
    assert known.job.is_running
    assert abs(known.reviewed_at - until) < timedelta(minutes=1)


def test_what_cannot_be_read_costs_itself_alone_and_is_named(place: Place) -> None:
    export(account(ONE, TWO), place.logs, lines=200)
    subscribe(account(THREE), place.logs, events=300)
    describe(account(ONE, TWO, THREE), place.described)
    (place.described / "broken.json").write_text("{", encoding="utf-8")
    (place.logs / "notes.txt").write_text("not a log", encoding="utf-8")
    cut = next((place.logs / "0d3f7c1e-5f3b-4d8e-9f0a-2b6c1a7e4d90").glob("gpt-2-*/000001.gz"))
    cut.write_bytes(cut.read_bytes()[:-30])
    bad = sorted(place.logs.glob("2026/**/training-logs*"))[-1]
    bad.write_bytes(bad.read_bytes()[:-30])
    found = place.review()
    assert found.states == {"archived": 3}
    assert [each.partition(":")[0].rpartition("/")[2] for each in found.troubles] == [
        "broken.json describes no job", f"{bad.name} is damaged",
    ]  # fmt: skip
    assert found.others == (f"{place.logs}/notes.txt",)
    assert any("000001.gz is damaged or cut off" in gap.why for gap in place.records()["gpt-2"].gaps)
    # It comes whole in the end.
    shutil.rmtree(place.logs)
    export(account(ONE, TWO), place.logs, lines=200)
    subscribe(account(THREE), place.logs, events=300)
    assert place.review().troubles[1:] == ()
    assert not any("damaged" in gap.why for gap in place.records()["gpt-2"].gaps)


def test_jobs_of_one_name_in_two_accounts_are_kept_apart_by_their_descriptions(place: Place) -> None:
    other = job("gpt-1", 5)
    subscribe(account(ONE), place.logs / "a")
    subscribe(account(other, number="444455556666"), place.logs / "b")
    place.described.mkdir()
    assert [each.error[:42] for each in place.review().jobs] == ["Several accounts have a job of this name i"] * 2
    describe(account(ONE), place.described)
    describe(account(other, number="444455556666"), place.described / "b")
    assert place.review().states == {"archived": 2}
    owners = {from_bytes(place.store.read(path) or b"", path).row["account"] for path in place.store.listed(RUNS)}
    assert owners == {"123456789012", "444455556666"}


def test_what_aws_itself_told_is_not_replaced_by_less(place: Place) -> None:
    """A job that was archived from AWS has metrics, which no export has."""
    put(place.store, "gpt-1")
    before = place.records()["gpt-1"]
    export(account(ONE), place.logs)
    place.described.mkdir()
    (answer,) = place.review().jobs
    assert (answer.state, answer.described) == ("kept", True)
    assert place.records()["gpt-1"] == before


@pytest.mark.parametrize("writes", [0, 4, 13])
def test_a_review_that_is_killed_goes_on_where_it_was(
    place: Place, writes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(account(THREE), place.logs)
    subscribe(account(TWO), place.logs, events=500)
    describe(account(TWO, THREE), place.described)
    done = 0
    real = FolderStore.write

    def deadly(store: FolderStore, path: str, data: bytes) -> None:
        nonlocal done
        done += 1
        if done > writes:
            raise KeyboardInterrupt
        real(store, path, data)

    with monkeypatch.context() as patch:
        patch.setattr(FolderStore, "write", deadly)
        with pytest.raises(KeyboardInterrupt):
            place.review()
    found = place.review()
    assert {each.name for each in found.jobs} == {"gpt-2", "gpt-3"} == set(place.records())
    # Two writes sort the subscription, ten are a job.
    assert found.states["unchanged"] == (writes > 12)


def test_a_process_that_ends_costs_its_own_task_alone() -> None:
    texts = ["a", "deadly", *"bc"]
    answers = dict(Local(2).answers(strange, texts))
    assert answers == {place: LOST if text == "deadly" else text.upper() for place, text in enumerate(texts)}


def test_workers_elsewhere_need_a_place_that_they_see(place: Place) -> None:
    class Elsewhere(Local):
        is_here = False

    subscribe(account(TWO), place.logs)
    ask = ReviewRequest(
        (str(place.logs),), Reach(place.store.label, str(place.work)), PRICES, NOW, work_is_shared=False
    )
    with pytest.raises(BadCall, match="workers are on other machines"):
        reviewed(ask, place.store, FolderStore(place.work), Elsewhere(1))


def test_the_engines_leave_the_same_archive(place: Place, tmp_path: Path) -> None:
    pytest.importorskip(
        "pyspark.sql", reason="Spark is not installed (requirements-spark.txt): --engine spark is not tested here"
    )
    from monitor.review.exported_tasks import Spark

    export(account(ONE), place.logs)
    subscribe(account(TWO, THREE), place.logs, events=500)
    describe(account(ONE, TWO), place.described)
    place.review()
    other = Place(tmp_path / "spark")
    other.logs, other.described = place.logs, place.described
    spark = Spark(2)
    try:
        assert other.review(engine=spark).states == {"archived": 3}
        assert other.review(engine=spark).states == {"unchanged": 3}
    finally:
        spark._session.stop()
    files = {path: place.store.read(path) for path in place.store.listed("")}
    assert files == {path: other.store.read(path) for path in other.store.listed("")}


@pytest.fixture
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("CONFIG", "CACHE", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))


@pytest.mark.usefixtures("_home")
def test_the_command_reviews_and_reports_what_is_there(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    recent = Job(
        name="gpt-9", started_ms=round((datetime.now(UTC) - timedelta(hours=5)).timestamp() * 1000), minutes=20.0
    )
    export(Account(jobs=(recent,)), place.logs)
    call = [
        "fleet",
        "--logs",
        str(place.logs),
        "--archive",
        place.store.label,
        "--since",
        "2d",
        "--workers",
        "1",
        "--quiet",
    ]
    assert main([*call, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["exported_logs"]["jobs"][0]["state"] == "archived"
    assert document["coverage"]["from_logs"] == document["exported_logs"]["without_description"] == 1
    assert main(call) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Exported logs: 1 job in 1 object" in text
    assert "1 job is known from logs alone" in text
    assert "1 job known from its log alone: counted are the hours from the first line to the last" in text
    for wrong, words in (
        (["fleet", "--engine", "local"], "--engine goes with --logs."),
        ([*call, "--workers", "0"], "--workers 0 does nothing."),
        (["fleet", "--logs", "/nowhere/at/all", "--quiet"], "The folder /nowhere/at/all is not there."),
    ):
        assert main(wrong) in {2, 3}
        assert words in capsys.readouterr().err


def test_answers_are_dated_as_boto3_dates_them(place: Place) -> None:
    describe(account(TWO), place.described)
    (told,) = descriptions((place.described / "gpt-2.json").read_bytes())
    job = job_of(answer_of(told.answer))
    assert (job.started, job.status) == (datetime.fromtimestamp(TWO.started_ms / 1000, UTC), "Failed")
    assert [each.status for each in job.transitions][-1] == "Failed"
