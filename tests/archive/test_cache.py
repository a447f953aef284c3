"""The cache of finished jobs: what may be kept, for whom, how long, and that it never stands in the way."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from monitor.archive.cache import Cache, RunKey, key_of, reader_version, user_cache
from monitor.model import Gap, Run
from monitor.settings import CACHE_OFF
from tests.archive.test_run_files import EMPTY, JOB

ENDPOINT = "https://api.sagemaker.eu-west-1.amazonaws.com"
ENDED = JOB.ended
assert ENDED is not None
LATER = ENDED + timedelta(hours=1)
GIB = 1 << 30


def _key(number: int = 0) -> RunKey:
    found = key_of(replace(JOB, arn=f"{JOB.arn}-{number}"), ENDPOINT)
    assert found is not None
    return found


def _cache(folder: Path, max_bytes: int = GIB, version: str = "one") -> Cache:
    return Cache(folder / "jobs", max_bytes, version)


def test_what_was_kept_is_found_with_the_time_it_was_read(tmp_path: Path) -> None:
    assert _cache(tmp_path).load(_key()) is None
    _cache(tmp_path).store(_key(), EMPTY, LATER)
    kept = _cache(tmp_path).load(_key())
    assert kept is not None
    assert kept.at == LATER
    assert kept.run.job == JOB


def test_only_its_owner_may_look_into_it(tmp_path: Path) -> None:
    _cache(tmp_path).store(_key(), EMPTY, LATER)
    (entry,) = (tmp_path / "jobs").iterdir()
    assert entry.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "jobs").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("run", "minutes", "kept"),
    [
        (EMPTY, 15, True),
        (EMPTY, 14, False),
        (replace(EMPTY, gaps=(Gap("logs", "Retention took them."),)), 60, True),
        (replace(EMPTY, gaps=(Gap("logs", "AWS is busy.", transient=True),)), 60, False),
        (replace(EMPTY, job=replace(JOB, ended=None)), 60, False),
    ],
    ids=["settled", "too early", "gone for good", "busy", "no end"],
)
def test_only_what_would_be_the_same_again_is_kept(tmp_path: Path, run: Run, minutes: int, kept: bool) -> None:
    assert ENDED is not None
    _cache(tmp_path).store(_key(), run, ENDED + timedelta(minutes=minutes))
    assert (_cache(tmp_path).load(_key()) is not None) is kept


@pytest.mark.parametrize("status", ["InProgress", "Stopping", "Deleting", None])
def test_a_job_that_is_not_over_has_no_key(status: str | None) -> None:
    assert key_of(replace(JOB, status=status), ENDPOINT) is None


def test_jobs_without_an_account_have_no_key() -> None:
    assert key_of(JOB, None) is None
    assert key_of(replace(JOB, arn=""), ENDPOINT) is None


def test_endpoint_account_region_name_and_creation_time_tell_jobs_apart() -> None:
    others = [
        key_of(JOB, "http://127.0.0.1:5000"),
        key_of(replace(JOB, arn=JOB.arn.replace("123456789012", "210987654321")), ENDPOINT),
        key_of(replace(JOB, arn=JOB.arn.replace("eu-west-1", "us-east-1")), ENDPOINT),
        key_of(replace(JOB, created=ENDED), ENDPOINT),
    ]
    assert len({key.name for key in [key_of(JOB, ENDPOINT), *others] if key}) == 5


@pytest.mark.parametrize("what", ["version", "status", "patterns"])
def test_a_run_of_another_reader_or_state_is_not_used_and_goes(tmp_path: Path, what: str) -> None:
    _cache(tmp_path).store(_key(), EMPTY, LATER)
    changed = replace(JOB, arn=f"{JOB.arn}-0", status="Stopped" if what == "status" else JOB.status)
    key = key_of(changed, ENDPOINT, ("step (?P<step>x)",) if what == "patterns" else ())
    assert key is not None
    assert key.name == _key().name
    assert _cache(tmp_path, version="two" if what == "version" else "one").load(key) is None
    assert not list((tmp_path / "jobs").iterdir())


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_truncated_file_is_not_used_and_goes(tmp_path: Path, share: float) -> None:
    _cache(tmp_path).store(_key(), EMPTY, LATER)
    (entry,) = (tmp_path / "jobs").iterdir()
    os.truncate(entry, int(entry.stat().st_size * share))
    assert _cache(tmp_path).load(_key()) is None
    assert not entry.exists()


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    _cache(tmp_path).store(_key(0), EMPTY, LATER)
    (entry,) = (tmp_path / "jobs").iterdir()
    small = _cache(tmp_path, int(entry.stat().st_size * 3.5))
    for number in (1, 2):
        small.store(_key(number), EMPTY, LATER)
    for age, number in ((300, 0), (200, 1), (100, 2)):
        path = small._path(_key(number))
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - age))
    assert small.load(_key(0)) is not None
    small.store(_key(3), EMPTY, LATER)
    assert [number for number in range(4) if small.load(_key(number)) is not None] == [0, 2, 3]


def test_what_is_larger_than_the_cache_is_not_kept(tmp_path: Path) -> None:
    _cache(tmp_path, 100).store(_key(), EMPTY, LATER)
    assert not list((tmp_path / "jobs").iterdir())


def test_what_a_killed_process_left_is_tidied_up(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    old, new = tmp_path / "jobs" / "a.part", tmp_path / "jobs" / "b.part"
    old.touch()
    new.touch()
    os.utime(old, (0, 0))
    _cache(tmp_path).store(_key(), EMPTY, LATER)
    assert not old.exists()
    assert new.exists()


@pytest.mark.parametrize("obstacle", ["a file", "read-only", "full"])
def test_a_disk_that_refuses_is_no_error(tmp_path: Path, obstacle: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(30 if obstacle == "read-only" else 28, "it refuses")

    if obstacle == "a file":
        (tmp_path / "jobs").write_text("")
    else:
        monkeypatch.setattr("monitor.atomic_file.tempfile.mkstemp" if obstacle == "read-only" else "os.replace", refuse)
    _cache(tmp_path).store(_key(), EMPTY, LATER)
    assert _cache(tmp_path).load(_key()) is None
    assert obstacle == "a file" or not list((tmp_path / "jobs").iterdir())


def test_many_may_write_and_read_one_entry_at_once(tmp_path: Path) -> None:
    def work(turn: int) -> bool:
        cache = _cache(tmp_path)
        cache.store(_key(), EMPTY, LATER)
        kept = cache.load(_key())
        return kept is not None and kept.run.job == JOB

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(40)))
    assert len(list((tmp_path / "jobs").iterdir())) == 1


_OTHER = """
import sys
from pathlib import Path
from monitor.archive.cache import Cache, key_of
from tests.archive.test_cache import EMPTY, GIB, LATER, _key
cache = Cache(Path(sys.argv[1]) / "jobs", GIB, "one")
found = 0
for _ in range(30):
    found += cache.load(_key()) is not None
    cache.store(_key(), EMPTY, LATER)
