"""``archive``, and what reads it back: whole commands, on the embedded account, into a folder and into a bucket."""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import boto3
import pytest

from monitor.archive.folder import FolderStore
from monitor.archive.reading import Archive
from monitor.cli.main import main
from monitor.demo.account import Account, start
from monitor.errors import NoCredentials
from monitor.fetch.account import AwsSource
from monitor.model import Job
from monitor.review.reviewer import Reviewer
from monitor.settings import ARCHIVE_SHOWN
from monitor.words import instant

pytestmark = pytest.mark.xdist_group("archive-commands")

LOGS = f"logs:{Path(__file__).parents[1] / 'data' / 'formats' / 'smp_v1_two_nodes_mpi.log'}"
BUCKET = "fleet"
FINISHED, RUNNING, FAILED = "churn-mlp", "llama2-13b", "llama2-70b"


@pytest.fixture(scope="module")
def account() -> Iterator[Account]:
    with start(datetime.now(UTC)) as running:
        client = boto3.client(
            "s3",
            endpoint_url=running.endpoint_url,
            region_name="us-east-1",
            aws_access_key_id="demo",
            aws_secret_access_key="demo",
        )
        client.create_bucket(Bucket=BUCKET)
        yield running


@pytest.fixture(autouse=True)
def _own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No AWS settings, and nothing of this machine's user."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for kind in ("CONFIG", "CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))


@pytest.fixture
def connected(account: Account, monkeypatch: pytest.MonkeyPatch) -> Account:
    for name, value in account.environment.items():
        if name.startswith(("AWS_", "XDG_CONFIG")):
            monkeypatch.setenv(name, value)
    return account


