"""The benchmark of readers counts what they wrote, and says what could not run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from benchmarks import log_readers
from benchmarks.account import Faults, Running
from tests.benchmarks.sample import JOBS

BIG = next(job for job in JOBS if job.name == "big")


def test_a_plain_loop_reads_every_line_and_its_calls_are_counted(aws: Running) -> None:
    plain, *_ = log_readers.readers(BIG)
    told = log_readers.run(sys.executable, plain, aws)
    assert (told.lines, told.repeated, told.trouble) == (24_000, 0, "")
    assert told.counts.calls["DescribeLogStreams"] == 1
    assert told.counts.calls["GetLogEvents"] >= 2 * 3
    assert 0 < told.seconds < 30


def test_a_reader_that_fails_says_why(aws: Running) -> None:
    aws.set_faults(Faults(denied=("DescribeLogStreams",)))
    plain, *_ = log_readers.readers(BIG)
    told = log_readers.run(sys.executable, plain, aws)
    assert told.lines == 0
    assert "AccessDenied" in told.trouble


@pytest.mark.parametrize(
    ("text", "expected"), [("", (0, 0)), ("a id=1.0.7\nid=1.0.7\nid=1.0.8\nid=2.0.7\nid=1.1.7 x\n", (4, 1))]
)
def test_lines_are_told_apart_by_their_marks(tmp_path: Path, text: str, expected: tuple[int, int]) -> None:
    output = tmp_path / "output"
    output.write_text(text)
    assert log_readers._marks(output) == expected


def test_the_sizes_have_the_lines_they_promise() -> None:
    (job,) = log_readers.account("issue").jobs
    assert job.nodes * job.minutes * job.lines_per_minute == 2_304_000
