"""What is damaged in an archive is found by its checksum, said, and written again; nothing sound is lost for it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.archive import reading as manifests
from monitor.archive.document import report_document
from monitor.archive.layout import FRAMES, TABLES, location_of
from monitor.archive.reading import Archive, Manifest
from monitor.archive.store import FolderStore
from monitor.archive.writing import write
from monitor.cli.job_lists import _total, ranked
from monitor.cli.main import main
from monitor.errors import NoData
from monitor.model import LogCoverage, Price
from monitor.review import Reviewer, reports
from monitor.review.archived import ArchiveSource
from monitor.review.archiving import Archiver, ArchiveRequest, ArchivingResult
from monitor.settings import Settings
from tests.archive.test_archive_files import MINUTES, _report
from tests.drawn import drawn
from tests.test_review import T0, OneJob

NOW = T0 + timedelta(hours=2)
KIND = "ml.test.8xlarge"
SETTINGS = Settings({KIND: 36.0})
ENGINES = sorted({*TABLES, "report"} - {*FRAMES})
HARMS = ("gone", "cut", "changed", "empty")


def _harm(path: Path, harm: str) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.unlink() if harm == "gone" else path.write_bytes({"cut": data[:-9], "changed": data, "empty": b""}[harm])


def _digests(folder: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*.*") if path.is_file()}


def _archived(folder: Path, source: OneJob) -> ArchivingResult:
    return Archiver(FolderStore(folder), SETTINGS).archive(ArchiveRequest(source, "one"), NOW)


@pytest.fixture(scope="module")
def once_made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Manifest]:
    folder = tmp_path_factory.mktemp("made")
    outcome = _archived(folder, OneJob())
    assert (outcome.state, outcome.healed) == ("archived", ())
    assert outcome.manifest is not None
    again = _archived(folder, OneJob())
    assert (again.state, again.healed) == ("unchanged", ())
    return folder, outcome.manifest


@pytest.fixture
def made(once_made: tuple[Path, Manifest], tmp_path: Path) -> Manifest:
    """An archive in the test's folder: a copy of one that is made once."""
    shutil.copytree(once_made[0], tmp_path, dirs_exist_ok=True)
    return once_made[1]


@pytest.fixture(scope="module")
def once_written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Manifest, dict[str, Any]]:
    """An archive of a report that was built by hand, and what is said of it; read only."""
    folder = tmp_path_factory.mktemp("written")
    manifest = write(FolderStore(folder), _report())
    return (
        folder,
        manifest,
        report_document(Reviewer(ArchiveSource(FolderStore(folder)), _report().job.name).review(NOW)),
    )


@pytest.mark.parametrize(("part", "harm"), drawn([(part, harm) for part in (*TABLES, "report") for harm in HARMS], 12))
def test_a_damaged_file_is_never_called_unchanged_and_is_written_again(
    tmp_path: Path, made: Manifest, part: str, harm: str
) -> None:
    _harm(tmp_path / made.parts[part].path, harm)
    source = OneJob()
    outcome = _archived(tmp_path, source)
    assert (outcome.state, outcome.healed, outcome.error) == ("archived", (part,), None)
    assert outcome.manifest is not None
    archive = Archive(FolderStore(tmp_path))
    assert archive.broken(outcome.manifest) == ()
    # What follows from the frames needs nobody but the archive.
    assert source.asked["metrics"] == (1 if part in FRAMES else 0)
    assert archive.load(archive.find("one")).manifest.row["cost_usd"] == made.row["cost_usd"]
    assert _archived(tmp_path, OneJob()).state == "unchanged"


@pytest.mark.parametrize("harm", HARMS)
def test_a_damaged_record_is_written_again_and_said(tmp_path: Path, made: Manifest, harm: str) -> None:
    _harm(tmp_path / location_of(made.job).run, harm)
    outcome = _archived(tmp_path, OneJob())
    assert (outcome.state, outcome.healed) == ("archived", ("record",))
    assert _archived(tmp_path, OneJob()).state == "unchanged"


@pytest.mark.parametrize("harm", ["changed", "gone"])
@pytest.mark.parametrize("part", [*FRAMES, "record"])
def test_what_aws_has_less_of_by_now_takes_the_place_of_nothing(
    tmp_path: Path, made: Manifest, part: str, harm: str
) -> None:
    _harm(tmp_path / (location_of(made.job).run if part == "record" else made.parts[part].path), harm)
    before = _digests(tmp_path)
    outcome = _archived(tmp_path, OneJob(lines=3))
    assert outcome.state == "failed"
    are = "is" if part == "record" else "are"
    said = f"It is archived already, its {part} {are} missing or damaged, and 3 of its 20 log lines"
    assert said in str(outcome.error)
    assert "restore these files from a backup" in str(outcome.error)
    assert _digests(tmp_path) == before


