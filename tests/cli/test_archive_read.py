"""What reads an archive back, by whole commands: it needs no account, and says what is wrong in a sentence."""

from __future__ import annotations

import csv
import json
import shutil
from io import StringIO
from pathlib import Path

import pytest

from monitor.archive.reading import Archive
from monitor.archive.store import FolderStore
from monitor.cli.main import main
from monitor.demo.account import DemoAccount
from monitor.settings import ARCHIVE_SHOWN
from monitor.words import instant
from tests.cli.commands import FAILED, FINISHED, LOGS, RUNNING, document, named, ran


def test_reading_needs_neither_aws_nor_a_clock(
    account: DemoAccount, kept: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (named(account, FINISHED), named(account, RUNNING)):
        moment = Archive(FolderStore(kept)).find(name).reviewed_at
        found = document(capsys, "report", f"archive:{kept}/{name}")
        assert found["job"]["name"] == name
        assert found["api"] == {"calls": {}, "estimated_usd": 0}
        stored = next(Path(kept).glob(f"reports/*/*/job={name}/*.json"))
        live = json.loads(stored.read_text(encoding="utf-8"))
        assert {**found, "api": None} == {**live, "api": None}
        text, _ = ran(capsys, "report", "--archive", kept, name)
        assert f"from the archive {kept}. Reviewed {instant(moment)}." in " ".join(text.split())


def test_an_archived_job_can_be_named_in_every_way(
    account: DemoAccount, kept: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name = named(account, FINISHED)
    arn = Archive(FolderStore(kept)).find(name).job.arn
    expected, _ = ran(capsys, "steps", f"archive:{kept}/{name}", "--format", "csv")
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
        assert ran(capsys, "steps", *way, "--format", "csv")[0] == expected, way
    monkeypatch.chdir(Path(kept).parent)
    assert ran(capsys, "steps", f"archive:archive/{name}", "--format", "csv")[0] == expected
    assert ran(capsys, "steps", f"archive:./archive/{name}", "--format", "csv")[0] == expected


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (("report", "archive:"), 2, "needs a path after it"),
        (("report", "archive:ROOT"), 2, "contains 3 jobs (churn-mlp"),
        (("report", "archive:ROOT/churn"), 3, "There is no job 'churn' in the archive ROOT. Did you mean churn-mlp"),
        (("report", "archive:nowhere/x"), 3, "There is no archive at nowhere/x. Name the folder"),
        (("report", "archive:nothing"), 3, "There is no archive at nothing, nor one of your own at "),
        (("report", "--archive", "ROOT", "logs:x"), 2, "Both a path (logs:x) and --archive"),
        (("report", "--archive", "ROOT", "--logs", "x"), 2, "Both --logs and --archive"),
        (("report", "--archive", "ROOT/churn", "x"), 3, "There is no archive at ROOT/churn"),
        (("report", "archive:gs://bucket/x"), 2, "Archives cannot be at gs://bucket/x"),
        (("report", "archive:s3:/bucket/x"), 2, "Archives cannot be at s3:/bucket/x"),
        (("steps", "archive:ROOT/JOB", "--step-regex", r"(?P<step>\d+)"), 2, "An archive holds no log lines"),
        (("report", "archive:ROOT/JOB", "--aggregate"), 2, "--aggregate works in CloudWatch"),
        (("jobs", "--archive", "nowhere"), 3, "There is no archive at nowhere"),
        (("archive",), 2, "No job was named. Give names of training jobs, or --all"),
        (("archive", "x", "--all"), 2, "Both jobs and --all were given"),
        (("archive", "x", "--since", "14d"), 2, "--since only works with --all. Add --all."),
        (("archive", "--all", "--since", "a while"), 2, "--since a while is not a duration"),
        (("archive", LOGS, "--to", "ftp://host/x"), 2, "Archives cannot be at ftp://host/x"),
        (("archive", LOGS, "--to", "S3:bucket"), 2, "Archives cannot be at S3:bucket"),
        (("archive", LOGS, "--to", "s3://Not_A_Bucket"), 2, "not the address of a bucket"),
        (("archive", LOGS, "--max-usd", "-1"), 2, "--max-usd -1.0 is not an amount"),
        (("dashboard", "--archive", "nowhere"), 3, "There is no archive at nowhere"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_meant_is_said_in_a_sentence(
    account: DemoAccount, kept: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...],
    code: int, words: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    given = [part.replace("ROOT", kept).replace("JOB", named(account, FINISHED)) for part in argv]
    out, err = ran(capsys, *given, code=code)
    assert out == ""
    assert err.startswith("trainwatch: ")
    assert err.count("\n") == 1
    assert words.replace("ROOT", kept) in err


def test_a_fleet_is_ranked_by_what_could_be_saved(
    account: DemoAccount, kept: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = document(capsys, "jobs", "--archive", kept)
    assert found["schema"] == 1
    jobs = found["jobs"]
    assert [job["name"] for job in jobs] == [named(account, base) for base in (RUNNING, FINISHED, FAILED)]
    assert [job["overhead_usd"] is None for job in jobs] == [False, False, True]
    assert jobs[0]["recoverable_usd"] > jobs[1]["recoverable_usd"] == 0.0
    assert jobs[0]["recoverable_usd_per_hour"] > 0
    assert [job["wasted_usd"] for job in jobs] == [job["overhead_usd"] for job in jobs]
    assert jobs[0]["top_finding"] == "stall"
    assert {"name", "status", "instance_type", "instance_count", "created", "ended"} < set(jobs[0])
    assert jobs[1]["created"].endswith("Z")
    assert jobs[1]["billed_instance_hours"] == pytest.approx(1.9, abs=0.2)
    rows = list(csv.DictReader(StringIO(ran(capsys, "jobs", "--archive", kept, "--format", "csv")[0])))
    assert [row["name"] for row in rows] == [job["name"] for job in jobs]
    text, _ = ran(capsys, "jobs", "--archive", kept, "--limit", "2")
    assert text.index(jobs[0]["name"]) < text.index(jobs[1]["name"])
    assert "3 jobs: $" in text
    assert "1 more job; --limit shows more." in text
    assert [job["status"] for job in document(capsys, "jobs", "--archive", kept, "--status", "failed")["jobs"]] == [
        "Failed"
    ]
    assert document(capsys, "jobs", "--archive", kept, "--since", "1d", "--name-contains", "mlp")["jobs"] == []
    assert "No job of the archive" in ran(capsys, "jobs", "--archive", kept, "--name-contains", "nothing")[0]


def test_one_damaged_job_does_not_hide_the_others(
    account: DemoAccount, kept: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    root = shutil.copytree(kept, tmp_path / "copy")
    path = next(root.glob(f"runs/*/*/job={named(account, RUNNING)}/*.json"))
    path.write_bytes(path.read_bytes()[:-40])
    out, err = ran(capsys, "jobs", "--archive", str(root))
    assert "2 jobs: " in out
    assert err.startswith(f"trainwatch: left out: {root}/runs/")
    assert "truncated or changed after it was written. Archive the job again." in err


@pytest.mark.parametrize("option", [True, False])
def test_the_dashboard_is_started_on_the_archive_and_on_nothing_else(
    account: DemoAccount, kept: str, monkeypatch: pytest.MonkeyPatch, option: bool
) -> None:
    given: dict[str, str] = {}
    monkeypatch.setattr("monitor.cli.dashboard.serve", lambda port, environment, *_, **__: given.update(environment))
    monkeypatch.setattr("monitor.cli.dashboard.check", lambda *_, **__: None)
    monkeypatch.chdir(Path(kept).parent)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv(ARCHIVE_SHOWN, "left over")
    assert main(["dashboard", *(["--archive", "archive"] if option else [])]) == 0
    assert given.get(ARCHIVE_SHOWN) == (kept if option else None)
