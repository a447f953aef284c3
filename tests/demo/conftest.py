"""A filled account for the tests of one file: moto's state is one a process, so files take turns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.demo.account import start
from tests.demo.seen import NOW, Seen


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of one account run in one worker, so that it is filled once."""
    for item in items:
        if "seen" in getattr(item, "fixturenames", ()) and item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.xdist_group(f"demo-{item.path.stem}"))


@pytest.fixture(scope="module")
def seen() -> Iterator[Seen]:
    with start(NOW) as account:
        yield Seen(account)
