"""A filled account for the tests of one file: moto's state is one a process, so files take turns."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from monitor.demo.account import start
from tests.demo.seen import NOW, Seen


@pytest.fixture(scope="module")
def seen() -> Iterator[Seen]:
    with start(NOW) as account:
        yield Seen(account)
