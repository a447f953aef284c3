"""A file is replaced as a whole or stays as it was, and nothing is left beside it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from monitor.atomic_file import replacing


def test_what_was_written_takes_the_files_place(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_bytes(b"old")
    with replacing(path, lasting=True) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_block_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_bytes(b"old")
    with suppress(KeyError), replacing(path) as file:
        file.write(b"half")
        raise KeyError
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("size", "kept"), [(10, b"x" * 10), (11, b"old")])
def test_what_is_too_large_is_dropped(tmp_path: Path, size: int, kept: bytes) -> None:
    path = tmp_path / "run.zip"
    path.write_bytes(b"old")
    with replacing(path, most_bytes=10) as file:
        file.write(b"x" * size)
    assert path.read_bytes() == kept
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "nowhere" / "file"):
        pass
