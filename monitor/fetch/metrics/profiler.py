"""A profiler's output: where its objects lie, below a job's folder in a bucket or in a folder that somebody copied them to,
and how its minutes are read: listed where they are looked for, within a budget, each object once.

The job's description says whether there is any, and where: nothing is asked otherwise. Lines of CPU cores and of the network
are read where the GPUs wait, and in whole minutes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pandas as pd

from monitor.analyze.single_gpus import Wanted
from monitor.analyze.stalls import WAITING_PCT
from monitor.aws.calls import side_by_side
from monitor.errors import NoCredentials, NoData, TrainwatchError
from monitor.fetch.source import gap_of
from monitor.model import Gap, ProfilerCoverage, gpus_frame, hosts_frame
from monitor.model.job import partition_of
from monitor.parse.profiler.gpu_lines import GpuLines, gpu_lines
from monitor.parse.profiler.host_lines import HostLines, host_lines
from monitor.parse.profiler.names import FOLDER, has_hours, minute_of, near

if TYPE_CHECKING:
    from monitor.aws.clients import Clients

# S3's prices in us-east-1; other regions ask up to twice as much. Reading within a region costs nothing but the calls.
_USD_PER_LIST = 0.005 / 1000
_USD_PER_GET = 0.0004 / 1000


@dataclass(frozen=True, slots=True)
class ObjectListing:
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

    def listed(self, near_s: int | None = None, hours: bool = True) -> ObjectListing:
        """The first objects there are, or those of about a time, in Unix seconds; ``hours``: in folders of the hour."""
        ...

    def read(self, name: str, most: int | None = None) -> bytes | None:
        """An object, or its first ``most`` bytes; None where it is gone."""
        ...


class BucketMinutes:
    """The MinuteStore of a job in a bucket. Safe to share between threads."""

    def __init__(self, clients: Clients, path: str, job: str) -> None:
        # Imported late: a copied folder needs no AWS.
        from monitor.aws.bucket import BucketStore

        self.label = f"{path.rstrip('/')}/{job}"
        self.spent_usd = 0.0
        self._lock = threading.Lock()
        self._clients = clients
        self._bucket = BucketStore(f"{self.label}/{FOLDER.rstrip('/')}", clients)

    def listed(self, near_s: int | None = None, hours: bool = True) -> ObjectListing:
        self._pay(_USD_PER_LIST)
        sizes, whole = self._bucket.sizes("" if near_s is None else near(near_s, hours))
        return ObjectListing({name: size for name, size in sizes.items() if minute_of(name)}, whole)

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

    def listed(self, near_s: int | None = None, hours: bool = True) -> ObjectListing:
        return ObjectListing(self._sizes)

    def read(self, name: str, most: int | None = None) -> bytes | None:
        try:
            with (self._root / name).open("rb") as file:
                return file.read(-1 if most is None else most)
        except OSError:
            return None


#: Of one review.
MOST_BYTES = 160 << 20
#: Of a minute that is one of many, the beginning will do: ten samples of the largest hosts, all of the smallest.
EVEN_BYTES = 512 << 10
_AT_ONCE = 8
_OFTEN = 0.1
# The first and last object of a job begin within a minute, not with it.
_NEAR_S = 60


@dataclass(frozen=True, slots=True)
class Profiled:
    """What was read."""

    gpus: pd.DataFrame
    hosts: pd.DataFrame
    coverage: ProfilerCoverage | None
    gaps: tuple[Gap, ...] = ()


class MinuteReader:
    """Reads of one job's output what is wanted, and remembers what it read."""

    def __init__(self, store: MinuteStore, most_bytes: int = MOST_BYTES) -> None:
        self._store = store
        self._most_bytes = most_bytes
        self._hours: bool | None = None
        self._whole: ObjectListing | None = None
        self._near: dict[int, ObjectListing] = {}
        self._read: dict[tuple[str, bool], _Object] = {}
        self._lock = threading.Lock()

    def read(self, minutes: Sequence[Wanted], is_over: bool) -> Profiled:
        """The samples of these minutes. What cannot be read is a gap; NoCredentials alone is raised."""
        try:
            with self._lock:
                return self._profiled(minutes, is_over)
        except NoCredentials:
            raise
        except TrainwatchError as error:
            gap = gap_of("profiler", error, "Profiler output")
            bucket = self._store.label.removeprefix("s3://").partition("/")[0]
            arn = f"arn:{partition_of(gap.arn) or 'aws'}:s3:::{bucket}" if gap.action else ""
            refused = Gap(gap.what, gap.why, gap.remedy, True, gap.action, gap.denied_by, arn)
            return Profiled(gpus_frame(), hosts_frame(), None, (refused,))

    def _profiled(self, minutes: Sequence[Wanted], is_over: bool) -> Profiled:
        chosen = self._chosen(minutes, is_over)
        if not chosen:
            why = f"The profiler was on, and {self._store.label} holds none of the minutes that were looked for."
            return Profiled(
                gpus_frame(),
                hosts_frame(),
                ProfilerCoverage(usd=self._store.spent_usd, read_from=self._store.label),
                (Gap("profiler", why),),
            )
        missing = [(name, even) for name, even, _ in chosen if (name, even) not in self._read]
        for key, data in zip(missing, side_by_side(self._data, missing, _AT_ONCE), strict=True):
            if data is not None:
                self._read[key] = _read(data, whole=not key[1])
        gpus, hosts, objects, size, skipped = [], [], 0, 0, 0
        for name, even, _ in chosen:
            read, place = self._read.get((name, even)), minute_of(name)
            if read is None or place is None:
                continue
            objects, size, skipped = objects + 1, size + read.size_bytes, skipped + read.gpus.skipped
            gpus.append(_frame(read.gpus.frame, place[1], even))
            if read.host is not None:
                skipped += read.host.skipped
                hosts.append(_frame(read.host.frame, place[1], even))
        return Profiled(
            gpus_frame(_joined(gpus)),
            hosts_frame(_joined(hosts)),
            ProfilerCoverage(objects, size, self._store.spent_usd, skipped, self._store.label),
        )

    def _data(self, key: tuple[str, bool]) -> bytes | None:
        name, even = key
        data = self._store.read(name, EVEN_BYTES if even else None)
        if data is None or not even or len(data) < EVEN_BYTES:
            return data
        # The last line of a beginning is cut by us.
        return data[: data.rfind(b"\n") + 1]

    def _chosen(self, minutes: Iterable[Wanted], is_over: bool) -> list[tuple[str, bool, int]]:
        """The objects to read, with their sizes, as far as the budget goes. One that is read whole is not read in part."""
        out: list[tuple[str, bool, int]] = []
        taken: set[str] = set()
        left = self._most_bytes
        if not is_over:
            self._whole, self._near = None, {}
        for each in minutes:
            found = self._object(each)
            if found is None or found[0] in taken:
                continue
            name, size = found
            # Of nothing there is no beginning to ask for.
            cost = min(size, EVEN_BYTES) if each.even else size
            if not 0 < cost <= left:
                continue
            left -= cost
            taken.add(name)
            out.append((name, each.even, size))
        return out

    def _object(self, each: Wanted) -> tuple[str, int] | None:
        """The object of a node that begins nearest to a minute."""
        listing = self._listing(each.at_s)
        near = []
        for name, size in listing.sizes.items():
            place = minute_of(name)
            if place is not None and place[1] == each.node and abs(place[0] - each.at_s) < _NEAR_S:
                near.append((abs(place[0] - each.at_s), name, size))
        return min(near)[1:] if near else None

    def _listing(self, at_s: int) -> ObjectListing:
        if self._whole is None:
            self._whole = self._store.listed()
            self._hours = any(has_hours(name) for name in self._whole.sizes)
        if self._whole.whole:
            return self._whole
        block = at_s // 100
        if block not in self._near:
            self._near[block] = self._store.listed(at_s, bool(self._hours))
        return self._near[block]


@dataclass(frozen=True, slots=True)
class _Object:
    """What was read of one object; nothing of cores and network where nobody asks for it."""

    gpus: GpuLines
    host: HostLines | None
    size_bytes: int


def _read(data: bytes, whole: bool) -> _Object:
    gpus = gpu_lines(data)
    # What a host did is asked for where its GPUs wait, and in the whole minutes, among which are quiet ones to compare with.
    asked = whole or _wait(gpus.frame)
    return _Object(gpus, host_lines(data) if asked else None, len(data))


def _wait(gpus: pd.DataFrame) -> bool:
    """Whether the GPUs of a node wait in a tenth of the samples."""
    means = gpus.groupby("seconds")["utilization_pct"].mean()
    return bool(len(means)) and float((means < WAITING_PCT).mean()) >= _OFTEN


def _joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame | tuple[()]:
    known = [frame for frame in frames if len(frame)]
    return pd.concat(known, ignore_index=True) if known else ()


def _frame(lines: pd.DataFrame, node: str, even: bool) -> pd.DataFrame:
    at = pd.to_datetime(lines["seconds"], unit="s", utc=True).dt.as_unit("ms")
    return lines.assign(timestamp=at, node=node, even=even)
