"""Stretches of a log are read in the background: once, or on and on while somebody looks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from monitor.archive.store import FolderStore
from monitor.errors import NoSuchJob, NotAllowed, TrainwatchError
from monitor.fetch.files.source import FilesSource
from monitor.model import Job, LogLine, LogRequest, LogSpan
from monitor.review import log_lines
from monitor.review.archived import ArchiveSource, Source
from monitor.review.log_lines import LogSnapshot, LogWatch
from tests.fetch.sample import job

T0 = 1_700_000_000_000


@dataclass
class Account:
    """A source that writes a line a look."""

    running: bool = False
    error: TrainwatchError | None = None
    looks: list[LogRequest] = field(default_factory=list)

    def job(self, name: str) -> Job:
        if isinstance(self.error, NoSuchJob):
            raise self.error
        return job(**({"TrainingJobStatus": "InProgress", "TrainingEndTime": None} if self.running else {}))

    def lines(self, job: Job, ask: LogRequest, before: LogSpan | None = None) -> LogSpan:
        if self.error:
            raise self.error
        self.looks.append(ask)
        kept = before.lines if before else ()
        lines = (*kept, LogLine("vit/algo-1-1", T0 + len(kept), f"line {len(kept)}"))
        return LogSpan(lines, T0, T0 + 100, older=False, newer=False)


def until(looked: Callable[[], LogSnapshot], ready: Callable[[LogSnapshot], Any]) -> LogSnapshot:
    for _ in range(400):
        if ready(found := looked()):
            return found
        time.sleep(0.01)
    raise AssertionError(found)


def watch(account: Account) -> LogWatch:
    # Nobody asks after a test: what is left reading would take time from the others.
    return LogWatch(account, refresh_s=0.02, forget_after_s=0.2)  # type: ignore[arg-type]


def test_a_log_that_is_over_is_read_once() -> None:
    account = Account()
    watched = watch(account)
    first = watched.lines("vit", LogRequest())
    assert first.table is None
    assert first.working
    found = until(lambda: watched.lines("vit", LogRequest()), lambda one: one.table is not None)
    assert not found.growing
    time.sleep(0.1)
    assert watched.lines("vit", LogRequest()) is found
    assert account.looks == [LogRequest()]


def test_a_running_job_is_read_on_until_nobody_asks() -> None:
    account = Account(running=True)
    watched = watch(account)
    found = until(lambda: watched.lines("vit", LogRequest()), lambda one: one.table and len(one.table.frame) > 3)
    assert found.growing
    assert not found.error
    time.sleep(0.5)
    looks = len(account.looks)
    time.sleep(0.2)
    assert len(account.looks) == looks, "nobody asked"
    lines = len(watched.lines("vit", LogRequest()).table.frame)  # type: ignore[union-attr]
    until(lambda: watched.lines("vit", LogRequest()), lambda one: len(one.table.frame) > lines)


def test_a_stretch_with_an_end_does_not_grow() -> None:
    account = Account(running=True)
    watched = watch(account)
    ask = LogRequest(end=job().created)
    until(lambda: watched.lines("vit", ask), lambda one: one.table is not None)
    time.sleep(0.1)
    assert len(account.looks) == 1


def test_trouble_is_an_answer_and_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_lines, "_AFTER_TROUBLE_S", 0.02)
    account = Account(error=NotAllowed("logs:FilterLogEvents was refused.", "Allow it."))
    watched = watch(account)
    assert until(lambda: watched.lines("vit", LogRequest()), lambda one: one.error).table is None
    account.error = None
    assert until(lambda: watched.lines("vit", LogRequest()), lambda one: one.table is not None).error is None


def test_a_job_that_does_not_exist_is_asked_for_once() -> None:
    watched = watch(Account(error=NoSuchJob("There is none.")))
    found = until(lambda: watched.lines("vit", LogRequest()), lambda one: one.error)
    time.sleep(0.1)
    assert watched.lines("vit", LogRequest()) is found


@pytest.mark.parametrize("source", [ArchiveSource(FolderStore("kept")), FilesSource(["a.log"])])
def test_an_archive_and_files_have_no_lines_that_are_found_by_their_time(source: Source) -> None:
    assert LogWatch(source).lines("vit", LogRequest()).lineless


def test_few_stretches_are_remembered() -> None:
    account = Account()
    watched = watch(account)
    for place in range(log_lines.REMEMBERED + 5):
        ask = LogRequest(node=f"algo-{place}")
        until(lambda ask=ask: watched.lines("vit", ask), lambda one: one.table is not None)
    until(lambda: watched.lines("vit", LogRequest()), lambda one: one.table is not None)
    assert len(watched._snapshots) <= log_lines.REMEMBERED + 2
