from __future__ import annotations

import gzip
import io
import os
import sys
import tracemalloc
from pathlib import Path

import pytest

from monitor.fetch.files.source import FilesSource
from monitor.fetch.source import LogReader
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


@pytest.mark.parametrize(
    ("nuls", "end"), [(1, "\n"), (5000, "\r\n"), (20_000, "\r\n"), (20_000, "\n"), (3 << 20, "\n"), (9 << 20, "\n")]
)
@pytest.mark.parametrize("before", [[], ["nohup: ignoring input"]])
def test_nuls_where_a_log_was_cut_off_are_no_part_of_it(folder: Path, before: list[str], nuls: int, end: str) -> None:
    said = [f"step {number} | loss 4.5" for number in range(9)]
    head, rest = ("".join(f"{line}{end}" for line in part).encode() for part in (before, said))
    path = write(folder / "a.log", head + b"\0" * nuls + rest + b"\0\0")
    assert lines(path) in ([*before, *said], [*before, *said, ""])


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
