"""The embedded account behind a server of tools, and a client of the SDK that talks to it in memory."""

from __future__ import annotations

import contextvars
import os
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from monitor.demo.account import DemoAccount, start


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of the account run in one worker: there is one account a process."""
    for item in items:
        if "account" in getattr(item, "fixturenames", ()) and item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.xdist_group("agents"))


@pytest.fixture(scope="package")
def account() -> Iterator[DemoAccount]:
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        with start(datetime.now(UTC)) as running:
            for name, value in running.environment.items():
                if name.startswith(("AWS_", "XDG_")):
                    patch.setenv(name, value)
            yield running


@pytest.fixture(scope="package")
def desk(account: DemoAccount) -> Any:
    from monitor.agents.account_session import AccountSession
    from monitor.aws.clients import Clients
    from monitor.fetch.account import AwsSource
    from monitor.settings import read

    return AccountSession(lambda: AwsSource(Clients()), read())


class Agent:
    """Calls tools one after the other, as a host would."""

    def __init__(self, made: Any) -> None:
        self.server = made

    def do(self, what: Callable[[Any], Awaitable[Any]], **how: Any) -> Any:
        """What ``what`` gives, called with a client that is connected."""
        import anyio
        from mcp.client import Client

        async def run() -> Any:
            async with Client(self.server, **how) as client:
                return await what(client)

        # A browser that tests in this process drive holds the loop of its thread for as long as it is open.
        with ThreadPoolExecutor(1) as aside:
            return aside.submit(contextvars.copy_context().run, anyio.run, run).result()

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.do(lambda client: client.call_tool(tool, arguments))

    def text(self, tool: str, **arguments: Any) -> str:
        """The text of an answer that is none of an error."""
        found = self.call(tool, **arguments)
        assert not found.is_error, found.content[0].text
        return str(found.content[0].text)

    def refusal(self, tool: str, **arguments: Any) -> str:
        found = self.call(tool, **arguments)
        assert found.is_error
        return str(found.content[0].text)


@pytest.fixture(scope="package")
def agent(desk: Any) -> Agent:
    from monitor.agents.server import server

    return Agent(server(desk))
