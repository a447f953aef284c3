"""What AWS charges for an hour of training on an instance type. Its public price list is queried in the background.

A price is certain or unknown: where rows differ there is none. And it is never worth waiting for: one attempt, a few seconds
at most, and what did not answer is left alone for a while.

GetProducts gives rows of many kinds for one instance type: each use of SageMaker is a product of its own, some are free,
and a product has terms of its own for reservations. Only what is certain to be meant is read.

What was found out is kept in the user's cache folder: a price list is requested once a week. The file is written beside its
place and moved there. As with every cache, what cannot be read or written is as if it were not there.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monitor.atomic_file import replacing
from monitor.aws.calls import begin
from monitor.errors import NoCredentials, NotAllowed, TrainwatchError
from monitor.faults import fault
from monitor.model import Gap, Price, is_price
from monitor.settings import cache_folder

if TYPE_CHECKING:
    from monitor.aws.clients import Clients

#: The longest that anybody waits for a price. Its call goes on, and a later look finds the answer.
WAIT_S = 3.0
PRICE_HOLDS_S = 7 * 86400.0
ABSENCE_HOLDS_S = 86400.0
#: After trouble the list is asked again at the earliest then.
TROUBLE_HOLDS_S = 600.0
# A page has up to a hundred rows; the filters leave a handful.
_MOST_PAGES = 5


@dataclass(frozen=True, slots=True)
class _Query:
    answer: Future[PriceLookup]
    at_s: float


class PriceList:
    """On-demand prices of training in USD. Safe to share between threads; ``clock`` is the tests' to replace.

    ``file`` is where answers outlive the process; None for nowhere.
    """

    def __init__(
        self,
        clients: Clients,
        file: PriceFile | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._clients = clients
        self._kept = file
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], PriceLookup] = {}
        self._asked: dict[tuple[str, str], _Query] = {}

    def price(self, instance_type: str, region: str, partition: str = "aws") -> Price | Gap:
        """The price, or why it is not known. Takes ``WAIT_S`` at most, and no time where it was asked before."""
        if partition != "aws":
            return _gap(instance_type, f"AWS's price list has no USD prices for the partition {partition}.")
        known = self._lookup_in_time((region, instance_type))
        if known.usd is None:
            return _gap(instance_type, known.why)
        return Price(known.usd, f"AWS price list, {region}, {known.at:%Y-%m-%d}")

    def _lookup_in_time(self, key: tuple[str, str]) -> PriceLookup:
        with self._lock:
            known = self._known.get(key)
            if known is not None and known.holds(self._clock()):
                return known
            if key not in self._asked:
                self._asked[key] = _Query(begin(self._look_up, key), time.monotonic())
            asked = self._asked[key]
        try:
            return asked.answer.result(max(0.0, asked.at_s + WAIT_S - time.monotonic()))
        except TimeoutError:
            return self._too_late(key)

    def _look_up(self, key: tuple[str, str]) -> PriceLookup:
        """From the file, else from AWS. Nothing escapes: whoever asks waits for an answer."""
        region, instance_type = key
        name = ""
        try:
            name = self._name(key)
            looked = self._kept.load(name, self._clock()) if self._kept else None
            if looked is None:
                looked = self._read(instance_type, region)
            else:
                name = ""
        except (NotAllowed, NoCredentials) as error:
            # Quickly said, and the next command may come with other rights: not kept.
            looked, name = self._trouble(error.message), ""
        except TrainwatchError as error:
            looked = self._trouble(f"AWS's price list cannot be read: {error.message}")
        except Exception as error:
            looked = self._trouble(str(fault(error, "Reading AWS's price list")))
        with self._lock:
            self._known[key] = looked
            self._asked.pop(key, None)
        if self._kept and name:
            self._kept.store(name, looked, self._clock())
        return looked

    def _read(self, instance_type: str, region: str) -> PriceLookup:
        rows: list[Any] = []
        more: dict[str, str] = {}
        for _ in range(_MOST_PAGES):
            answer = self._clients.call(
                "pricing",
                "get_products",
                ServiceCode="AmazonSageMaker",
                FormatVersion="aws_v1",
                MaxResults=100,
                Filters=[
                    {"Type": "TERM_MATCH", "Field": field, "Value": value}
                    for field, value in (
                        ("instanceName", instance_type),
                        ("regionCode", region),
                        ("platoinstancetype", "Training"),
                    )
                ],
                **more,
            )
            rows += answer.get("PriceList") or ()
            if not answer.get("NextToken"):
                break
            more = {"NextToken": answer["NextToken"]}
        else:
            # Another price may stand in what was not read.
            return self._absent(f"AWS's price list has too many rows for {instance_type} in {region}.")
        if rows and not any(is_product(row) for row in rows):
            return self._trouble("AWS's price list does not answer like AWS: no row of it can be read.")
        match training_prices(rows, instance_type, region):
            case (usd,):
                return PriceLookup(self._clock(), PRICE_HOLDS_S, usd)
            case ():
                return self._absent(f"AWS's price list has no price for training on {instance_type} in {region}.")
            case several:
                listed = ", ".join(f"${usd:g}" for usd in several[:4]) + (", …" if len(several) > 4 else "")
                why = f"AWS's price list has several prices for training on {instance_type} in {region}: {listed}."
                return self._absent(why)

    def _absent(self, why: str) -> PriceLookup:
        return PriceLookup(self._clock(), ABSENCE_HOLDS_S, None, why)

    def _trouble(self, why: str) -> PriceLookup:
        return PriceLookup(self._clock(), TROUBLE_HOLDS_S, None, why)

    def _too_late(self, key: tuple[str, str]) -> PriceLookup:
        late = self._trouble(f"AWS's price list did not answer within {WAIT_S:g} s.")
        if self._kept:
            # The next command must not wait as long again; an answer that still comes takes this one's place.
            self._kept.store(self._name(key), late, self._clock())
        return late

    def _name(self, key: tuple[str, str]) -> str:
        """The key in the file: another endpoint may stand for another AWS."""
        return " ".join((self._clients.endpoint("pricing"), *key)) if self._kept else ""


def _gap(instance_type: str, why: str) -> Gap:
    remedy = f"Put the price of {instance_type} into the settings file."
    return Gap("price", why, remedy, transient=True)


# "USE1-Train:ml.p4d.24xlarge", and without a prefix in the list's first region; not "SpotTrain" and the like.
_TRAIN_USAGE = re.compile(r"(?:^|-)Train:")


def training_prices(rows: Iterable[Any], instance_type: str, region: str) -> tuple[float, ...]:
    """The different on-demand prices that can be prices, in USD an hour, lowest first; empty where there is none.

    ``rows`` is the ``PriceList`` of the answer: texts of JSON. What is of another form is left out.
    """
    found: set[float] = set()
    for row in rows:
        product = _parsed(row)
        attributes = _at(product, "product", "attributes")
        if _is_training(attributes, instance_type, region):
            found.update(_hourly_usd(_at(product, "terms", "OnDemand")))
    return tuple(sorted(found))


def is_product(row: Any) -> bool:
    """Whether a row can be read at all, whatever it prices."""
    return bool(_at(_parsed(row), "product"))


def _parsed(row: Any) -> Any:
    if not isinstance(row, (str, bytes)):
        return row
    try:
        return json.loads(row)
    except (ValueError, RecursionError):
        return None


def _at(value: Any, *path: str) -> Mapping[str, Any]:
    """What stands at ``path``; empty where it is not there, or no object."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def _is_training(attributes: Mapping[str, Any], instance_type: str, region: str) -> bool:
    # The attribute instanceType has the use at its end ("ml.m5.large-Training"), and types have hyphens themselves.
    if attributes.get("instanceName") != instance_type or attributes.get("regionCode") != region:
        return False
    use = attributes.get("platoinstancetype")
    if use is None:
        return bool(_TRAIN_USAGE.search(str(attributes.get("usagetype", ""))))
    return bool(use == "Training")


