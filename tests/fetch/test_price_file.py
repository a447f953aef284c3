"""Prices on disk: found again while they hold, and never in the way."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from monitor.fetch.prices import PriceFile, PriceLookup, user_prices
from monitor.settings import CACHE_OFF

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
DAY_S = 86400.0


def _file(folder: Path) -> PriceFile:
    return PriceFile(folder / "trainwatch" / "prices.json")


def test_what_is_stored_is_found_while_it_holds(tmp_path: Path) -> None:
    price, absent = PriceLookup(NOW, 7 * DAY_S, 12.5), PriceLookup(NOW, DAY_S, None, "There is none.")
    _file(tmp_path).store("a", price, NOW)
    _file(tmp_path).store("b", absent, NOW)
    assert _file(tmp_path).load("a", NOW) == price
    assert _file(tmp_path).load("b", NOW) == absent
    assert _file(tmp_path).load("c", NOW) is None
    later = NOW + timedelta(days=2)
    assert _file(tmp_path).load("a", later) == price
    assert _file(tmp_path).load("b", later) is None
    # A price of tomorrow was written by another clock.
    assert _file(tmp_path).load("a", NOW - timedelta(days=1)) is None


def test_what_holds_no_longer_leaves_the_file(tmp_path: Path) -> None:
    _file(tmp_path).store("a", PriceLookup(NOW, DAY_S, 1.0), NOW)
    later = NOW + timedelta(days=2)
    _file(tmp_path).store("b", PriceLookup(later, DAY_S, 2.0), later)
    (path,) = (tmp_path / "trainwatch").iterdir()
    assert list(json.loads(path.read_text(encoding="utf-8"))["prices"]) == ["b"]
    assert path.parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", "\udcff", '{"format": 1}', '{"format": 1, "prices": []}', '{"format": 2, "prices": {"a": 1}}',
        '{"format": 1, "prices": {"a": 7}}',
        *(
            json.dumps({"format": 1, "prices": {"a": {"at": at, "holds_s": holds, "usd": usd, "why": ""}}})
            for at, holds, usd in [
                ("yesterday", 9e9, 1.0), (NOW.isoformat(), "long", 1.0), (NOW.isoformat(), 9e9, -1.0),
                (NOW.isoformat(), 9e9, True), (NOW.isoformat(), 9e9, "1"), (NOW.isoformat(), 9e9, float("nan")),
                (NOW.isoformat(), 9e9, 1e308), (NOW.isoformat(), 9e9, float("inf")), (NOW.isoformat(), 9e9, 0),
                (NOW.isoformat(), -1e300, 1.0), (NOW.isoformat(), float("nan"), 1.0), (7, 9e9, 1.0),
            ]
        ),
    ],
)  # fmt: skip
def test_a_damaged_file_is_as_if_it_were_not_there(tmp_path: Path, text: str) -> None:
    path = tmp_path / "trainwatch" / "prices.json"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    assert _file(tmp_path).load("a", NOW) is None
    _file(tmp_path).store("b", PriceLookup(NOW, DAY_S, 2.0), NOW)
    assert _file(tmp_path).load("b", NOW) == PriceLookup(NOW, DAY_S, 2.0)


def test_a_folder_that_cannot_be_written_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "trainwatch").write_text("a file", encoding="utf-8")
    _file(tmp_path).store("a", PriceLookup(NOW, DAY_S, 1.0), NOW)
    assert _file(tmp_path).load("a", NOW) is None


def test_writers_at_once_leave_a_whole_file(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: _file(tmp_path).store(f"{n}", PriceLookup(NOW, DAY_S, 1.0 + n), NOW), range(40)))
    (path,) = (tmp_path / "trainwatch").iterdir()
    rows = json.loads(path.read_text(encoding="utf-8"))["prices"]
    assert rows
    assert all(row["usd"] == 1.0 + int(key) for key, row in rows.items())


def test_where_the_users_file_is_and_when_there_is_none(tmp_path: Path) -> None:
    kept = user_prices({"XDG_CACHE_HOME": str(tmp_path)})
    assert kept is not None
    kept.store("a", PriceLookup(NOW, DAY_S, 1.0), NOW)
    assert (tmp_path / "trainwatch" / "prices.json").exists()
    assert user_prices({"XDG_CACHE_HOME": str(tmp_path), CACHE_OFF: "1"}) is None