print(found)
"""


def test_a_second_process_sees_whole_files_only(tmp_path: Path) -> None:
    both = [
        subprocess.Popen([sys.executable, "-c", _OTHER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in both:
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert int(said) >= 29


def test_the_reader_version_follows_the_sources(tmp_path: Path) -> None:
    (tmp_path / "parse" / "formats").mkdir(parents=True)
    source = tmp_path / "parse" / "formats" / "one.py"
    seen = set()
    for text in ("a = 1", "a = 2"):
        source.write_text(text)
        reader_version.cache_clear()
        seen.add(reader_version(tmp_path))
    source.rename(source.with_name("two.py"))
    reader_version.cache_clear()
    seen.add(reader_version(tmp_path))
    assert len(seen) == 3
    assert reader_version(tmp_path / "parse" / "formats") == ""
    assert len(reader_version()) == 16


def test_the_users_cache_folder_and_when_there_is_none(tmp_path: Path) -> None:
    cache = user_cache(GIB, {"XDG_CACHE_HOME": str(tmp_path)})
    assert cache is not None
    cache.store(_key(), EMPTY, LATER)
    assert len(list((tmp_path / "trainwatch" / "jobs").iterdir())) == 1
    assert user_cache(GIB, {"XDG_CACHE_HOME": str(tmp_path), CACHE_OFF: "1"}) is None
    assert user_cache(0, {"XDG_CACHE_HOME": str(tmp_path)}) is None
