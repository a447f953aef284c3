"""A finished job is read from AWS once: what the second call says, and what it asks."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.cli.main import main
from monitor.demo.account import DemoAccount
from monitor.demo.stories import STORIES
from monitor.review import Watch
from tests.cli.commands import FINISHED, named


@pytest.fixture
def cache_folder(connected: DemoAccount, tmp_path: Path) -> Path:
    """Of a user who has not read any job yet."""
    return tmp_path / "cache" / "trainwatch" / "jobs"


@pytest.fixture
def finished(connected: DemoAccount) -> str:
    return named(connected, FINISHED)


def _printed(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main([*argv, "--quiet"]) == 0
    return capsys.readouterr().out


def _report(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[dict[str, Any], dict[str, int]]:
    """(the report without its bill, the calls it made)."""
    document = json.loads(_printed(capsys, "report", *argv, "--format", "json"))
    return document, document.pop("api")["calls"]


def _over(base: str) -> bool:
    return not base.startswith(("gpt2-10b", "llama2-13b"))


@pytest.mark.parametrize("base", sorted({story.base_name for story in STORIES if _over(story.base_name)}))
def test_the_second_report_says_the_same_and_asks_for_the_job_alone(
    read_before: DemoAccount, told: tuple[dict[str, Any], Path], capsys: pytest.CaptureFixture[str], base: str
) -> None:
    name = named(read_before, base)
    read = dict(told[0][name])
    assert "DescribeLogStreams" in read.pop("api")["calls"]
    kept, calls = _report(capsys, name)
    assert kept == read
    assert calls == {"DescribeTrainingJob": 1}


def test_steps_come_from_the_cache_and_do_not_fill_it(
    finished: str, cache_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read = _printed(capsys, "steps", finished, "--format", "csv")
    assert not cache_folder.exists()
    _report(capsys, finished)
    (entry,) = cache_folder.iterdir()
    used = entry.stat().st_mtime_ns
    assert _printed(capsys, "steps", finished, "--format", "csv") == read
    assert entry.stat().st_mtime_ns > used


def test_no_cache_neither_reads_nor_writes_it(
    finished: str, cache_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _report(capsys, finished, "--no-cache")
    assert not cache_folder.exists()
    _report(capsys, finished)
    _, calls = _report(capsys, finished, "--no-cache")
    assert "DescribeLogStreams" in calls


def test_a_pattern_for_this_once_reads_anew(
    finished: str, cache_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _report(capsys, finished, "--step-regex", r"tick (?P<step>\d+)")
    assert not cache_folder.exists()


def test_a_running_job_is_not_kept(account: DemoAccount, told: tuple[dict[str, Any], Path]) -> None:
    over = [job for job in account.jobs if _over(job.name)]
    assert len(over) == len(told[0]) - 2
    assert len(list((told[1] / "trainwatch" / "jobs").iterdir())) == len(over)


def test_prices_and_findings_are_worked_out_anew(
    read_before: DemoAccount,
    told: tuple[dict[str, Any], Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    finished = named(read_before, FINISHED)
    read = told[0][finished]
    assert read["cost"]["price_source"] == "sample prices"
    settings = tmp_path / "trainwatch" / "config.toml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(f"[prices_usd_per_instance_hour]\n'{read['job']['instance_type']}' = 1000\n", encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    kept, calls = _report(capsys, finished)
    assert calls == {"DescribeTrainingJob": 1}
    assert kept["cost"]["price_usd_per_instance_hour"] == 1000
    dearer = 1000 / read["cost"]["price_usd_per_instance_hour"]
    assert kept["cost"]["usd"] == pytest.approx(dearer * read["cost"]["usd"])


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_people_are_told_where_it_came_from(finished: str, capsys: pytest.CaptureFixture[str], form: str) -> None:
    assert "cache" not in _printed(capsys, "report", finished, "--format", form)
    today = f"{datetime.now(UTC):%d %b %Y}".lstrip("0")
    assert f"from the local cache of {today}" in " ".join(
        _printed(capsys, "report", finished, "--format", form).split()
    )


def test_a_full_disk_is_no_trouble(
    finished: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("monitor.archive.cache.write_run", refuse)
    _report(capsys, finished)


def test_the_dashboards_watch_uses_it(read_before: DemoAccount) -> None:
    from monitor.show import data

    finished = named(read_before, FINISHED)
    watch = data.observe(data.connect(data.AccountChoice()))
    assert isinstance(watch, Watch)
    until = datetime.now(UTC) + timedelta(seconds=20)
    while (report := watch.snapshot(finished).report) is None and datetime.now(UTC) < until:
        pass
    assert report is not None
    assert report.kept_at is not None
    assert report.api.calls == {"DescribeTrainingJob": 1}
