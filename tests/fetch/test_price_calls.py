"""The price list over boto3's own client: where it is asked, how often, and what refusals and other servers become."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from monitor.aws.clients import Clients
from monitor.fetch.account import AwsSource
from monitor.fetch.prices import WAIT_S
from monitor.model import Gap, Price
from tests.aws.fake import answer_with, refusal, reply
from tests.fetch.price_rows import row
from tests.fetch.sample import job

KIND = "ml.g5.12xlarge"


@pytest.fixture
def clients(offline: None) -> Clients:
    return Clients("ap-southeast-2")


def _why(clients: Clients) -> str:
    found = AwsSource(clients).price(KIND, job())
    assert isinstance(found, Gap)
    return found.why


def test_all_regions_are_asked_in_one_and_the_call_is_on_the_bill(clients: Clients) -> None:
    answer_with(
        clients, "pricing", [reply({"FormatVersion": "aws_v1", "PriceList": [row(), row("4.0", use="Hosting")]})]
    )
    found = AwsSource(clients).price(KIND, job())
    assert isinstance(found, Price)
    assert found.usd_per_instance_hour == 12.5
    assert clients.endpoint("pricing") == "https://api.pricing.us-east-1.amazonaws.com"
    assert clients.bill().calls == {"GetProducts": 1}
    assert clients.bill().estimated_usd == 0.0


def test_a_refused_right_is_named(clients: Clients) -> None:
    message = "User: arn:aws:iam::1:user/x is not authorized to perform: pricing:GetProducts"
    answer_with(clients, "pricing", [refusal("AccessDeniedException", message)])
    assert _why(clients) == "AWS does not allow pricing:GetProducts to arn:aws:iam::1:user/x."


@pytest.mark.parametrize(
    "answer",
    [
        refusal("ThrottlingException"),
        refusal("InternalErrorException", status=500),
        reply(b"<!doctype html><p>no", 500),
    ],
)
def test_there_is_one_attempt(clients: Clients, answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "5")
    answer_with(clients, "pricing", [answer])
    assert _why(clients).startswith("AWS's price list cannot be read: ")
    assert clients.bill().calls == {"GetProducts": 1}


@pytest.mark.parametrize("body", [b"{", b"", b'{"PriceList": "12.5"}', b'{"PriceList": ["{"]}', b"[]"])
def test_garbage_gives_no_price(clients: Clients, body: bytes) -> None:
    answer_with(clients, "pricing", [reply(body)])
    assert _why(clients)


@contextmanager
def _mute() -> Iterator[str]:
    """A server that takes a request and says nothing until the end."""
    over = threading.Event()

    class Mute(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            over.wait(30)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mute)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        over.set()
        server.shutdown()
        server.server_close()


def test_a_list_that_says_nothing_is_not_waited_for(offline: None) -> None:
    with _mute() as address:
        begun = time.monotonic()
        assert "AWS's price list" in _why(Clients("us-east-1", endpoint_url=address))
        assert time.monotonic() - begun < WAIT_S + 3.0