@pytest.fixture(scope="module")
def kept(account: Account, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An archive of three jobs in a folder."""
    root = str(tmp_path_factory.mktemp("kept") / "archive")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in account.environment.items():
            if name.startswith(("AWS_", "XDG_")):
                patch.setenv(name, value)
        names = [_named(account, base) for base in (FINISHED, RUNNING, FAILED)]
        assert main(["archive", *names, "--to", root, "--quiet", "--output", os.devnull]) == 0
    return root


def _named(account: Account, base: str) -> str:
    return next(job.name for job in account.jobs if job.name.startswith(base))


def _run(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> tuple[str, str]:
    assert main([*argv]) == code
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return out, err


def _json(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> Any:
    return json.loads(_run(capsys, *argv, "--format", "json", code=code)[0])


def _states(document: Any) -> dict[str, str]:
    return {job["name"]: job["state"] for job in document["jobs"]}


def test_a_finished_job_is_archived_once_and_a_running_one_until_it_ends(
    connected: Account, kept: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    root = shutil.copytree(kept, tmp_path / "copy")
    finished, running = _named(connected, FINISHED), _named(connected, RUNNING)
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*.*")}
    document = _json(capsys, "archive", finished, running, "--to", str(root))
    assert document["archive"] == str(root)
    assert _states(document) == {finished: "unchanged", running: "archived"}
    changed = {path for path in root.rglob("*.*") if before.get(path) != path.stat().st_mtime_ns}
    assert changed
    assert all(f"job={running}" in str(path) for path in changed)
    assert [job["final"] for job in document["jobs"]] == [True, False]
    for path in document["jobs"][0]["files"].values():
        assert (root / path).is_file()


def test_a_part_that_is_gone_is_written_again(
    connected: Account, kept: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    root = shutil.copytree(kept, tmp_path / "copy")
    name = _named(connected, FINISHED)
    next(root.glob(f"metrics/*/*/job={name}/*.parquet")).unlink()
    _, err = _run(capsys, "report", f"archive:{root}/{name}", code=3)
    assert "not whole: its metrics are missing. Archive the job again." in err
    assert _states(_json(capsys, "archive", name, "--to", str(root))) == {name: "archived"}
    _run(capsys, "report", f"archive:{root}/{name}")


def test_reading_needs_neither_aws_nor_a_clock(
    account: Account, kept: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (_named(account, FINISHED), _named(account, RUNNING)):
        moment = Archive(FolderStore(kept)).find(name).reviewed_at
        document = _json(capsys, "report", f"archive:{kept}/{name}")
        assert document["job"]["name"] == name
        assert document["api"] == {"calls": {}, "estimated_usd": 0}
        stored = next(Path(kept).glob(f"reports/*/*/job={name}/*.json"))
        live = json.loads(stored.read_text(encoding="utf-8"))
        assert {**document, "api": None} == {**live, "api": None}
        text, _ = _run(capsys, "report", "--archive", kept, name)
        assert f"from the archive {kept}. Reviewed {instant(moment)}." in " ".join(text.split())


def test_an_archived_job_can_be_named_in_every_way(
    account: Account, kept: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name = _named(account, FINISHED)
    arn = Archive(FolderStore(kept)).find(name).job.arn
    expected, _ = _run(capsys, "steps", f"archive:{kept}/{name}", "--format", "csv")
    assert len(list(csv.DictReader(StringIO(expected)))) > 10
    own = tmp_path / "data" / "trainwatch" / "archive"
    shutil.copytree(kept, own)
    for base in (RUNNING, FAILED):
        for path in own.glob(f"runs/*/*/job={base}*"):
            shutil.rmtree(path)
    ways = [
        ("--archive", f"{kept}/{name}"),
        ("--archive", kept, name),
        (name, "--archive", f"{kept}/"),
        (arn, "--archive", kept),
        (f"archive:{kept}/{arn}",),
        (f"archive:{name}",),
        (f"archive:{own}",),
        (f"archive:{next(Path(kept).glob(f'steps/*/*/job={name}/*.parquet'))}",),
        (f"archive:{next(Path(kept).glob(f'runs/*/*/job={name}'))}/",),
        ("--archive", str(own)),
    ]
    for way in ways:
        assert _run(capsys, "steps", *way, "--format", "csv")[0] == expected, way
    monkeypatch.chdir(Path(kept).parent)
    assert _run(capsys, "steps", f"archive:archive/{name}", "--format", "csv")[0] == expected
    assert _run(capsys, "steps", f"archive:./archive/{name}", "--format", "csv")[0] == expected


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (("report", "archive:"), 2, "needs a path behind it"),
        (("report", "archive:ROOT"), 2, "holds 3 jobs (churn-mlp"),
        (("report", "archive:ROOT/churn"), 3, "There is no job 'churn' in the archive ROOT. Did you mean churn-mlp"),
        (("report", "archive:nowhere/x"), 3, "There is no archive at nowhere/x. Name the folder"),
        (("report", "archive:nothing"), 3, "There is no archive at nothing, nor one of your own at "),
        (("report", "--archive", "ROOT", "logs:x"), 2, "Both a place of its own (logs:x) and --archive"),
        (("report", "--archive", "ROOT", "--logs", "x"), 2, "Both --logs and --archive"),
        (("report", "--archive", "ROOT/churn", "x"), 3, "There is no archive at ROOT/churn"),
        (("report", "archive:gs://bucket/x"), 2, "Archives cannot stand at gs://bucket/x"),
        (("steps", "archive:ROOT/JOB", "--step-regex", r"(?P<step>\d+)"), 2, "An archive holds no log lines"),
        (("report", "archive:ROOT/JOB", "--aggregate"), 2, "--aggregate asks CloudWatch"),
        (("jobs", "--archive", "nowhere"), 3, "There is no archive at nowhere"),
        (("archive",), 2, "No job was named. Give names of training jobs, or --all"),
        (("archive", "x", "--all"), 2, "Both jobs and --all were given"),
        (("archive", "x", "--since", "14d"), 2, "--since chooses among all jobs. Give --all with it."),
        (("archive", "--all", "--since", "a while"), 2, "--since a while is no duration"),
        (("archive", LOGS, "--to", "ftp://host/x"), 2, "Archives cannot stand at ftp://host/x"),
        (("archive", LOGS, "--to", "s3://Not_A_Bucket"), 2, "no address of a bucket"),
        (("archive", LOGS, "--max-usd", "-1"), 2, "--max-usd -1.0 is no amount"),
        (("dashboard", "--archive", "nowhere"), 3, "There is no archive at nowhere"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_meant_is_said_in_a_sentence(
    account: Account, kept: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...],
    code: int, words: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    given = [part.replace("ROOT", kept).replace("JOB", _named(account, FINISHED)) for part in argv]
    out, err = _run(capsys, *given, code=code)
    assert out == ""
    assert err.startswith("trainwatch: ")
    assert err.count("\n") == 1
    assert words.replace("ROOT", kept) in err


def test_a_job_that_fails_does_not_keep_the_others_from_it(
    connected: Account, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    names = ("no-such-job", _named(connected, FAILED), LOGS, LOGS)
    out, err = _run(capsys, "archive", *names, "--to", str(tmp_path / "a"), code=3)
    assert err.startswith("trainwatch: no-such-job is not archived: There is no training job 'no-such-job'")
    assert err.count("\n") == 1
    assert "2 archived, 1 failed" in out
    rows = _json(capsys, "jobs", "--archive", str(tmp_path / "a"))["jobs"]
    assert {row["name"] for row in rows} == {names[1], "smp_v1_two_nodes_mpi"}
    assert _json(capsys, "report", f"archive:{tmp_path}/a/smp_v1_two_nodes_mpi")["job"]["smp_version"] == 1


def test_without_credentials_the_rest_is_not_tried(
    connected: Account, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def refused(self: AwsSource, name: str) -> Job:
        asked.append(name)
        raise NoCredentials("The login has expired.", "Log in again.")

    monkeypatch.setattr(AwsSource, "job", refused)
    monkeypatch.setattr("monitor.review.archiving.AT_ONCE", 1)
    _, err = _run(capsys, "archive", "--all", "--to", str(tmp_path / "a"), code=3)
    assert len(asked) == 1
    assert err.splitlines()[0].endswith("is not archived: The login has expired. Log in again.")
    assert err.splitlines()[1] == f"trainwatch: for the same reason {len(connected.jobs) - 1} more jobs were not tried."


def test_a_bug_on_one_job_is_that_jobs_alone(
    connected: Account, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = Reviewer.review

    def broken(self: Reviewer, *arguments: Any) -> Any:
        if self._name.startswith(FAILED):
            raise KeyError("oops")
        return review(self, *arguments)

    monkeypatch.setattr(Reviewer, "review", broken)
    _, err = _run(capsys, "archive", _named(connected, FAILED), LOGS, "--to", str(tmp_path / "a"), code=3)
    assert "stopped on an error of this program: KeyError: 'oops'" in err
    assert _json(capsys, "jobs", "--archive", str(tmp_path / "a"))["jobs"][0]["name"].startswith("smp_v1")


def test_all_jobs_of_some_time_go_to_the_place_of_the_settings(
    connected: Account, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config" / "trainwatch"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(f'archive = "{tmp_path}/own"\n', encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    out, err = _run(capsys, "archive", "--all", "--since", "3d", "--status", "Failed", "--name-contains", "llama2-70b")
    assert err == ""
    assert f"1 archived: {tmp_path}/own" in out
    assert f"report archive:{tmp_path}/own/JOB" in out
    assert _json(capsys, "report", f"archive:{_named(connected, FAILED)}")["job"]["status"] == "Failed"
    assert "nothing was archived" in _run(capsys, "archive", "--all", "--name-contains", "nothing-like-it")[0]


def test_what_aws_has_forgotten_stays_in_the_archive(
    connected: Account, kept: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = shutil.copytree(kept, tmp_path / "copy")
    name = _named(connected, FINISHED)
    before, _ = _run(capsys, "report", f"archive:{root}/{name}", "--format", "json")
    # This program learned something; meanwhile the metrics are means of an hour.
    monkeypatch.setattr("monitor.review.archiving.reader_version", lambda: "newer")
    monkeypatch.setattr("monitor.fetch.metrics._PERIODS", ((timedelta(days=455), 3600),))
    (job,) = _json(capsys, "archive", name, "--to", str(root))["jobs"]
    assert (job["state"], job["why"]) == ("kept", "its metrics are archived every 300 s, and come every 3600 s now")
    assert "come every 3600 s now." in " ".join(_run(capsys, "archive", name, "--to", str(root))[0].split())
    assert _run(capsys, "report", f"archive:{root}/{name}", "--format", "json")[0] == before


def test_a_fleet_is_ranked_by_what_it_wasted(account: Account, kept: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = _json(capsys, "jobs", "--archive", kept)
    assert document["schema"] == 1
    jobs = document["jobs"]
    assert [job["name"] for job in jobs] == [_named(account, base) for base in (RUNNING, FINISHED, FAILED)]
    assert [job["wasted_usd"] is None for job in jobs] == [False, False, True]
    assert jobs[0]["wasted_usd"] > jobs[1]["wasted_usd"]
    assert jobs[0]["top_finding"] == "stall"
    assert {"name", "status", "instance_type", "instance_count", "created", "ended"} < set(jobs[0])
    assert jobs[1]["created"].endswith("Z")
    assert jobs[1]["billed_instance_hours"] == pytest.approx(1.9, abs=0.2)
    rows = list(csv.DictReader(StringIO(_run(capsys, "jobs", "--archive", kept, "--format", "csv")[0])))
    assert [row["name"] for row in rows] == [job["name"] for job in jobs]
    text, _ = _run(capsys, "jobs", "--archive", kept, "--limit", "2")
    assert text.index(jobs[0]["name"]) < text.index(jobs[1]["name"])
    assert "3 jobs: $" in text
    assert "1 more job; --limit shows more." in text
    assert [job["status"] for job in _json(capsys, "jobs", "--archive", kept, "--status", "failed")["jobs"]] == [
        "Failed"
    ]
    assert _json(capsys, "jobs", "--archive", kept, "--since", "1d", "--name-contains", "mlp")["jobs"] == []
    assert "No job of the archive" in _run(capsys, "jobs", "--archive", kept, "--name-contains", "nothing")[0]


def test_one_damaged_job_does_not_hide_the_others(
    account: Account, kept: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    root = shutil.copytree(kept, tmp_path / "copy")
    path = next(root.glob(f"runs/*/*/job={_named(account, RUNNING)}/*.json"))
    path.write_bytes(path.read_bytes()[:-40])
    out, err = _run(capsys, "jobs", "--archive", str(root))
    assert "2 jobs: " in out
    assert err.startswith(f"trainwatch: left out: {root}/runs/")
    assert "cut or changed after it was written. Archive the job again." in err


@pytest.mark.parametrize("option", [True, False])
def test_the_dashboard_is_started_on_the_archive_and_on_nothing_else(
    account: Account, kept: str, monkeypatch: pytest.MonkeyPatch, option: bool
) -> None:
    given: dict[str, str] = {}
    monkeypatch.setattr("monitor.cli.dashboard.serve", lambda port, environment, *_: given.update(environment))
    monkeypatch.setattr("monitor.cli.dashboard.check", lambda port: None)
    monkeypatch.chdir(Path(kept).parent)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv(ARCHIVE_SHOWN, "left over")
    assert main(["dashboard", *(["--archive", "archive"] if option else [])]) == 0
    assert given.get(ARCHIVE_SHOWN) == (kept if option else None)


# ---- In a bucket.


def test_a_bucket_holds_what_a_folder_holds(
    connected: Account, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, name = f"s3://{BUCKET}/team/a", _named(connected, FINISHED)
    assert _states(_json(capsys, "archive", name, LOGS, "--to", f"{root}/"))[name] == "archived"
    assert _states(_json(capsys, "archive", name, "--to", root)) == {name: "unchanged"}
    live = _json(capsys, "report", name)
    archived = _json(capsys, "report", f"archive:{root}/{name}")
    assert archived.pop("api")["calls"] == {"GetObject": 4, "ListObjectsV2": 1}
    live.pop("api")
    assert archived == live
    assert {job["name"] for job in _json(capsys, "jobs", "--archive", root)["jobs"]} == {
        name,
        "smp_v1_two_nodes_mpi",
    }
    monkeypatch.setattr("monitor.aws.bucket._PAGE", 1)
    assert len(_json(capsys, "jobs", "--archive", root)["jobs"]) == 2


def test_archives_side_by_side_in_a_bucket_do_not_mix(connected: Account, capsys: pytest.CaptureFixture[str]) -> None:
    for prefix in ("side", "side-by", "side/inner"):
        _run(capsys, "archive", LOGS, "--to", f"s3://{BUCKET}/{prefix}")
        assert len(_json(capsys, "jobs", "--archive", f"s3://{BUCKET}/{prefix}")["jobs"]) == 1


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
    connected: Account, capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], words: str
) -> None:
    _, err = _run(capsys, *argv, code=3)
    assert err.startswith(f"trainwatch: {words}")
