"""How does the dashboard run beside the account? As a Streamlit process of its own, watched until it answers."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

from monitor.settings import LAUNCHED, user_folder

#: Reached from this machine alone.
HERE = "127.0.0.1"
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