def _hourly_usd(terms: Mapping[str, Any]) -> Iterator[float]:
    for term in terms.values():
        for rate in _at(term, "priceDimensions").values():
            if str(_at({"rate": rate}, "rate").get("unit", "")).lower() in {"hrs", "hr", "hours", "hour"}:
                try:
                    usd = float(_at(rate, "pricePerUnit").get("USD", "nan"))
                except (TypeError, ValueError):
                    continue
                if is_price(usd):
                    yield usd


_FORMAT = 1


@dataclass(frozen=True, slots=True)
class PriceLookup:
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

    def load(self, key: str, now: datetime) -> PriceLookup | None:
        """What still holds for a key; None where nothing does."""
        return self._read(now).get(key)

    def store(self, key: str, lookup: PriceLookup, now: datetime) -> None:
        """Keeps it beside all else that still holds."""
        rows = {name: _row(each) for name, each in {**self._read(now), key: lookup}.items()}
        with suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replacing(self._path) as file:
                file.write(json.dumps({"format": _FORMAT, "prices": rows}, indent=1).encode())

    def _read(self, now: datetime) -> dict[str, PriceLookup]:
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            rows = kept["prices"].items() if kept["format"] == _FORMAT else ()
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {}
        found = {key: looked for key, row in rows if (looked := _lookup(row)) is not None}
        return {key: looked for key, looked in found.items() if looked.holds(now)}


def user_prices(environ: Mapping[str, str] | None = None) -> PriceFile | None:
    """The file in the user's cache folder; None where caches are turned off."""
    folder = cache_folder(environ)
    return None if folder is None else PriceFile(folder / "prices.json")


def _row(lookup: PriceLookup) -> dict[str, Any]:
    return {"at": lookup.at.isoformat(), "holds_s": lookup.holds_s, "usd": lookup.usd, "why": lookup.why}


def _lookup(row: Any) -> PriceLookup | None:
    """None for a row of another form: a damaged price is worse than none."""
    try:
        at, holds_s, usd = datetime.fromisoformat(row["at"]), float(row["holds_s"]), row["usd"]
        if usd is not None and not is_price(usd):
            return None
        return PriceLookup(at.astimezone(UTC), holds_s, None if usd is None else float(usd), str(row["why"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
