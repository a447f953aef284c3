from __future__ import annotations

import gzip
import io
import os
import random
import sys
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest

from monitor.errors import NoData
from monitor.fetch.files import FilesSource
from monitor.fetch.source import JobQuery, LogReader
from monitor.model import LogPage


def read(*paths: str | Path) -> list[LogPage]:
    source = FilesSource([str(path) for path in paths])
    return list(source.logs(source.job()).read())


def lines(*paths: str | Path) -> list[str]:
    return [line for page in read(*paths) for line in page.lines]


def packed(content: bytes) -> bytes:
    # Without a time in it: the parameters of a test must be the same in every worker.
    return gzip.compress(content, mtime=0)


def write(path: Path, content: bytes | str = "a line\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- names -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "node"),
    [
        ("algo-2.log", "algo-2"),
        ("algo-2-1700000000.log", "algo-2"),
        ("algo-12.log.gz", "algo-12"),
        ("algo-2", "algo-2"),
        ("algo-2/out.txt", "algo-2"),
        ("run/algo-3/stdout", "algo-3"),
        ("algo-2/algo-3.log", "algo-3"),
        ("train.log", "algo-1"),
        ("my-algo-2.log", "algo-1"),
        ("algo-2b.log", "algo-1"),
        ("algo-0.log", "algo-1"),
        ("algo-2-stderr.log", "algo-1"),
        ("algo-2/deeper/out.txt", "algo-1"),
    ],
)
def test_node_of_a_file(folder: Path, path: str, node: str) -> None:
    content = packed(b"a line\n") if path.endswith(".gz") else b"a line\n"
    write(folder / path, content)
    (page,) = read(path)
    assert (page.node, page.stream) == (node, path)
    assert FilesSource([path]).job().node_names == (node,)


def test_files_of_a_folder_in_the_order_of_their_numbers(folder: Path) -> None:
    for name in ("algo-10.log", "algo-2.log", "algo-1.log", "nested/algo-3/worker.out", "nested/other.err"):
        write(folder / "run" / name)
    pages = read("run")
    assert [(page.stream, page.node) for page in pages] == [
        ("run/algo-1.log", "algo-1"),
        ("run/algo-2.log", "algo-2"),
        ("run/algo-10.log", "algo-10"),
        ("run/nested/algo-3/worker.out", "algo-3"),
        ("run/nested/other.err", "algo-1"),
    ]
    assert FilesSource(["run"]).job().node_names == ("algo-1", "algo-2", "algo-3", "algo-10")


def test_only_what_looks_like_a_log_is_read_in_a_folder(folder: Path) -> None:
    for name in ("a.log", "b.txt", "c.out", "d.err", "plain"):
        write(folder / "run" / name)
    write(folder / "run" / "e.log.gz", packed(b"a line\n"))
    for name in ("train.py", "metrics.csv", "model.bin", ".hidden.log", ".git/config", "data.json"):
        write(folder / "run" / name)
    assert {page.stream for page in read("run")} == {
        f"run/{name}" for name in ("a.log", "b.txt", "c.out", "d.err", "plain", "e.log.gz")
    }
    assert [page.stream for page in read("run/train.py")] == ["run/train.py"]


@pytest.mark.parametrize("typed", ["algo-4", "algo-4/", "./algo-4", "."])
def test_a_folder_that_is_a_node(folder: Path, typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder / "algo-4" / "stdout.log")
    if typed == ".":
        monkeypatch.chdir(folder / "algo-4")
    (page,) = read(typed)
    assert page.node == "algo-4"
    assert page.stream.startswith(typed)
    assert FilesSource([typed]).job().name == "algo-4"


@pytest.mark.parametrize(
    ("paths", "name"),
    [
        (["run/vit.log"], "vit"),
        (["run/vit.log.gz"], "vit"),
        (["run/vit-0.9.1"], "vit-0.9.1"),
        (["run"], "run"),
        (["run/"], "run"),
        (["."], "here"),
        (["run/vit.log", "run/vit-0.9.1"], "run"),
        (["run/vit.log", "other/x.txt"], "vit"),
    ],
)
def test_name_of_the_job(folder: Path, paths: list[str], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = folder / "here"
    for path in ("run/vit.log", "run/vit-0.9.1", "other/x.txt"):
        write(here / path)
    write(here / "run/vit.log.gz", packed(b"a line\n"))
    monkeypatch.chdir(here)
    job = FilesSource(paths).job("whatever was typed")
    assert (job.name, job.source) == (name, "logs")
    assert (job.status, job.created, job.instance_count, job.is_running) == (None, None, None, False)
    assert {node.gpus for node in job.nodes} == {None}


def test_the_same_file_twice_is_read_once(folder: Path) -> None:
    write(folder / "run" / "a.log")
    assert lines("run", "run/a.log", "./run/a.log") == ["a line"]


def test_home_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    write(folder / "a.log")
    assert lines("~/a.log") == ["a line"]


# --- lines -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"one\ntwo\n", ["one", "two"]),
        (b"one\ntwo", ["one", "two"]),
        (b"one\n\n\ntwo\n", ["one", "", "", "two"]),
        (b"one\r\ntwo\r\n", ["one", "two"]),
        (b"one\r\n10%\r20%\r\n", ["one", "10%\r20%"]),
        (b"10%\r20%\r\ndone\n", ["10%\r20%\r", "done"]),
        (b"10%\r20%\r30%", ["10%\r20%\r30%"]),
        (b"a\x0bb\x0cc\x1cd\xc2\x85e\xe2\x80\xa8f\n", ["a\x0bb\x0cc\x1cd\x85e\u2028f"]),
        ("Größe 3 µs\n".encode(), ["Größe 3 µs"]),
        ("Größe\n".encode("latin-1"), ["Gr\ufffd\ufffde"]),
        (b"\xef\xbb\xbfone\n", ["one"]),
        ("one\ntwo\n".encode("utf-16"), ["one", "two"]),
        ("one\r\nzwölf\r\n".encode("utf-16"), ["one", "zwölf"]),
        ("one\ntwo\n".encode("utf-32"), ["one", "two"]),
        ("one\ntwo\n".encode("utf-16-be").join([b"\xfe\xff", b""]), ["one", "two"]),
        (b"\x1b[34mblue\x1b[0m\n", ["\x1b[34mblue\x1b[0m"]),
        (b"a log\nwith a few \x00 NULs\x00 in it: a node lost power\n" * 3, None),
    ],
)
def test_bytes_to_lines(folder: Path, content: bytes, expected: list[str] | None) -> None:
    found = lines(write(folder / "a.log", content))
    assert found == expected if expected is not None else len(found) == 6
    assert lines(write(folder / "b.log", packed(content))) == found


