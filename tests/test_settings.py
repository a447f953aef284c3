"""The settings file: read where it is, refused in words where it is wrong."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from monitor.errors import BadCall
from monitor.settings import Settings, archive_root, config_file, read

TYPES = Path(__file__).parents[1] / "monitor" / "fetch" / "instance_types.csv"
with TYPES.open(encoding="utf-8") as file:
    KNOWN_TYPES = [row["instance_type"] for row in csv.DictReader(file)]


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


PRICES = "[prices_usd_per_instance_hour]\n"


@pytest.mark.parametrize(
    "price",
    [
        "nan",
        "-nan",
        "inf",
        "-inf",
        "-0.01",
        "0",
        "0.0",
        "1e308",
        "1e300",
        "100001",
        "9" * 400,
        "'25.25'",
        "true",
        "[]",
        "{}",
    ],
)
def test_a_price_is_finite_and_sane(tmp_path: Path, price: str) -> None:
    with pytest.raises(BadCall) as told:
        read(_file(tmp_path, f"{PRICES}'ml.p4d.24xlarge' = {price}\n"))
    assert str(told.value) == (
        f"In {tmp_path}/config.toml the price of ml.p4d.24xlarge is no number of USD per hour above 0 and up to 100,000. "
        'Write it as "ml.p4d.24xlarge" = 25.25, or leave it out where it is not known.'
    )


@pytest.mark.parametrize("price", ["0.001", "25", "760.5", "100000"])
def test_prices_that_are_sane(tmp_path: Path, price: str) -> None:
    assert read(_file(tmp_path, f"{PRICES}'ml.p4d.24xlarge' = {price}\n")).prices == {"ml.p4d.24xlarge": float(price)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("archiv = 's3://a/b'", "there is no setting archiv; the nearest is archive."),
        ("Archive = 's3://a/b'", "there is no setting Archive; the nearest is archive."),
        ("public-url = 'https://a'", "there is no setting public-url; the nearest is public_url."),
        ("price_sources = 'x'", "the nearest is price_source."),
        ("colour = 'blue'", "there is no setting colour; known are archive, learn_formats, price_source, public_url, max"),
        ("[prices_usd_per_hour]\n'ml.p4d.24xlarge' = 25", "no section [prices_usd_per_hour]; the nearest is prices_usd_per_inst"),
        ("[prices]\n'ml.p4d.24xlarge' = 25", "there is no section [prices]; the nearest is prices_usd_per_instance_hour."),
        ("[step_pattern]\na = 'b'", "there is no section [step_pattern]; the nearest is step_patterns."),
        ("[Cache]\nmax_gib = 2", "there is no section [Cache]; the nearest is cache."),
        ("[cache]\nmax_gb = 2", "there is no max_gb in [cache]; the nearest is max_gib."),
        ("[cache]\nfolder = 'x'", "there is no folder in [cache]; known are max_gib."),
        ("max_gib = 2", "max_gib stands outside of its section. Write it below [cache]."),
        ("[cache]\narchive = 'x'", "archive stands in [cache]. Write it above the first section"),
        (f"{PRICES}public_url = 'https://a'", "public_url stands in [prices_usd_per_instance_hour]. Write it above"),
        (f"{PRICES}'p4d.24xlarge' = 25", "p4d.24xlarge in [prices_usd_per_instance_hour] is no instance type; the nearest is ml"),
        (f"{PRICES}'ml.p4d.24xlrge' = 25", "is no instance type; the nearest is ml.p4d.24xlarge."),
        (f"{PRICES}'ML.P4D.24XLARGE' = 25", "is no instance type; the nearest is ml.p4d.24xlarge."),
        (f"{PRICES}ml.p4d.24xlarge = 25", 'ml in [prices_usd_per_instance_hour] is no instance type. Write it in quotes, as "ml'),
        ("[[cache]]\nmax_gib = 2", "cache is no table. Write [cache] on a line of its own"),
    ],
)  # fmt: skip
def test_a_misspelled_name_is_said_with_the_nearest(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(BadCall) as told:
        read(_file(tmp_path, text))
    assert words in str(told.value)
    assert str(told.value).startswith(f"In {tmp_path}/config.toml ")


def test_every_type_of_the_table_and_the_settings_of_the_readme_are_taken(tmp_path: Path) -> None:
    for name in KNOWN_TYPES:
        assert read(_file(tmp_path, f"{PRICES}'{name}' = 1.0\n")).prices == {name: 1.0}
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    (text,) = [block for block in re.findall(r"```toml\n(.*?)```", readme, re.DOTALL) if "prices_usd" in block]
    assert read(_file(tmp_path, text)).prices


def test_an_address_needs_a_port_that_can_be_one(tmp_path: Path) -> None:
    for port in ("99999", "0", "x"):
        with pytest.raises(BadCall, match="public_url is not an address"):
            read(_file(tmp_path, f"public_url = 'https://watch.example.com:{port}'"))


def test_the_file_stands_where_the_desktop_says(tmp_path: Path) -> None:
    assert config_file({"XDG_CONFIG_HOME": str(tmp_path)}) == tmp_path / "trainwatch" / "config.toml"
