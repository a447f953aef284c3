"""Two logs of one name are never one archived job: the second is refused, whichever way it comes."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from monitor.archive import reading as manifests
from monitor.archive.layout import location_of
from monitor.archive.reading import Archive
from monitor.archive.store import FolderStore
from monitor.cli.main import main

HEAD = "starting\nloading the data\n"


@pytest.fixture(autouse=True)
def _own_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for kind in ("CONFIG", "CACHE", "STATE", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))


def _lines(first: int, last: int, loss: float = 2.0) -> str:
    return "".join(f"step={n} loss={loss} step_time_s=2.0\n" for n in range(first, last))


def _log(folder: Path, text: str, name: str = "train.log") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return f"logs:{folder / name}"


def _archive(root: Path, *logs: str, code: int = 0) -> list[str]:
    assert (
        main(["archive", *logs, "--to", str(root), "--quiet", "--output", f"{root}.json", "--format", "json"]) == code
    )
    return [job["state"] for job in json.loads(Path(f"{root}.json").read_text(encoding="utf-8"))["jobs"]]


def _steps(root: Path) -> int:
    archive = Archive(FolderStore(root))
    return len(archive.load(archive.find("train")).run.steps)


@pytest.mark.parametrize(
    "other",
    [
        HEAD + _lines(1, 30, 3.0),
        # The same beginning, the same length, another run.
        HEAD + _lines(1, 29) + _lines(31, 32),
        # The same beginning, and then another.
        HEAD + _lines(1, 20) + _lines(20, 60, 3.0),
        # A part of it: who knows.
        HEAD + _lines(1, 10),
        _lines(1, 30),
    ],
    ids=["other figures", "one other line", "forked", "shorter", "without its head"],
)
def test_another_log_of_the_same_name_is_refused(
    tmp_path: Path, other: str, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "kept"
    first, second = _log(tmp_path / "a", HEAD + _lines(1, 30)), _log(tmp_path / "b", other)
    assert _archive(root, first) == ["archived"]
    assert _archive(root, second, code=3) == ["failed"]
    err = capsys.readouterr().err
    assert err == (
        f"trainwatch: train is not archived: The archive {root} holds another log named train. Rename the file or its folder, or "
        "name another archive with --to.\n"
    ).replace("trainwatch: train ", "trainwatch: train.log ")
    assert _steps(root) == 29
    assert _archive(tmp_path / "elsewhere", second) == ["archived"]
    (tmp_path / "b" / "train.log").rename(tmp_path / "b" / "other.log")
    assert _archive(root, f"logs:{tmp_path}/b/other.log") == ["archived"]


def test_both_in_one_call_are_one_and_a_refusal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = [_log(tmp_path / name, HEAD + _lines(1, 30, loss)) for name, loss in (("a", 2.0), ("b", 3.0), ("c", 4.0))]
    states = _archive(tmp_path / "kept", *logs, code=3)
    assert sorted(states) == ["archived", "failed", "failed"]
    assert capsys.readouterr().err.count("holds another log named train") == 2


def test_the_same_log_may_be_archived_again_from_anywhere_and_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "kept"
    log = _log(tmp_path / "a", HEAD + _lines(1, 30))
    assert _archive(root, log) == ["archived"]
    assert _archive(root, log) == ["archived"]
    monkeypatch.chdir(tmp_path / "a")
    assert _archive(root, "logs:train.log") == ["archived"]
    with (tmp_path / "a" / "train.log").open("a", encoding="utf-8") as file:
        file.write(_lines(30, 41))
    shutil.copytree(tmp_path / "a", tmp_path / "moved")
    assert _archive(root, f"logs:{tmp_path}/moved/train.log") == ["archived"]
    assert _steps(root) == 40


def test_a_folder_is_the_same_while_its_files_go_on_and_others_join(tmp_path: Path) -> None:
    root, folder = tmp_path / "kept", tmp_path / "train"
    _log(folder, HEAD + _lines(1, 30), "algo-1.log")
    assert _archive(root, f"logs:{folder}") == ["archived"]
    _log(folder / "algo-2", HEAD + _lines(1, 30), "x.log")
    assert _archive(root, f"logs:{folder}/") == ["archived"]
    (folder / "algo-1.log").unlink()
    assert _archive(root, f"logs:{folder}", code=3) == ["failed"]


def test_a_packed_log_and_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "kept"
    for name, loss in (("a", 2.0), ("b", 3.0)):
        (tmp_path / name).mkdir()
        with gzip.open(tmp_path / name / "train.log.gz", "wt", encoding="utf-8") as file:
            file.write(HEAD + _lines(1, 30, loss))
    packed = [f"logs:{tmp_path}/{name}/train.log.gz" for name in "ab"]
    assert [_archive(root, packed[0]), _archive(root, packed[0]), _archive(root, packed[1], code=3)] == [
        ["archived"], ["archived"], ["failed"],
    ]  # fmt: skip
    for loss, code, state in ((2.0, 0, "archived"), (2.0, 0, "archived"), (3.0, 3, "failed")):
        data = io.BytesIO((HEAD + _lines(1, 30, loss)).encode())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(data)))  # type: ignore[arg-type]
        assert _archive(root, "logs:-", code=code) == [state]


def test_a_log_of_before_this_was_noted_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root, log = tmp_path / "kept", _log(tmp_path / "a", HEAD + _lines(1, 30))
    _archive(root, log)
    archive = Archive(FolderStore(root))
    known = archive.find("train")
    (root / location_of(known.job).run).write_bytes(manifests.to_bytes(replace(known, beginnings={})))
    assert _archive(root, log, code=3) == ["failed"]
    assert "holds a log named train already, and nothing tells whether it is this one." in capsys.readouterr().err


def test_a_copy_of_an_archived_log_is_the_same_log_and_no_other(tmp_path: Path) -> None:
    for name, loss in (("a", 2.0), ("b", 3.0)):
        _archive(tmp_path / f"kept-{name}", _log(tmp_path / name, HEAD + _lines(1, 30, loss)))
    root, (one, other) = tmp_path / "both", (f"archive:{tmp_path}/kept-{name}/train" for name in "ab")
    assert [_archive(root, one), _archive(root, one), _archive(root, other, code=3)] == [
        ["archived"], ["archived"], ["failed"],
    ]  # fmt: skip
    assert _archive(root, f"logs:{tmp_path}/a/train.log") == ["archived"]
