"""Runs the dashboard until the user stops it: checks the port, prints the address, ends the child."""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from monitor.errors import BadCall, CannotDo
from monitor.installed import APP
from monitor.serve.child import HERE, Dashboard
from monitor.serve.hosts import who_can_see
from monitor.settings import READ_ONLY

HOSTS = f"Use --host 0.0.0.0 for all addresses of this machine, or leave out --host for {HERE}."
REMEDY = "Choose another one: --port 8600 (make demo PORT=8600)."


def check(port: int, script: Path = APP, host: str = HERE) -> None:
    """Raises unless this process could listen there and the dashboard's script is there.

    BadCall for an impossible port or an address that is none of this machine's, CannotDo for a port that is taken or a
    script that is missing.
    """
    if not 1 <= port <= 65_535:
        raise BadCall(f"There is no port {port}.", "Choose one from 1024 to 65535: --port 8600.")
    if not script.is_file():
        raise CannotDo(
            f"The dashboard's script {script} is missing.", "Run from a complete checkout, or install Trainwatch again."
        )
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise BadCall(f"There is no host '{host}'.", HOSTS) from error
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        if os.name == "posix":
            # A port that was just left is free for a new listener, as it is for Streamlit's.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(place)
        except PermissionError as error:
            raise CannotDo(f"Port {port} is reserved for the system.", REMEDY) from error
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise BadCall(f"{host} is not an address of this machine.", HOSTS) from error
            raise CannotDo(f"Port {port} is already in use.", REMEDY) from error


@contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """An event that Ctrl-C, SIGTERM and SIGHUP set; afterward these mean again what they meant before."""
    stopped = threading.Event()
    signals = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, lambda *_: stopped.set()) for number in signals}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def serve(
    port: int,
    environment: Mapping[str, str],
    stopped: threading.Event,
    announce: Callable[[str], str],
    script: Path = APP,
    host: str = HERE,
) -> None:
    """Shows the dashboard until ``stopped`` is set; prints ``announce(url)`` once it answers, and to stderr who else can see
    it.

    CannotDo if the dashboard ends by itself.
    """
    dashboard = Dashboard(script, port, environment, host)
    try:
        if dashboard.wait_until_it_answers(stopped.is_set):
            print(announce(dashboard.url), flush=True)
            if who := who_can_see(host, port, environment.get(READ_ONLY) == "1"):
                print(who, file=sys.stderr, flush=True)
            if _has_display() and sys.stdout.isatty():
                webbrowser.open(dashboard.url)
        while dashboard.exit_code is None and not stopped.wait(0.2):
            pass
    finally:
        dashboard.stop()
    if not stopped.is_set():
        raise CannotDo(f"The dashboard {dashboard.state}.", "The lines above say why.")


def _has_display() -> bool:
    """Whether a browser could show itself to the person at this terminal."""
    if "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform in {"darwin", "win32"} or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