@pytest.mark.parametrize("part", ENGINES)
def test_what_only_engines_read_is_made_again_even_where_aws_has_less(
    tmp_path: Path, made: Manifest, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _harm(tmp_path / made.parts[part].path, "changed")
    # This program learned something, so the job is read anew; and there is less of it.
    monkeypatch.setattr("monitor.review.archiving.reader_version", lambda: "newer")
    outcome = _archived(tmp_path, OneJob(lines=3))
    assert (outcome.state, outcome.healed) == ("kept", (part,))
    assert outcome.why == "3 of its 20 log lines can be read now"
    archive = Archive(FolderStore(tmp_path))
    manifest = archive.find("one")
    assert archive.broken(manifest) == ()
    assert manifest.logs.lines == 20


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("part", ENGINES)
def test_a_report_says_which_files_beside_it_are_damaged_and_is_right(
    tmp_path: Path, once_written: tuple[Path, Manifest, dict[str, Any]], part: str, harm: str
) -> None:
    folder, manifest, whole = once_written[0], once_written[1], deepcopy(once_written[2])
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    assert whole["coverage"]["warnings"] == []
    _harm(tmp_path / manifest.parts[part].path, harm)
    found = report_document(Reviewer(ArchiveSource(FolderStore(tmp_path)), _report().job.name).review(NOW))
    (warning,) = found["coverage"].pop("warnings")
    assert warning == (
        f"The archive's {part} file is missing or damaged; this report does not need it. Archive the job again."
    )
    whole["coverage"].pop("warnings")
    assert found == whole


def test_a_copy_of_a_damaged_archive_is_whole(tmp_path: Path) -> None:
    source = FolderStore(tmp_path / "a")
    manifest = write(source, _report())
    _harm(tmp_path / "a" / manifest.parts["findings"].path, "gone")
    outcome = Archiver(FolderStore(tmp_path / "b")).archive(
        ArchiveRequest(ArchiveSource(source), _report().job.name), NOW
    )
    assert outcome.state == "archived"
    archive = Archive(FolderStore(tmp_path / "b"))
    assert archive.load(archive.find(_report().job.name)).gaps == ()
    assert archive.find(_report().job.name).gaps == manifest.gaps
    # An archive heals from itself, too.
    outcome = Archiver(source).archive(ArchiveRequest(ArchiveSource(source), _report().job.name), NOW)
    assert (outcome.state, outcome.healed) == ("archived", ("findings",))


def test_it_is_said_on_the_terminal(
    tmp_path: Path, made: Manifest, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("CONFIG", "CACHE", "STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    for part in ("buckets", "jobs"):
        _harm(tmp_path / made.parts[part].path, "changed")
    assert main(["report", f"archive:{tmp_path}/one"]) == 0
    assert "The archive's buckets and jobs files are missing or damaged" in " ".join(capsys.readouterr().out.split())
    argv = ["archive", f"archive:{tmp_path}/one", "--to", str(tmp_path)]
    assert main([*argv, "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["jobs"]
    assert (row["state"], row["healed"]) == ("archived", ["buckets", "jobs"])
    _harm(tmp_path / made.parts["jobs"].path, "gone")
    assert main(argv) == 0
    assert "missing or damaged, and written again: jobs" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("form", ["text", "json"])
def test_steps_and_comparisons_say_it_beside_their_result(
    tmp_path: Path,
    made: Manifest,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    form: str,
) -> None:
    for kind in ("CONFIG", "CACHE", "STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    one = f"archive:{tmp_path}/one"
    calls = (["steps", one], ["compare", one, one])
    whole = []
    for argv in calls:
        assert main([*argv, "--format", form]) == 0
        whole.append(capsys.readouterr())
    assert [captured.err for captured in whole] == ["", ""]
    said = "The archive's buckets and jobs files are missing or damaged; this report does not need them. Archive the job again."
    sound = {path: path.read_bytes() for path in (tmp_path / made.parts[part].path for part in ("buckets", "jobs"))}
    for harm in HARMS:
        for path, data in sound.items():
            path.write_bytes(data)
            _harm(path, harm)
        for argv, before, of in zip(calls, whole, ("", "one: "), strict=True):
            assert main([*argv, "--format", form]) == 0
            out, err = capsys.readouterr()
            assert err == f"trainwatch: {of}{said}\n", harm
            assert out == before.out, harm


class Replaced(FolderStore):
    """A folder in which somebody replaces the job while its files are read."""

    def read(self, path: str) -> bytes | None:
        if path.startswith("steps/") and self.turns:
            self.turns -= 1
            # Another moment: another row and another report.
            write(FolderStore(self.label), _report(after_end=self.after * (2 + self.turns)))
        return super().read(path)

    turns = 0


def test_a_job_that_is_replaced_while_it_is_read_is_read_as_a_whole(tmp_path: Path) -> None:
    write(FolderStore(tmp_path), _report())
    store = Replaced(tmp_path)
    store.after = 15 * MINUTES  # type: ignore[attr-defined]
    archive = Archive(store)
    manifest = archive.find(_report().job.name)
    store.turns = 1
    kept = archive.load(manifest)
    assert kept.broken == ()
    assert kept.manifest.reviewed_at > manifest.reviewed_at


_ODD = (0, -1.0, float("nan"), float("inf"), 1e308, "36", True)


@pytest.mark.parametrize("usd", _ODD, ids=map(str, _ODD))
def test_a_price_that_is_none_is_not_known(tmp_path: Path, usd: Any) -> None:
    """Settings once took any number for a price; such archives are there."""
    made = write(FolderStore(tmp_path), _report())
    old = replace(
        made,
        price=Price(usd, "settings file"),
        row={**made.row, "price_usd_per_instance_hour": usd, "cost_usd": 0.0, "recoverable_usd": 0.0},
    )
    (tmp_path / location_of(made.job).run).write_bytes(manifests.to_bytes(old))
    source = ArchiveSource(FolderStore(tmp_path))
    (row,), unread = source.rows()
    assert unread == ()
    assert {row[name] for name in ("cost_usd", "overhead_usd", "recoverable_usd", "wasted_usd")} == {None}
    assert _total([row]) == "1 job, none with a known price."
    assert "$" not in _total(ranked([row]))
    found = Reviewer(source, made.job.name).review(NOW)
    assert (found.cost.usd, found.price) == (None, None)


@pytest.mark.parametrize("price", [None, 25.25])
def test_a_list_says_usd_only_where_they_are_known(
    tmp_path: Path, price: float | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("CONFIG", "CACHE", "STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    told = _report()
    bare = replace(told.run, steps=told.run.steps.head(0), events=told.run.events.head(0), logs=LogCoverage())
    known = None if price is None else Price(price, "our contract")
    # Without a step nobody knows what the time was spent on: its overhead is not known, whatever the price.
    write(FolderStore(tmp_path / "a"), reports.report(bare, told.reviewed_at, known))
    for form in ("text", "csv", "json"):
        assert main(["jobs", "--archive", str(tmp_path / "a"), "--format", form]) == 0
    printed = capsys.readouterr().out
    assert "$0" not in printed
    assert ("overhead not known" in printed) == (price is not None)
    assert ("none with a known price" in printed) == (price is None)
    assert '"overhead_usd": null' in printed


def test_jobs_without_a_price_are_counted_apart() -> None:
    def row(cost: float | None, **more: Any) -> dict[str, Any]:
        return {"cost_usd": cost, "overhead_usd": None, "recoverable_usd": None} | more

    assert _total([row(None), row(None)]) == "2 jobs, none with a known price."
    assert _total([row(8.0, overhead_usd=2.0, recoverable_usd=0.0), row(None)]) == (
        "2 jobs, 1 without a known price; on the other: $8.00 spent, overhead $2.00 (25 %), recoverable $0 (0 %)."
    )
    assert _total([row(8.0)]) == "1 job: $8.00 spent, overhead not known, recoverable not known."


def test_a_later_version_is_still_not_touched(tmp_path: Path, made: Manifest) -> None:
    path = tmp_path / location_of(made.job).run
    path.write_bytes(path.read_bytes().replace(b'{"schema": 1', b'{"schema": 2', 1))
    before = _digests(tmp_path)
    outcome = _archived(tmp_path, OneJob())
    assert isinstance(outcome.error, NoData)
    assert _digests(tmp_path) == before
    assert os.listdir(tmp_path)  # noqa: PTH208
