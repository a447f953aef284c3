"""The settings file: read where it is, refused in words where it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.errors import BadCall
from monitor.settings import Settings, archive_root, config_file, read


def _file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_prices_and_patterns_are_read(tmp_path: Path) -> None:
    settings = read(
        _file(
            tmp_path,
            "[prices_usd_per_instance_hour]\n'ml.p4d.24xlarge' = 25\n[step_patterns]\n'asr-*' = 'utt (?P<step>[0-9]+)'\n",
        )
    )
    assert settings.prices == {"ml.p4d.24xlarge": 25.0}
    assert settings.patterns_of("asr-large-7") == ("utt (?P<step>[0-9]+)",)
    assert settings.patterns_of("bert") == ()


def test_prices_have_a_name(tmp_path: Path) -> None:
    assert read(_file(tmp_path, "price_source = 'our contract'\n")).price_source == "our contract"
    assert read(_file(tmp_path, "")).price_source == read(tmp_path / "none.toml").price_source == "settings file"


def test_the_size_of_the_cache_is_read(tmp_path: Path) -> None:
    assert read(_file(tmp_path, "[cache]\nmax_gib = 0.5\n")).cache_bytes == 512 << 20
    assert read(tmp_path / "none.toml").cache_bytes == 2 << 30


def test_the_address_of_the_dashboard_has_no_slash_at_its_end(tmp_path: Path) -> None:
    assert (
        read(_file(tmp_path, 'public_url = "https://watch.example.com/ml/"')).public_url
        == "https://watch.example.com/ml"
    )
    assert read(tmp_path / "none.toml").public_url == ""


def test_the_place_of_the_archive_is_read(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('archive = "s3://fleet/a"\n', encoding="utf-8")
    assert archive_root(read(tmp_path / "c.toml"), {}) == "s3://fleet/a"
    assert archive_root(Settings(), {"XDG_DATA_HOME": "/data"}) == "/data/trainwatch/archive"
    assert archive_root(Settings(), {}).endswith("/.local/share/trainwatch/archive")


def test_no_file_is_no_settings(tmp_path: Path) -> None:
    assert read(tmp_path / "none.toml").prices == {}


@pytest.mark.parametrize(
    "text",
    [
        "[prices",
        "[prices_usd_per_instance_hour]\na = 'dear'",
        "[prices_usd_per_instance_hour]\na = -1",
        "[step_patterns]\na = 1",
        "step_patterns = 3",
        "archive = 3",
        "[cache]\nmax_gib = 'much'",
        "price_source = 7",
        "price_source = ' '",
        "[cache]\nmax_gib = -1",
        "public_url = 3",
        "public_url = 'watch.example.com'",
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadCall, match=r"config\.toml"):
        read(_file(tmp_path, text))


def test_the_file_stands_where_the_desktop_says(tmp_path: Path) -> None:
    assert config_file({"XDG_CONFIG_HOME": str(tmp_path)}) == tmp_path / "trainwatch" / "config.toml"
