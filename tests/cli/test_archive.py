"""``archive``: whole commands, on the embedded account, into a folder and into a bucket."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.archive.store import store_of
from monitor.demo.account import DemoAccount
from monitor.errors import NoCredentials
from monitor.fetch.account import AwsSource
from monitor.model import Job
from monitor.review.reviewer import Reviewer
from tests.cli.commands import BUCKET, FAILED, FINISHED, LOGS, RUNNING, document, named, ran


def _states(document: Any) -> dict[str, str]:
    return {job["name"]: job["state"] for job in document["jobs"]}


def test_a_finished_job_is_archived_once_and_a_running_one_until_it_ends(
    connected: DemoAccount, kept: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    root = shutil.copytree(kept, tmp_path / "copy")
    finished, running = named(connected, FINISHED), named(connected, RUNNING)
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*.*")}
    found = document(capsys, "archive", finished, running, "--to", str(root))
    assert found["archive"] == str(root)
    assert _states(found) == {finished: "unchanged", running: "archived"}
    changed = {path for path in root.rglob("*.*") if before.get(path) != path.stat().st_mtime_ns}
    assert changed
    assert all(f"job={running}" in str(path) for path in changed)
    assert [job["final"] for job in found["jobs"]] == [True, False]
    for path in found["jobs"][0]["files"].values():
        assert (root / path).is_file()


def test_a_part_that_is_gone_is_written_again(
    connected: DemoAccount, kept: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    root = shutil.copytree(kept, tmp_path / "copy")
    name = named(connected, FINISHED)
    next(root.glob(f"metrics/*/*/job={name}/*.parquet")).unlink()
    _, err = ran(capsys, "report", f"archive:{root}/{name}", code=3)
    assert "incomplete: its metrics are missing. Archive the job again." in err
    assert _states(document(capsys, "archive", name, "--to", str(root))) == {name: "archived"}
    ran(capsys, "report", f"archive:{root}/{name}")


def test_a_job_that_fails_does_not_keep_the_others_from_it(
    connected: DemoAccount, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    names = ("no-such-job", named(connected, FAILED), LOGS, LOGS)
    out, err = ran(capsys, "archive", *names, "--to", str(tmp_path / "a"), code=3)
    assert err.startswith("trainwatch: no-such-job is not archived: There is no training job 'no-such-job'")
    assert err.count("\n") == 1
    assert "2 archived, 1 failed" in out
    rows = document(capsys, "jobs", "--archive", str(tmp_path / "a"))["jobs"]
    assert {row["name"] for row in rows} == {names[1], "smp_v1_two_nodes_mpi"}
    assert document(capsys, "report", f"archive:{tmp_path}/a/smp_v1_two_nodes_mpi")["job"]["smp_version"] == 1


def test_without_credentials_the_rest_is_not_tried(
    connected: DemoAccount, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def refused(self: AwsSource, name: str) -> Job:
        asked.append(name)
        raise NoCredentials("The login has expired.", "Log in again.")

    monkeypatch.setattr(AwsSource, "job", refused)
    monkeypatch.setattr("monitor.review.archiving.AT_ONCE", 1)
    _, err = ran(capsys, "archive", "--all", "--to", str(tmp_path / "a"), code=3)
    assert len(asked) == 1
    assert err.splitlines()[0].endswith("is not archived: The login has expired. Log in again.")
    assert err.splitlines()[1] == f"trainwatch: for the same reason {len(connected.jobs) - 1} more jobs were not tried."


def test_a_bug_on_one_job_is_that_jobs_alone(
    connected: DemoAccount, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = Reviewer.review

    def broken(self: Reviewer, *arguments: Any) -> Any:
        if self._name.startswith(FAILED):
            raise KeyError("oops")
        return review(self, *arguments)

    monkeypatch.setattr(Reviewer, "review", broken)
    _, err = ran(capsys, "archive", named(connected, FAILED), LOGS, "--to", str(tmp_path / "a"), code=3)
    assert "Archiving failed because of an error in Trainwatch itself (KeyError: 'oops'). Its traceback is in " in err
    assert document(capsys, "jobs", "--archive", str(tmp_path / "a"))["jobs"][0]["name"].startswith("smp_v1")


def test_all_jobs_of_some_time_go_to_the_place_of_the_settings(
    connected: DemoAccount, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config" / "trainwatch"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(f'archive = "{tmp_path}/own"\n', encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    out, err = ran(capsys, "archive", "--all", "--since", "3d", "--status", "Failed", "--name-contains", "llama2-70b")
    assert err == ""
    assert f"1 archived: {tmp_path}/own" in out
    assert f"report archive:{tmp_path}/own/JOB" in out
    assert document(capsys, "report", f"archive:{named(connected, FAILED)}")["job"]["status"] == "Failed"
    assert "nothing was archived" in ran(capsys, "archive", "--all", "--name-contains", "nothing-like-it")[0]


def test_what_aws_has_forgotten_stays_in_the_archive(
    connected: DemoAccount,
    kept: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = shutil.copytree(kept, tmp_path / "copy")
    name = named(connected, FINISHED)
    before, _ = ran(capsys, "report", f"archive:{root}/{name}", "--format", "json")
    # This program learned something; meanwhile the metrics are means of an hour.
    monkeypatch.setattr("monitor.review.archiving.reader_version", lambda: "newer")
    monkeypatch.setattr("monitor.fetch.metrics.hosts._PERIODS", ((timedelta(days=455), 3600),))
    (job,) = document(capsys, "archive", name, "--to", str(root))["jobs"]
    assert (job["state"], job["why"]) == ("kept", "its metrics are archived every 300 s, and come every 3600 s now")
    assert "come every 3600 s now." in " ".join(ran(capsys, "archive", name, "--to", str(root))[0].split())
    assert ran(capsys, "report", f"archive:{root}/{name}", "--format", "json")[0] == before


def test_a_bucket_holds_what_a_folder_holds(
    connected: DemoAccount, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, name = f"s3://{BUCKET}/team/a", named(connected, FINISHED)
    assert _states(document(capsys, "archive", name, LOGS, "--to", f"{root}/"))[name] == "archived"
    assert _states(document(capsys, "archive", name, "--to", root)) == {name: "unchanged"}
    live = document(capsys, "report", name)
    archived = document(capsys, "report", f"archive:{root}/{name}")
    assert archived.pop("api")["calls"] == {"GetObject": 10, "ListObjectsV2": 1}
    live.pop("api")
    assert archived == live
    assert {job["name"] for job in document(capsys, "jobs", "--archive", root)["jobs"]} == {
        name,
        "smp_v1_two_nodes_mpi",
    }
    monkeypatch.setattr("monitor.aws.bucket._PAGE", 1)
    assert len(document(capsys, "jobs", "--archive", root)["jobs"]) == 2


def test_what_is_damaged_in_a_bucket_is_found_by_its_checksum_and_written_again(
    connected: DemoAccount, capsys: pytest.CaptureFixture[str]
) -> None:
    root, name = f"s3://{BUCKET}/damaged", named(connected, FINISHED)
    (job,) = document(capsys, "archive", name, "--to", root)["jobs"]
    store = store_of(root)
    for part in ("findings", "steps"):
        data = bytearray(store.read(job["files"][part]) or b"")
        data[len(data) // 2] ^= 1
        store.write(job["files"][part], bytes(data))
        (again,) = document(capsys, "archive", name, "--to", root)["jobs"]
        assert (again["state"], again["healed"]) == ("archived", [part])
    assert _states(document(capsys, "archive", name, "--to", root)) == {name: "unchanged"}
    assert document(capsys, "report", f"archive:{root}/{name}")["coverage"]["warnings"] == []


def test_archives_side_by_side_in_a_bucket_do_not_mix(
    connected: DemoAccount, capsys: pytest.CaptureFixture[str]
) -> None:
    for prefix in ("side", "side-by", "side/inner"):
        ran(capsys, "archive", LOGS, "--to", f"s3://{BUCKET}/{prefix}")
        assert len(document(capsys, "jobs", "--archive", f"s3://{BUCKET}/{prefix}")["jobs"]) == 1


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("archive", LOGS, "--to", "s3://nowhere/x"), "There is no bucket nowhere."),
        (("report", "archive:s3://nowhere/x/job"), "There is no bucket nowhere."),
        (("report", f"archive:s3://{BUCKET}"), f"There is no archive at s3://{BUCKET}."),
        (("jobs", "--archive", f"s3://{BUCKET}/empty"), f"There is no archive at s3://{BUCKET}/empty."),
    ],
)
def test_a_bucket_without_an_archive_is_said(
    connected: DemoAccount, capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], words: str
) -> None:
    _, err = ran(capsys, *argv, code=3)
    assert err.startswith(f"trainwatch: {words}")
