"""Files that cannot be read, or not to their end, are said in a sentence; the rest is read."""

from __future__ import annotations

import io
import random
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from monitor.errors import NoData
from monitor.fetch.files.source import FilesSource
from monitor.fetch.source import JobQuery
from tests.fetch.test_files import packed, write


def error(*paths: str) -> str:
    with pytest.raises(NoData) as caught:
        FilesSource(paths).job()
    text = str(caught.value)
    assert "\n" not in text
    assert caught.value.remedy
    assert caught.value.exit_code == 3
    return text


NOISE = random.Random(1).randbytes(20_000)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.log", b"", "is empty"),
        ("blank.log", b"\n \n\r\n", "is empty"),
        ("empty.log.gz", packed(b""), "is empty"),
        ("noise.log", NOISE, "not text"),
        ("nuls.log", b"\x00" * 5000, "not text"),
        ("model.bin", b"\x80\x02" + b"ab\x00\x00\x00" * 500, "not text"),
        ("named.bin", b"a head\n" + b"\0" * 20_000 + NOISE, "not text"),
        ("logs.tar.gz", packed(b"ustar" + b"\x00" * 5000), "not text"),
        (
            "text.tar.gz",
            packed(b"a.log".ljust(257, b"\0") + b"ustar  \0".ljust(255, b"\0") + b"a line\n" * 999),
            "a tar archive",
        ),
        ("text.zip", b"PK\x03\x04\x14\0\0\0" + b"a line\n" * 999, "a zip archive"),
        ("paper.pdf", b"%PDF-1.4\n" + b"1 0 obj\n" * 999, "a PDF document"),
        ("damaged.gz", b"\x1f\x8b\x08\x00garbage that is no deflate", "gzip"),
    ],
)
def test_files_without_text(folder: Path, name: str, content: bytes, words: str) -> None:
    write(folder / name, content)
    text = error(name)
    assert words in text
    assert name in text


def test_paths_that_do_not_exist(folder: Path) -> None:
    write(folder / "run" / "a.log")
    assert "'run/b.log'" in error("run/b.log")
    assert str(folder / "run") in error("run/b.log")
    assert "'nowhere/at/all'" in error("run", "nowhere/at/all")
    assert "'run/a.log/x'" in error("run/a.log/x")
    assert "that can be used" in error("a\0b")
    assert "that can be used" in error("x" * 5000)
    assert "No log file" in error()


def test_folder_without_logs(folder: Path) -> None:
    write(folder / "run" / "train.py")
    text = error("run")
    assert "'run' contains no log files" in text
    assert "*.log" in text


def test_standard_input_that_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "Standard input is empty" in error("-")


def test_a_bad_file_among_good_ones_is_a_gap(folder: Path) -> None:
    write(folder / "run" / "a.log")
    write(folder / "run" / "b.log", b"")
    write(folder / "run" / "c", NOISE)
    source = FilesSource(["run"])
    reader = source.logs(source.job())
    assert [page.stream for page in reader.read()] == ["run/a.log"]
    assert [gap.what for gap in reader.gaps] == ["logs", "logs"]
    assert "'run/b.log' is empty" in reader.gaps[0].why
    assert "'run/c' is not text" in reader.gaps[1].why


def test_nothing_but_bad_files(folder: Path) -> None:
    write(folder / "run" / "a.log", b"")
    write(folder / "run" / "b.log", b"")
    assert "None of the 2 files" in error("run")


def test_a_file_that_may_not_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder / "a.log")

    def refuse(self: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refuse)
    text = error("a.log")
    assert "permission denied" in text
    assert "permission" in text


def test_a_gzip_file_that_was_cut_off_gives_what_it_has(folder: Path) -> None:
    content = "".join(f"step {n} {random.Random(n).random()}\n" for n in range(30_000)).encode()
    whole = packed(content)
    write(folder / "a.log.gz", whole[: len(whole) // 2])
    source = FilesSource(["a.log.gz"])
    reader = source.logs(source.job())
    found = [line for page in reader.read() for line in page.lines]
    assert 5_000 < len(found) < 30_000
    assert found == content.decode().split("\n")[: len(found)]
    (gap,) = reader.gaps
    assert f"line {len(found):,}" in gap.why


def test_what_files_cannot_tell(folder: Path) -> None:
    write(folder / "a.log")
    source = FilesSource(["a.log"])
    raw = source.metrics(source.job(), datetime.now(UTC))
    assert raw.frame.empty
    assert [gap.why for gap in raw.gaps] == ["Log files contain no host metrics."]
    assert source.bill().calls == {}
    assert [summary.name for summary in source.jobs(JobQuery())] == ["a"]
    node = source.instance_type("ml.p4d.24xlarge")
    assert node is not None
    assert node.gpus == 8
