"""The Fleet page: an archive's answer, its choices in the address, an empty archive, and one that cannot be read."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from monitor.archive.store import FolderStore
from monitor.archive.writing import Labels, write
from monitor.model import Price
from monitor.review import report
from monitor.settings import ARCHIVE_SHOWN
from monitor.show import data, data_fleet
from tests import builders
from tests.pages.conftest import APP
from tests.pages.fake import texts

NAMES = ("algo-1", "algo-2")


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderStore:
    """Shown by the dashboard; empty."""
    for kind in ("CONFIG", "CACHE", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    root = tmp_path / "archive"
    root.mkdir()
    monkeypatch.setenv(ARCHIVE_SHOWN, str(root))
    data.forget()
    data_fleet._fleet.cache_clear()
    return FolderStore(root)


def put(store: FolderStore, name: str, tags: dict[str, str] | None) -> None:
    built = builders.report(
        name,
        status="Completed",
        nodes=builders.nodes_of(2),
        metric_frame=builders.metrics(NAMES, 85, {"gpu_utilization": 90.0}),
        step_frame=builders.steps(NAMES, 300, 5.0),
    )
    write(
        store,
        report(built.run, builders.START + timedelta(minutes=200), Price(36.0, "settings file")),
        labels=Labels(tags),
    )


def opened(words: str, **address: str) -> AppTest:
    page = AppTest.from_file(str(APP), default_timeout=30)
    page.query_params.update(address)
    page.switch_page("pages/fleet.py")
    until = time.monotonic() + 40
    page.run()
    while words not in texts(page) and time.monotonic() < until:
        time.sleep(0.1)
        page.run()
    assert not page.exception
    assert words in texts(page), texts(page)
    return page


def weeks_ago() -> str:
    return "4w" if datetime.now(UTC) - builders.START < timedelta(days=27) else "52w"


def test_the_answer_comes_first_and_bars_are_by_team(archive: FolderStore) -> None:
    put(archive, "bert-1", {"team": "speech"})
    put(archive, "bert-2", None)
    page = opened("bought nothing", time=weeks_ago())
    said = texts(page)
    assert "By team, the most wasted first" in said
    assert "2 jobs" in said
    assert "No job failed in this time" in said
    names = [str(name) for frame in page.dataframe for name in frame.value.get("job", ())]
    assert any("job=bert-1" in name for name in names)


def test_a_link_restores_owner_and_use(archive: FolderStore) -> None:
    put(archive, "bert-1", {"team": "speech"})
    put(archive, "bert-2", None)
    page = opened("What was trained in each job", time=weeks_ago(), owner="speech", use="trained")
    names = [str(name) for frame in page.dataframe for name in frame.value.get("job", ())]
    assert len(names) == 1
    assert "job=bert-1" in names[0]


def test_an_empty_archive_says_how_it_is_filled(archive: FolderStore) -> None:
    page = opened("No archive yet")
    assert "archive --all --since 14d" in texts(page)


def test_what_was_read_before_a_restart_is_shown_while_the_archive_is_listed(
    archive: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(archive, "bert-1", {"team": "speech"})
    opened("bought nothing", time=weeks_ago())
    data_fleet._fleet.cache_clear()
    ended, listed = threading.Event(), FolderStore.listed

    def slowly(store: FolderStore, prefix: str) -> dict[str, str]:
        assert ended.wait(60)
        return listed(store, prefix)

    monkeypatch.setattr(FolderStore, "listed", slowly)
    page = AppTest.from_file(str(APP), default_timeout=30)
    page.query_params["time"] = weeks_ago()
    page.switch_page("pages/fleet.py")
    page.run()
    assert "bought nothing" in texts(page)
    assert "Looking for new jobs" in texts(page)
    put(archive, "bert-2", None)
    ended.set()
    assert "2 jobs" in texts(opened("2 jobs", time=weeks_ago()))
