"""An AWS without a network: credentials that open nothing, and answers written by the test."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.loaders import create_loader

from monitor.aws.clients import Clients
from monitor.errors import NotAllowed

REGION = "us-east-1"
ACCOUNT = "123456789012"
_LOADER = create_loader()


def never_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two tries of one call: who waits elsewhere in this process still sleeps, in place of asking without an end."""
    monkeypatch.setattr("botocore.endpoint.time", SimpleNamespace(sleep=lambda seconds: None))


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """No AWS variable of the machine counts; nobody waits between tries."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "no-config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "no-credentials"))
    never_wait(monkeypatch)
    # Reading the description of a service takes a quarter of a second: once is enough for all tests.
    monkeypatch.setattr("botocore.session.create_loader", lambda path=None: _LOADER)


#: What DescribeTrainingJob always says, beside what a test is about.
JOB = {"TrainingJobName": "a", "TrainingJobStatus": "Completed", "CreationTime": 1_700_000_000}


class _Body(BytesIO):
    def stream(self, **_: Any) -> Iterator[bytes]:
        while block := self.read():
            yield block


def reply(body: dict[str, Any] | bytes, status: int = 200) -> AWSResponse:
    """One HTTP answer, JSON unless it is bytes."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"content-type": "application/x-amz-json-1.1", "x-amzn-requestid": "0"}
    return AWSResponse(f"https://{REGION}.test/", status, headers, _Body(raw))


def refusal(code: str, message: str = "", status: int = 400) -> AWSResponse:
    """One HTTP answer that says no."""
    return reply({"__type": code, "message": message}, status)


def answer_with(
    clients: Clients, service: str, answers: Iterable[AWSResponse | Exception], operation: str = "*"
) -> None:
    """The next requests to ``service`` get these answers, one each, instead of going out."""
    waiting = iter(answers)

    def send(**_: Any) -> AWSResponse:
        answer = next(waiting)
        if isinstance(answer, Exception):
            raise answer
        return answer

    clients.client(service).meta.events.register_first(f"before-send.*.{operation}", send)


class Scripted:
    """Stands for Clients where a test plays AWS itself: one function a method, called with the call's parameters."""

    region = REGION

    def __init__(self, **methods: Callable[..., dict[str, Any]]) -> None:
        self.methods = methods
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def client(self, service: str) -> None:
        return None

    def call(self, service: str, method: str, **parameters: Any) -> dict[str, Any]:
        self.asked.append((method, parameters))
        return self.methods[method](**parameters)

    def times_asked(self, method: str) -> int:
        return sum(name == method for name, _ in self.asked)


def not_allowed(action: str) -> Callable[..., dict[str, Any]]:
    """A method that AWS refuses."""

    def refuse(**_: Any) -> dict[str, Any]:
        raise NotAllowed(f"AWS does not allow {action} to these credentials.", "Have it allowed.")

    return refuse
