"""The dashboard beside the account: a Streamlit process of its own, watched until it answers, and run until the user stops it;
and who reaches an address that is listened on."""

from __future__ import annotations

import errno
import ipaddress
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from monitor.choices import HERE
from monitor.errors import BadCall, CannotDo
from monitor.installed import APP
from monitor.settings import LAUNCHED, READ_ONLY, user_folder


def is_this_machine_alone(host: str) -> bool:
    """Whether only programs of this machine get in: a loopback address, or its name."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def who_can_see(host: str, port: int, read_only: bool) -> str:
    """A sentence on what others get to see and do at this address; empty where only this machine reaches it."""
    if is_this_machine_alone(host):
        return ""
    where = "this machine" if host in {"0.0.0.0", "::"} else host
    can = (
        "They can change nothing (--read-only)."
        if read_only
        else "They can also change its thresholds and mutes (--no-read-only)."
    )
    return (
        f"There is no sign-in: everyone who reaches port {port} of {where} sees all jobs, logs, parameters and costs that the "
        f"credentials of this dashboard can read. {can} docs/hosting.md shows how to put a sign-in in front."
    )


ANSWERS_WITHIN_S = 60.0
# Streamlit waits for open pages when it is asked to end; nobody here wants to.
ENDS_WITHIN_S = 1.0
# Straight to this machine, whatever proxies are set.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Dashboard:
    """The Streamlit process that shows ``script`` on ``host``:``port``."""

    def __init__(self, script: Path, port: int, environment: Mapping[str, str], host: str = HERE) -> None:
        # All addresses are one of this machine's own, too.
        reached = {"0.0.0.0": HERE, "::": "::1"}.get(host, host)
        self.url = f"http://[{reached}]:{port}" if ":" in reached else f"http://{reached}:{port}"
        options = {
            "server.port": str(port),
            "server.address": host,
            "server.headless": "true",
            "server.fileWatcherType": "none",
            "logger.level": "warning",
            "logger.hideWelcomeMessage": "true",
            "browser.gatherUsageStats": "false",
        }
        given = [part for name, value in options.items() for part in (f"--{name}", value)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "monitor.show.warm", "run", str(script), *given],
            cwd=script.parent,
            env={**_with_home(environment), LAUNCHED: "1"},
            # Nothing is ever written: it ends with this process, however that ends.
            stdin=subprocess.PIPE,
            # Streamlit prints a page's errors there; results go to nobody, so to this process's standard error.
            stdout=2,
            # Ctrl-C is for the launching process alone, which then ends this one.
            start_new_session=True,
        )

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    @property
    def state(self) -> str:
        """In words, for when it is not as it should be."""
        if self.exit_code is None:
            return f"does not answer at {self.url}"
        return f"exited on its own with exit code {self.exit_code}"

    def wait_until_it_answers(self, given_up: Callable[[], bool]) -> bool:
        """True once pages are served; False if it has ended, takes too long, or ``given_up()`` says to stop waiting."""
        until = time.monotonic() + ANSWERS_WITHIN_S
        while self.exit_code is None and not given_up() and time.monotonic() < until:
            try:
                with _DIRECT.open(f"{self.url}/_stcore/health", timeout=1.0) as answer:
                    if answer.status == 200:
                        return True
            except OSError:
                time.sleep(0.05)
        return False

    def stop(self) -> None:
        """Asks it to end, and after a second makes it."""
        if self.exit_code is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            if self._process.stdin is not None:
                self._process.stdin.close()


def _with_home(environment: Mapping[str, str]) -> dict[str, str]:
    """Streamlit does not start for a user without a home; as containers do, such a one is given the root."""
    homeless = "HOME" not in environment and user_folder("CONFIG", {}) is None
    return {**environment, **({"HOME": "/"} if homeless else {})}


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