def test_pages_number_their_lines_and_have_no_times(folder: Path) -> None:
    write(folder / "a.log", "".join(f"line {n}\n" for n in range(1, 250_001)))
    pages = read("a.log")
    assert len(pages) > 2
    first = 1
    for page in pages:
        assert page.first_line == first
        assert page.lines == tuple(f"line {n}" for n in range(first, first + page.count))
        assert page.times_ms is None
        first += page.count
    assert first == 250_001


def test_memory_does_not_grow_with_the_file(folder: Path) -> None:
    block = "".join(f"step: {n} loss: 0.1 and some more words to fill the line\n" for n in range(10_000))
    with (folder / "a.log").open("w") as file:
        for _ in range(30):
            file.write(block)
    tracemalloc.start()
    total = 0
    source = FilesSource(["a.log"])
    for page in source.logs(source.job()).read():
        total += len(page.lines)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 300_000
    assert peak < 12e6


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_of_a_line_without_end_the_beginning_is_read(folder: Path, encoding: str) -> None:
    content = "first\n" + "0123456789" * 2_000_000 + "\nlast\n" + "9" * 5_000_000
    write(folder / "a.log", content.encode(encoding))
    write(folder / "b.log.gz", packed(content.encode(encoding)))
    del content
    tracemalloc.start()
    found = [line[:12] for line in lines("a.log")] + [line[:12] for line in lines("b.log.gz")]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == ["first", "012345678901", "last", "999999999999"] * 2
    assert peak < 60e6


def test_what_is_appended_is_read_on(folder: Path) -> None:
    path = write(folder / "a.log", "one\ntwo\n")
    source = FilesSource(["a.log"])
    reader: LogReader = source.logs(source.job())
    assert [page.lines for page in reader.read()] == [("one", "two")]
    assert list(reader.read()) == []
    with path.open("a") as file:
        file.write("three\n")
    assert [(page.first_line, page.lines) for page in reader.read()] == [(3, ("three",))]


def test_packed_files_are_read_once(folder: Path) -> None:
    write(folder / "a.log.gz", packed(b"one\n"))
    source = FilesSource(["a.log.gz"])
    reader = source.logs(source.job())
    assert [page.lines for page in reader.read()] == [("one",)]
    assert list(reader.read()) == []


@pytest.mark.parametrize("is_packed", [False, True])
def test_standard_input(is_packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"one\ntwo\n" * 20_000
    raw = io.BytesIO(packed(content) if is_packed else content)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw))
    source = FilesSource(["-"])
    job = source.job()
    assert (job.name, job.node_names) == ("stdin", ("algo-1",))
    reader = source.logs(job)
    pages = list(reader.read())
    assert {page.stream for page in pages} == {"-"}
    assert sum(len(page.lines) for page in pages) == 40_000
    assert list(reader.read()) == []


def test_named_pipe(folder: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"one\ntwo\n")
    os.close(writing)
    assert lines(f"/dev/fd/{reading}") == ["one", "two"]
    os.close(reading)


# --- what cannot be read -----------------------------------------------------------------------------------------


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
        ("noise.log", NOISE, "no text"),
        ("nuls.log", b"\x00" * 5000, "no text"),
        ("model.bin", b"\x80\x02" + b"ab\x00\x00\x00" * 500, "no text"),
        ("logs.tar.gz", packed(b"ustar" + b"\x00" * 5000), "no text"),
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
    assert "'run' holds no log files" in text
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
    assert "'run/c' is no text" in reader.gaps[1].why


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
    assert "right" in text


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
    assert [gap.why for gap in raw.gaps] == ["Log files carry no metrics of the hosts."]
    assert source.bill().calls == {}
    assert [summary.name for summary in source.jobs(JobQuery())] == ["a"]
    node = source.instance_type("ml.p4d.24xlarge")
    assert node is not None
    assert node.gpus == 8
