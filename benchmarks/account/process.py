"""Runs the stub in a process of its own for as long as a block of code lasts, and talks to its control endpoint."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from multiprocessing.connection import Connection as Pipe
from types import ModuleType
from typing import Any

from benchmarks.account import faults as faults_of
from benchmarks.account.faults import Faults
from benchmarks.account.http_server import CONTROL_PATH, Connection
from benchmarks.account.many import Many
from benchmarks.account.plan import Account
from benchmarks.account.services import Services
from benchmarks.account.world import World


@dataclass(frozen=True, slots=True)
class Counts:
    """What the stub did since it was started or its counts were reset, by operation."""

    calls: dict[str, int]
    """All requests, also those that were refused."""
    throttled: dict[str, int]
    refused: dict[str, int]
    """By operation and code, such as "GetLogEvents AccessDeniedException"; throttled calls are not among them."""
    bytes: dict[str, int]
    """Of bodies."""
    cpu_s: float
    """Processor time of the stub: near ``seconds``, it is what limits its clients."""
    seconds: float
    """From the first call to the last."""


class Running:
    """A stub that runs; clients are told of it by ``environment`` or ``url``."""

    def __init__(self, account: Account, port: int) -> None:
        self.account = account
        self.url = f"http://127.0.0.1:{port}"
        self._port = port

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which any tool on botocore finds the stub, and nothing else."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "benchmark",
            "AWS_SECRET_ACCESS_KEY": "benchmark",
            "AWS_DEFAULT_REGION": self.account.region,
            "AWS_REGION": self.account.region,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "NO_PROXY": "127.0.0.1",
        }

    @contextmanager
    def environed(self) -> Iterator[None]:
        """This process's AWS is the stub, for as long as the block lasts."""
        before = dict(os.environ)
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            del os.environ[name]
        os.environ.update(self.environment)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)

    def counts(self) -> Counts:
        return Counts(**self._control("counts", {}))

    def reset(self) -> None:
        """Counts from zero, and fills the quotas."""
        self._control("reset", {})

    def set_clock(self, now_ms: float | None, rate: float = 0.0) -> None:
        """Sets the account's time, in epoch milliseconds; ``None`` is the machine's own time."""
        self._control("clock", {"now_ms": now_ms, "rate": rate})

    def advance(self, minutes: float) -> None:
        """Puts the account's clock forward."""
        self._control("advance", {"by_ms": minutes * 60_000})

    def set_faults(self, faults: Faults) -> None:
        """Replaces all faults."""
        self._control("faults", faults_of.as_json(faults))

    def _control(self, what: str, told: dict[str, Any]) -> dict[str, Any]:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request("POST", CONTROL_PATH + what, json.dumps(told))
            found: dict[str, Any] = json.loads(connection.getresponse().read())
        finally:
            connection.close()
        return found


@contextmanager
def running(account: Account, prepared: bool = True, members: tuple[Account, ...] = ()) -> Iterator[Running]:
    """The stub, ready to answer; its process ends with the block, or with this process.

    ``members`` are further accounts (and regions) that the credentials of ``account`` reach by assuming a role in them.

    With ``prepared`` all events are written out before (about three microseconds each); else by the first call that
    needs them. RuntimeError where the stub cannot start.
    """
    here, there = multiprocessing.Pipe()
    # A fresh interpreter: a fork would take threads and memory of the caller with it.
    child = multiprocessing.get_context("spawn").Process(
        target=_serve, args=((account, *members), there, prepared), daemon=True
    )
    with _without_main():
        child.start()
    there.close()
    try:
        try:
            port = here.recv()
        except EOFError as error:
            raise RuntimeError("the stub ended before it could answer; its own message is above") from error
        yield Running(account, port)
    finally:
        here.close()
        child.join(5)
        if child.is_alive():
            child.kill()
            child.join()


@contextmanager
def _without_main() -> Iterator[None]:
    """The child needs nothing of this process's main module, which may be a page that a test has just run."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _serve(accounts: tuple[Account, ...], pipe: Pipe, prepared: bool) -> None:
    worlds = [World(account) for account in accounts]
    services = Many([(world, Services(world)) for world in worlds])
    if prepared:
        services.prepare()
        services.reset()
    asyncio.run(_until_left(worlds, services, pipe))


async def _until_left(worlds: list[World], services: Many, pipe: Pipe) -> None:
    def control(what: str, told: dict[str, Any]) -> dict[str, Any]:
        match what:
            case "counts":
                return services.counts()
            case "reset":
                services.reset()
            case "clock":
                for world in worlds:
                    world.clock.set(told["now_ms"], told["rate"])
            case "advance":
                for world in worlds:
                    world.clock.advance(told["by_ms"])
            case "faults":
                services.set_faults(faults_of.from_json(told))
        return {}

    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(services, control), "127.0.0.1", 0, backlog=256)
    left = asyncio.Event()
    # The pipe ends when the other process closes it, and also when that process dies.
    loop.add_reader(pipe.fileno(), left.set)
    pipe.send(server.sockets[0].getsockname()[1])
    await left.wait()
    server.close()
