"""The command itself: over standard input and output as a host starts it, and over HTTP on this machine alone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from monitor.cli.main import main
from monitor.demo.account import DemoAccount
from tests.agents.conftest import Agent
from tests.demo.test_serve import free_port

pytest.importorskip("mcp", reason="the extra mcp is not installed (requirements-mcp.txt)")

from mcp.client.stdio import StdioServerParameters

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def environment(account: DemoAccount) -> dict[str, str]:
    names = ("AWS_", "XDG_", "PATH", "HOME")
    return {name: value for name, value in {**os.environ, **account.environment}.items() if name.startswith(names)}


def test_a_host_starts_it_and_talks_over_standard_input_and_output(
    account: DemoAccount, environment: dict[str, str]
) -> None:
    started = StdioServerParameters(command=sys.executable, args=["-m", "monitor", "mcp"], env=environment, cwd=ROOT)
    agent = Agent(started)

    async def talk(client: object) -> tuple[list[str], str]:
        tools = (await client.list_tools()).tools  # type: ignore[attr-defined]
        found = await client.call_tool("review", {"job": account.jobs[1].name})  # type: ignore[attr-defined]
        return [tool.name for tool in tools], found.content[0].text

    names, text = agent.do(talk)
    assert names == ["jobs", "review", "evidence", "compare", "plan", "watch"]
    assert text.startswith(account.jobs[1].name)


@pytest.fixture
def served(environment: dict[str, str]) -> Iterator[str]:
    port = free_port()
    with subprocess.Popen(
        [sys.executable, "-m", "monitor", "mcp", "--http", "--port", str(port)],
        cwd=ROOT,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert f"http://127.0.0.1:{port}/mcp" in process.stderr.readline()
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=1)
            except urllib.error.HTTPError:
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
        process.send_signal(signal.SIGINT)
        process.stderr.read()
        assert process.wait(20) in {0, 130}


def test_it_is_served_over_http_to_this_machine(account: DemoAccount, served: str) -> None:
    found = Agent(served).call("watch", job=account.jobs[1].name, wait_s=0)
    assert found.structured_content["status"] == "InProgress"
    # A page in a browser that names this machine by another name, or comes from another site, gets nothing.
    port = served.split(":")[2].partition("/")[0]
    for strange in (
        {"Host": "evil.example"},
        {"Host": f"evil.example:{port}"},
        {"Origin": "https://evil.example"},
        {"Origin": f"http://evil.example:{port}"},
    ):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **strange}
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(served, b"{}", headers), timeout=5)
        assert refused.value.code in {403, 421}, strange
    # No other address of this machine is listened on.
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.2", int(port)), timeout=5)


def test_others_are_not_let_in(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--http", "--host", "0.0.0.0"]) == 2
    assert "no sign-in" in capsys.readouterr().err


def test_without_the_extra_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "monitor.agents.server", None)
    assert main(["mcp"]) == 3
    assert "pip install 'trainwatch[mcp]'" in capsys.readouterr().err
