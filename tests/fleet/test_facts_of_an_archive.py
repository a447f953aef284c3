"""An archive is read once: what is new is read, the rest is remembered, through kills, replacements and damage."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from monitor.archive import layout
from monitor.archive import reading as manifests
from monitor.archive.fleet_parts import FactStore
from monitor.archive.layout import JOBS, RUNS, Kind
from monitor.archive.store import FolderStore
from monitor.archive.writing import Labels, write
from monitor.cli.main import main
from monitor.fleet.facts import JobFacts
from monitor.review import report
from monitor.review.fleet_facts import FleetFacts
from tests import builders

NAMES = ("algo-1", "algo-2")
FIRST, LAST = date(2026, 1, 1), date(2027, 1, 1)


class Counting(FolderStore):
    """Counts what is read, and dies on demand."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.reads: list[str] = []
        self.dies_after: int | None = None

    def read(self, path: str) -> bytes | None:
        self.reads.append(path)
        if self.dies_after is not None and len(self.reads) > self.dies_after:
            raise KeyboardInterrupt
        return super().read(path)


def put(store: FolderStore, name: str, minutes: float = 90.0, tags: dict[str, str] | None = None) -> None:
    built = builders.report(
        name,
        status="Completed",
        nodes=builders.nodes_of(2),
        metric_frame=builders.metrics(NAMES, 85, {"gpu_utilization": 90.0}),
        step_frame=builders.steps(NAMES, 900, 5.0),
    )
    write(store, report(built.run, builders.START + timedelta(minutes=minutes)), labels=Labels(tags))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of four jobs, to be copied."""
    folder = tmp_path_factory.mktemp("made") / "archive"
    for number in range(4):
        put(FolderStore(folder), f"bert-{number}", tags={"team": "speech"})
    return folder


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Counting:
    shutil.copytree(made, tmp_path / "archive")
    return Counting(tmp_path / "archive")


@pytest.fixture
def kept(tmp_path: Path) -> FactStore:
    return FactStore.of(tmp_path / "cache", "archive")


def by_name(found: list[JobFacts]) -> dict[str, JobFacts]:
    out = {each.name: each for each in found}
    assert len(out) == len(found)
    return out


def test_what_is_kept_is_what_was_read(store: Counting, kept: FactStore) -> None:
    fresh = FleetFacts(store, None)
    fresh.update()
    FleetFacts(store, kept).update()
    assert by_name(kept.load(FIRST, LAST)) == by_name(fresh.load(FIRST, LAST))
    one = by_name(kept.load(FIRST, LAST))["bert-0"]
    assert one.tags == {"team": "speech"}
    assert one.billed_s > 0
    assert one.gpus == 16
    assert kept.load(date(2030, 1, 1), date(2030, 2, 1)) == []


def test_a_second_look_reads_only_what_is_new(store: Counting, kept: FactStore) -> None:
    assert FleetFacts(store, kept).update().new == 4
    store.reads.clear()
    assert FleetFacts(store, kept).update().new == 0
    assert store.reads == []
    put(store, "bert-9")
    assert FleetFacts(store, kept).update().new == 1
    assert all("bert-9" in path for path in store.reads)
    assert len(by_name(kept.load(FIRST, LAST))) == 5


def test_a_job_that_is_archived_again_takes_its_own_place(store: Counting, kept: FactStore) -> None:
    FleetFacts(store, kept).update()
    before = by_name(kept.load(FIRST, LAST))["bert-1"]
    put(store, "bert-1", minutes=300.0)
    FleetFacts(store, kept).update()
    found = by_name(kept.load(FIRST, LAST))
    assert len(found) == 4
    assert found["bert-1"].stamp != before.stamp


def test_a_job_that_left_the_archive_leaves_the_facts(store: Counting, kept: FactStore, tmp_path: Path) -> None:
    FleetFacts(store, kept).update()
    gone = next(path for path in store.listed(RUNS) if "bert-2" in path)
    (tmp_path / "archive" / gone).unlink()
    FleetFacts(store, kept).update()
    assert set(by_name(kept.load(FIRST, LAST))) == {"bert-0", "bert-1", "bert-3"}


@pytest.mark.parametrize("reads", range(13))
def test_a_kill_at_any_read_costs_no_job_and_doubles_none(
    store: Counting, kept: FactStore, reads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("monitor.review.fleet_facts._BATCH", 1)
    store.dies_after = reads
    with suppress(KeyboardInterrupt):
        FleetFacts(store, kept).update()
    store.dies_after = None
    again = FleetFacts(store, kept).update()
    assert again.new <= 4 - reads // 3
    assert len(by_name(kept.load(FIRST, LAST))) == 4


def test_a_kill_while_parts_are_put_together_doubles_nothing(
    store: Counting, kept: FactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("monitor.review.fleet_facts._BATCH", 1)
    monkeypatch.setattr("monitor.archive.fleet_parts._MOST_PARTS", 2)

    unlink = Path.unlink

    def killed(path: Path, missing_ok: bool = False) -> None:
        if path.name.startswith("part-"):
            raise KeyboardInterrupt
        unlink(path, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            FleetFacts(store, kept).update()
    assert len(by_name(kept.load(FIRST, LAST))) == 4
    assert FleetFacts(store, kept).update().new == 0
    assert len(by_name(kept.load(FIRST, LAST))) == 4


def test_jobs_of_an_older_and_of_a_later_version_stand_side_by_side(store: Counting, kept: FactStore) -> None:
    """Columns come without a new version: an older writer lacks some, a later one has more, in the records as in the tables."""
    later, older, *_ = sorted(store.listed(RUNS))
    for path, change in ((later, {"cooling": 0.5}), (older, {"tags": None, "recoverable_instance_s": None})):
        data = FolderStore.read(store, path)
        assert data is not None
        manifest = manifests.from_bytes(data, path)
        row = dict(manifest.row) | change
        row = {name: value for name, value in row.items() if name in change or name in JOBS}
        row = {name: value for name, value in row.items() if not (path == older and value is None and name in change)}
        store.write(path, manifests.to_bytes(replace(manifest, row=row)))
        kinds: dict[str, Kind] = {name: JOBS.get(name, "number") for name in row}
        instants = {name: datetime.fromisoformat(row[name]) for name in row if kinds[name] == "instant" and row[name]}
        store.write(manifest.parts["jobs"].path, layout.from_rows([row | instants], kinds))
    assert FleetFacts(store, kept).update().unread == ()
    tags = [each.tags for each in by_name(kept.load(FIRST, LAST)).values()]
    assert sorted(map(len, tags)) == [0, 1, 1, 1]
    pattern = f"{store.label}/jobs/*/*/*/*.parquet"
    found = duckdb.sql(
        f"select count(*), count(tags), count(cooling) from read_parquet('{pattern}', union_by_name = true)"
    ).fetchall()
    assert found == [(4, 3, 1)]


def test_a_damaged_job_is_left_out_and_named(store: Counting, kept: FactStore, tmp_path: Path) -> None:
    broken = next(path for path in store.listed("reports/") if "bert-3" in path)
    (tmp_path / "archive" / broken).write_text("{", encoding="utf-8")
    read = FleetFacts(store, kept).update()
    (said,) = read.unread
    assert "bert-3" in said
    assert set(by_name(kept.load(FIRST, LAST))) == {"bert-0", "bert-1", "bert-2"}


def test_duckdb_reads_the_same_files(store: Counting, kept: FactStore) -> None:
    FleetFacts(store, kept).update()
    query = f"select count(*), sum(list_sum(list_transform(shares, lambda x: x.instance_s))) from '{kept.pattern}'"
    jobs, seconds = duckdb.sql(query).fetchall()[0]
    found = kept.load(FIRST, LAST)
    assert jobs == len(found)
    assert seconds == pytest.approx(sum(each.billed_s for each in found))


@pytest.mark.usefixtures("_home")
def test_the_command_prints_each_form_and_sends_a_window_once(
    store: Counting, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["fleet", "--archive", store.label, "--week", "2026-W39", "--quiet"]
    told: dict[str, str] = {}
    for form in ("text", "json", "csv", "markdown", "html"):
        assert main([*call, "--format", form]) == 0
        told[form] = capsys.readouterr().out
    assert "4 jobs" in told["text"]
    assert "speech" in told["text"]
    assert told["csv"].startswith("table,row,measure,value\ntotal,all,gpu_hours,")
    assert told["markdown"].startswith("# GPU-hours, 2026-W39\n")
    assert "<svg" in told["html"]
    document: dict[str, Any] = json.loads(told["json"])
    assert document["by_owner"][0]["owner"] == "speech"
    assert document["total"]["usd"] is None  # no price is known
    hours = sum(row["sum"]["gpu_hours"] for row in document["by_use"])
    assert hours == pytest.approx(document["total"]["gpu_hours"])
    inbox = tmp_path / "inbox"
    program = tmp_path / "receiver"
    program.write_text(f"#!/bin/sh\ncat >> {inbox}\necho >> {inbox}\n", encoding="utf-8")
    program.chmod(0o700)
    for _ in range(2):
        assert main([*call, "--notify", f"exec:{program}"]) == 0
    (line,) = inbox.read_text(encoding="utf-8").splitlines()
    message = json.loads(line)
    assert message["kind"] == "report"
    assert message["title"].startswith("GPU-hours 2026-W39: ")
    assert "## Where the GPU-hours went" in message["text"]


@pytest.mark.usefixtures("_home")
@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (["--since", "soon"], 2, "--since soon is not a number of days"),
        (["--week", "47"], 2, "--week 47 is not a week"),
        (["--notify", "stdout"], 2, "printed anyway"),
        (
            ["--archive", "/nowhere/at/all"],
            3,
            "The folder /nowhere/at/all is not there. Name the folder or s3:// address",
        ),
        (["--archive", "/dev"], 3, "There are no archived jobs in /dev."),
        (["--archive", "/nowhere", "--notify", "mail:x"], 2, 'There is no sink "mail"'),
        (["--all-accounts", "--account", "research"], 2, "--all-accounts and --account were given."),
    ],
)
def test_a_wrong_call_says_what_to_write(
    store: Counting, capsys: pytest.CaptureFixture[str], more: list[str], code: int, said: str
) -> None:
    assert main(["fleet", "--archive", store.label, "--quiet", *more]) == code
    assert said in capsys.readouterr().err


@pytest.fixture
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("CONFIG", "CACHE", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
