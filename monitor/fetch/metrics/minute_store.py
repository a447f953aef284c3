"""Where a profiler's objects lie: below a job's folder in a bucket, or in a folder that somebody copied them to."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from monitor.errors import NoData
from monitor.parse.profiler.names import FOLDER, minute_of, near

if TYPE_CHECKING:
    from monitor.aws.clients import Clients

# S3's prices in us-east-1; other regions ask up to twice as much. Reading within a region costs nothing but the calls.
_USD_PER_LIST = 0.005 / 1000
_USD_PER_GET = 0.0004 / 1000


@dataclass(frozen=True, slots=True)
class Listing:
    """Objects of a node and minute by their names, with their sizes."""

    sizes: dict[str, int] = field(default_factory=dict)
    whole: bool = True
    """These are all that there are."""


class MinuteStore(Protocol):
    """The objects of one job's profiler."""

    @property
    def label(self) -> str:
        """Where they lie, for the user."""
        ...

    @property
    def spent_usd(self) -> float:
        """What the calls so far cost."""
        ...

    def listed(self, near_s: int | None = None, hours: bool = True) -> Listing:
        """The first objects there are, or those of about a time, in Unix seconds; ``hours``: in folders of the hour."""
        ...

    def read(self, name: str, most: int | None = None) -> bytes | None:
        """An object, or its first ``most`` bytes; None where it is gone."""
        ...


class BucketMinutes:
    """The MinuteStore of a job in a bucket. Safe to share between threads."""

    def __init__(self, clients: Clients, path: str, job: str) -> None:
        # Imported late: a copied folder needs no AWS.
        from monitor.aws.bucket import Bucket

        self.label = f"{path.rstrip('/')}/{job}"
        self.spent_usd = 0.0
        self._lock = threading.Lock()
        self._clients = clients
        self._bucket = Bucket(f"{self.label}/{FOLDER.rstrip('/')}", clients)

    def listed(self, near_s: int | None = None, hours: bool = True) -> Listing:
        self._pay(_USD_PER_LIST)
        sizes, whole = self._bucket.sizes("" if near_s is None else near(near_s, hours))
        return Listing({name: size for name, size in sizes.items() if minute_of(name)}, whole)

    def read(self, name: str, most: int | None = None) -> bytes | None:
        self._pay(_USD_PER_GET)
        return self._bucket.read(name, most)

    def _pay(self, usd: float) -> None:
        with self._lock:
            self.spent_usd += usd
        self._clients.add_cost(usd)


class FolderMinutes:
    """The MinuteStore of a folder: any that holds the objects, at any depth, of one job. NoData where it holds none."""

    spent_usd = 0.0

    def __init__(self, path: Path) -> None:
        self.label = str(path)
        self._root = path
        self._sizes = {
            file.relative_to(path).as_posix(): file.stat().st_size
            for file in sorted(path.rglob("*.json"))
            if minute_of(file.name) and file.is_file()
        }
        if not self._sizes:
            raise NoData(
                f"{path} holds no profiler output.",
                "Name a folder with files such as 1767225600.algo-1.json, copied from the job's profiler-output/system.",
            )

    def listed(self, near_s: int | None = None, hours: bool = True) -> Listing:
        return Listing(self._sizes)

    def read(self, name: str, most: int | None = None) -> bytes | None:
        try:
            with (self._root / name).open("rb") as file:
                return file.read(-1 if most is None else most)
        except OSError:
            return None
