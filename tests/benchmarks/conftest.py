from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.account import Faults, Running, running
from tests.benchmarks.sample import ACCOUNT, NOW_MS
from tests.benchmarks.stub import clients


@pytest.fixture(scope="session")
def stub() -> Iterator[Running]:
    with running(ACCOUNT, prepared=False) as aws:
        yield aws


@pytest.fixture
def aws(stub: Running) -> Running:
    """The stub as it was made: nothing counted, no faults, its clock where it stood."""
    stub.set_faults(Faults())
    stub.set_clock(NOW_MS)
    stub.reset()
    return stub


@pytest.fixture(scope="session")
def _made(stub: Running) -> dict[str, Any]:
    make = clients(stub)
    return {service: make(service) for service in ("logs", "cloudwatch", "sagemaker", "sts", "ec2")}


@pytest.fixture
def logs(aws: Running, _made: dict[str, Any]) -> Any:
    return _made["logs"]


@pytest.fixture
def cloudwatch(aws: Running, _made: dict[str, Any]) -> Any:
    return _made["cloudwatch"]


@pytest.fixture
def sagemaker(aws: Running, _made: dict[str, Any]) -> Any:
    return _made["sagemaker"]


@pytest.fixture
def others(aws: Running, _made: dict[str, Any]) -> dict[str, Any]:
    return _made
