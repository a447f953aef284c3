"""The dashboard on an archive: the same pages, without an account, as of the moment of the archived review."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from monitor.archive.store import FolderStore
from monitor.archive.writing import write
from monitor.review import report
from monitor.settings import ARCHIVE_SHOWN
from monitor.show import data
from tests import builders
from tests.pages.conftest import APP
from tests.pages.fake import grid, texts

RUNNING, NAMES = "gpt-still-running", ("algo-1", "algo-2")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of a job that is over and one that runs."""
    root = tmp_path_factory.mktemp("archive") / "kept"
    for name in ("bert-large-run-3", RUNNING):
        built = builders.report(
            name,
            status="InProgress" if name == RUNNING else "Completed",
            nodes=builders.nodes_of(2),
            metric_frame=builders.metrics(NAMES, 85, {"gpu_utilization": 90.0}),
            step_frame=builders.steps(NAMES, 900, 5.0),
        )
        write(FolderStore(root), report(built.run, builders.START + timedelta(minutes=90)))
    return root


@pytest.fixture
def archive(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(ARCHIVE_SHOWN, str(kept))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    data.forget()
    return kept


def _until(page: AppTest, words: str) -> str:
    until = time.monotonic() + 30
    while words not in texts(page) and time.monotonic() < until:
        time.sleep(0.05)
        page.run()
    assert not page.exception
    assert words in texts(page)
    return texts(page)


def test_the_list_and_a_job_come_from_the_archive(archive: Path) -> None:
    page = AppTest.from_file(str(APP), default_timeout=20).run()
    until = time.monotonic() + 30
    while grid(page)["level"].tolist() != ["warning"] * 2 and time.monotonic() < until:
        time.sleep(0.05)
        page.run()
    assert not page.exception
    assert f"Archive {archive}" in texts(page)
    assert [metric.value for metric in page.metric[:1]] == ["1"]
    frame = grid(page)
    assert set(frame["name"]) == {"bert-large-run-3", RUNNING}
    # Not up to now: its archive knows no more than that.
    assert dict(zip(frame["name"], frame["ran_s"], strict=True))[RUNNING] == "1 h 30 min"


def test_a_job_that_ran_stands_as_it_was_reviewed(archive: Path) -> None:
    page = AppTest.from_file(str(APP), default_timeout=20)
    page.query_params["job"] = RUNNING
    page.run()
    page.switch_page("pages/job.py").run()
    said = _until(page, "Reviewed 25 Sep 2026")
    assert "1 h 30 min" in said
    assert f"From the archive {archive}, as reviewed on 25 Sep 2026, 13:35 UTC" in said
    assert "ago" not in said


def test_a_name_that_no_training_job_has_may_stand_in_an_archive(archive: Path) -> None:
    error = None
    until = time.monotonic() + 30
    while error is None and time.monotonic() < until:
        error = data.snapshot(data.AccountChoice(), "my log.txt").error
    assert "There is no job 'my log.txt' in the archive" in str(error)


def test_an_archive_that_is_gone_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ARCHIVE_SHOWN, str(tmp_path / "gone"))
    data.forget()
    page = AppTest.from_file(str(APP), default_timeout=20).run()
    assert "No jobs in this archive" in texts(page)
