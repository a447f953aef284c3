from __future__ import annotations

from collections.abc import Iterator

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
