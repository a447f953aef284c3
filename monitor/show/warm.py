"""How the first page appears quickly. Streamlit, which imports what pages need before anybody asks for one.

``python -m monitor.show.warm run app.py …`` is ``streamlit run app.py …`` with the imports begun at the start.
"""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import threading
import time
from contextlib import suppress

from monitor.settings import LAUNCHED
from monitor.terminal import outlets

# Decorators of the pages' modules want Streamlit's runtime to be there.
_LOOK_EVERY_S, _GIVE_UP_AFTER_S = 0.05, 60.0


def main() -> None:
    """Runs Streamlit's command line with this process's arguments."""
    if os.environ.get(LAUNCHED) == "1":
        threading.Thread(target=_end_with_launcher, name="launcher", daemon=True).start()
    threading.Thread(target=_import_ahead, name="imports", daemon=True).start()
    from streamlit.web.cli import main as streamlit

    # What a page complains of may quote a log.
    with outlets():
        streamlit(prog_name="streamlit", color=False)


def _end_with_launcher() -> None:
    """A launcher that is killed cannot end this process; its end of the pipe closes all the same."""
    with suppress(OSError):
        while os.read(0, 4096):
            continue
    os._exit(0)


def _import_ahead() -> None:
    from streamlit import runtime

    until = time.monotonic() + _GIVE_UP_AFTER_S
    while not runtime.exists():
        if time.monotonic() > until:
            return
        time.sleep(_LOOK_EVERY_S)
    for room in ("monitor.show", "monitor.charts", "monitor.diagnose"):
        for module in pkgutil.walk_packages(importlib.import_module(room).__path__, f"{room}."):
            try:
                importlib.import_module(module.name)
            except Exception:  # whoever needs it fails on it again, where it is shown
                continue
    # Streamlit collects garbage after each run of a page. What stays for good need not be searched each time.
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    main()
