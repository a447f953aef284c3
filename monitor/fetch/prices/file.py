"""What was found out about prices, kept in the user's cache folder: a price list is requested once a week.

One small JSON file, written beside its place and moved there. As with every cache, what cannot be read or written is as
if it were not there.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from monitor.model import is_price
from monitor.settings import cache_folder

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look at the price list found, and for how long that holds."""

    at: datetime
    holds_s: float
    usd: float | None
    """An hour of one instance; None where it is not known."""
    why: str = ""
    """Why it is not known, in a sentence for the user."""

    def holds(self, now: datetime) -> bool:
        """Not where it comes from the future: somebody's clock was set."""
        return 0.0 <= (now - self.at).total_seconds() < self.holds_s


class PriceFile:
    """Looks by key. Any number of processes may share the file: the last to write wins."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self, key: str, now: datetime) -> Looked | None:
        """What still holds for a key; None where nothing does."""
        return self._read(now).get(key)

    def store(self, key: str, looked: Looked, now: datetime) -> None:
        """Keeps it beside all else that still holds."""
        rows = {name: _row(each) for name, each in {**self._read(now), key: looked}.items()}
        with suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, beside = tempfile.mkstemp(".part", dir=self._path.parent)
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump({"format": _FORMAT, "prices": rows}, file, indent=1)
                Path(beside).replace(self._path)
            finally:
                with suppress(FileNotFoundError):
                    Path(beside).unlink()

    def _read(self, now: datetime) -> dict[str, Looked]:
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            rows = kept["prices"].items() if kept["format"] == _FORMAT else ()
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {}
        found = {key: looked for key, row in rows if (looked := _looked(row)) is not None}
        return {key: looked for key, looked in found.items() if looked.holds(now)}


def user_prices(environ: Mapping[str, str] | None = None) -> PriceFile | None:
    """The file in the user's cache folder; None where caches are turned off."""
    folder = cache_folder(environ)
    return None if folder is None else PriceFile(folder / "prices.json")


def _row(looked: Looked) -> dict[str, Any]:
    return {"at": looked.at.isoformat(), "holds_s": looked.holds_s, "usd": looked.usd, "why": looked.why}


def _looked(row: Any) -> Looked | None:
    """None for a row of another form: a damaged price is worse than none."""
    try:
        at, holds_s, usd = datetime.fromisoformat(row["at"]), float(row["holds_s"]), row["usd"]
        if usd is not None and not is_price(usd):
            return None
        return Looked(at.astimezone(UTC), holds_s, None if usd is None else float(usd), str(row["why"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
