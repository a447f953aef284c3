"""The price list is asked once, in little time; what is refused, absent or unclear is a gap and no guess."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from monitor.errors import CannotDo, Unreachable
from monitor.fetch import prices
from monitor.fetch.account import AwsSource
from monitor.fetch.files.source import FilesSource
from monitor.fetch.prices import PriceFile, PriceList
from monitor.model import Gap, Job, Price
from tests.aws.fake import Scripted, not_allowed
from tests.fetch.price_rows import row
from tests.fetch.sample import job

KIND, REGION = "ml.g5.12xlarge", "eu-west-1"
NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


class Listing(Scripted):
    """A price list of one answer a call, the last of them for ever."""

    def __init__(self, *answers: list[str] | Exception | Callable[[], None]) -> None:
        super().__init__(get_products=self._next)
        self._answers = list(answers)

    def endpoint(self, service: str) -> str:
        return f"https://{service}.test"

    def _next(self, **_: Any) -> dict[str, Any]:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return {"PriceList": answer}


def listing(clients: Scripted, kept: PriceFile | None = None, clock: Clock | None = None) -> PriceList:
    return PriceList(clients, kept, clock or Clock())  # type: ignore[arg-type]


def of(*usd: str) -> list[str]:
    return [row(each, region=REGION) for each in usd]


def test_a_price_has_its_list_region_and_day() -> None:
    clients = Listing(of("12.5"))
    price = listing(clients).price(KIND, REGION)
    assert price == Price(12.5, "AWS price list, eu-west-1, 2026-11-21")
    ((method, asked),) = clients.asked
    assert method == "get_products"
    assert {(f["Field"], f["Value"]) for f in asked["Filters"]} == {
        ("instanceName", KIND),
        ("regionCode", REGION),
        ("platoinstancetype", "Training"),
    }


def _why(found: Price | Gap) -> str:
    assert isinstance(found, Gap)
    assert found.what == "price"
    assert found.transient
    assert KIND in found.remedy
    return found.why


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ([], "has no price for training on ml.g5.12xlarge in eu-west-1"),
        (of("0.0"), "has no price"),
        (of("3.0", "2.5"), "several prices for training on ml.g5.12xlarge in eu-west-1: $2.5, $3."),
        (Unreachable("It is not there."), "cannot be read: It is not there."),
        (["{", "no JSON", "[]"], "does not answer like AWS"),
        (list("text"), "does not answer like AWS"),
        (CannotDo("The stub has no such call."), "cannot be read: The stub"),
        (KeyError("odd"), "failed because of an error in Trainwatch itself (KeyError"),
        (not_allowed, "does not allow pricing:GetProducts"),
    ],
)
def test_what_is_not_known_for_sure_is_a_gap(answer: Any, why: str) -> None:
    clients = Scripted(get_products=not_allowed("pricing:GetProducts")) if answer is not_allowed else Listing(answer)
    assert why in _why(listing(clients).price(KIND, REGION))


def test_all_pages_are_read_before_a_price_is_sure() -> None:
    pages = [{"PriceList": of("2.5"), "NextToken": "more"}, {"PriceList": of("3.0")}]
    clients = Scripted(get_products=lambda **asked: pages["NextToken" in asked])
    assert "several" in _why(listing(clients).price(KIND, REGION))
    endless = Scripted(get_products=lambda **_: pages[0])
    assert "too many rows" in _why(listing(endless).price(KIND, REGION))
    assert len(endless.asked) == 5


def test_other_partitions_are_not_asked() -> None:
    clients = Listing(of("12.5"))
    source = AwsSource(clients)  # type: ignore[arg-type]
    chinese = job(TrainingJobArn="arn:aws-cn:sagemaker:cn-north-1:123456789012:training-job/vit")
    found = source.price(KIND, chinese)
    assert found is not None
    assert "partition aws-cn" in _why(found)
    assert clients.asked == []


def test_the_region_is_the_jobs() -> None:
    clients = Listing([row("12.5", region="us-west-2")])
    source = AwsSource(clients)  # type: ignore[arg-type]
    there = job(TrainingJobArn="arn:aws:sagemaker:us-west-2:123456789012:training-job/vit")
    found = source.price(KIND, there)
    assert isinstance(found, Price)
    assert "us-west-2" in found.source
    assert FilesSource(["a.log"]).price(KIND, Job("a")) is None


def test_a_price_is_asked_once_a_week_and_trouble_again_after_some_minutes() -> None:
    clock, clients = Clock(), Listing(Unreachable("Not now."), of("12.5"), of("13.5"))
    prices_of = listing(clients, clock=clock)
    for minutes, usd, calls in [(0, None, 1), (9, None, 1), (11, 12.5, 2), (6 * 1440, 12.5, 2), (8 * 1440, 13.5, 3)]:
        clock.now = NOW + timedelta(minutes=minutes)
        found = prices_of.price(KIND, REGION)
        assert (found.usd_per_instance_hour if isinstance(found, Price) else None) == usd
        assert len(clients.asked) == calls


def test_many_who_ask_at_once_make_one_call() -> None:
    let = threading.Event()

    def slowly(**_: Any) -> dict[str, Any]:
        let.wait(10)
        return {"PriceList": of("12.5")}

    clients = Scripted(get_products=slowly)
    prices_of = listing(clients)
    found: list[Price | Gap] = []
    threads = [threading.Thread(target=lambda: found.append(prices_of.price(KIND, REGION))) for _ in range(4)]
    for thread in threads:
        thread.start()
    let.set()
    for thread in threads:
        thread.join()
    assert len(clients.asked) == 1
    assert found == [Price(12.5, "AWS price list, eu-west-1, 2026-11-21")] * 4


def test_nobody_waits_longer_than_said_and_a_late_answer_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(prices, "WAIT_S", 0.05)
    let = threading.Event()

    def slowly(**_: Any) -> dict[str, Any]:
        let.wait(10)
        return {"PriceList": of("12.5")}

    kept = PriceFile(tmp_path / "prices.json")
    clients = Listing([])
    clients.methods["get_products"] = slowly
    prices_of = listing(clients, kept)
    assert "did not answer within" in _why(prices_of.price(KIND, REGION))
    # The next process does not wait as long again.
    other = Listing(of("99"))
    assert "did not answer within" in _why(listing(other, kept).price(KIND, REGION))
    assert other.asked == []
    let.set()
    until = time.monotonic() + 10
    while not isinstance(prices_of.price(KIND, REGION), Price):
        assert time.monotonic() < until
        time.sleep(0.01)
    assert len(clients.asked) == 1


def test_answers_outlive_the_process_and_refusals_do_not(tmp_path: Path) -> None:
    kept = PriceFile(tmp_path / "trainwatch" / "prices.json")
    clock = Clock()
    refused = Listing([])
    refused.methods["get_products"] = not_allowed("pricing:GetProducts")
    _why(listing(refused, kept, clock).price(KIND, REGION))
    first, second = Listing(of("12.5")), Listing(of("99"))
    price = listing(first, kept, clock).price(KIND, REGION)
    clock.now += timedelta(days=6)
    assert listing(second, kept, clock).price(KIND, REGION) == price
    assert second.asked == []
    clock.now += timedelta(days=2)
    assert listing(second, kept, clock).price(KIND, REGION) != price


def test_another_endpoint_is_another_list(tmp_path: Path) -> None:
    kept = PriceFile(tmp_path / "prices.json")
    listing(Listing(of("12.5")), kept).price(KIND, REGION)
    stub = Listing(of("1.0"))
    stub.endpoint = lambda service: "http://127.0.0.1:5000"  # type: ignore[method-assign]
    found = listing(stub, kept).price(KIND, REGION)
    assert isinstance(found, Price)
    assert found.usd_per_instance_hour == 1.0
