from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from moto import mock_aws

from monitor.aws.clients import Clients
from tests.aws.fake import REGION, offline

__all__ = ["offline"]


@pytest.fixture
def account(offline: None) -> Iterator[Clients]:
    """Clients of an empty account."""
    with mock_aws():
        yield Clients(REGION)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
