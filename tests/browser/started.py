"""The demo, a dashboard on another account, and a Chromium to look at them with, as a user would start them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[2]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
#: The table of jobs, or of log lines.
TABLE = '[role="grid"][aria-label*="Arrow keys"]'
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    # Pages are painted without a GPU made of software, which takes a quarter of all the time.
    "--disable-gpu-compositing",
    "--disable-software-rasterizer",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def running_demo() -> Iterator[str]:
    """The address of a demo that runs until the end of the block, and then ends cleanly."""
    with _running("demo", {}) as address:
        yield address


@contextmanager
def running_dashboard(environment: Mapping[str, str], *options: str) -> Iterator[str]:
    """The address of a dashboard on an account that the environment names, until the end of the block."""
    with tempfile.TemporaryDirectory() as home:
        own = dict.fromkeys(("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"), home)
        with _running("dashboard", own | dict(environment), *options) as address:
            yield address


@contextmanager
def _running(command: str, environment: Mapping[str, str], *options: str) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "monitor", command, "--port", str(port), *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "DISPLAY"} | dict(environment),
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    address = re.search(r"http://127\.0\.0\.1:\d+", line)
    assert address, f"the {command} printed no address but {line!r}"
    try:
        yield address[0]
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


@contextmanager
def chromium(*flags: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*_FLAGS, *flags])
        yield browser
        browser.close()


def named(names: list[str], start: str) -> str:
    """The job whose name begins so."""
    return next(name for name in names if name.startswith(start))
