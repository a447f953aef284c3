"""How the suite runs: few examples of each property test (many with HYPOTHESIS_PROFILE=thorough), groups in one worker."""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

# Where Python is told to keep no bytecode (as in containers), each worker would compile all tests, and each process that a
# test starts the whole program: half of its start. Before anything else is imported.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# ruff: noqa: E402
import botocore.session
import pytest
import vl_convert
from _pytest.nodeid import coerce_node_id
from botocore.hooks import EventAliaser
from botocore.loaders import create_loader
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadGroupScheduling

from monitor import faults
from monitor.cli import main
from tests import drawn

# Nothing here times anything: a busy machine is no failure. Nor is luck: of the same code the suite says the same; what no
# example has shown yet is looked for by "thorough".
settings.register_profile(
    "suite", max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("suite"), max_examples=1000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


@pytest.fixture(autouse=True, scope="session")
def _models_read_once() -> Iterator[None]:
    """The models of AWS's services are files of megabytes: read once, and not by each of a thousand sessions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.session, "create_loader", cache(create_loader))
        # What each of them looks up of the names of hundreds of events is the same, too.
        names: dict[str, str] = {}
        begin = EventAliaser.__init__

        def begun(aliaser: EventAliaser, *given: Any, **told: Any) -> None:
            begin(aliaser, *given, **told)
            aliaser._alias_name_cache = names

        patch.setattr(EventAliaser, "__init__", begun)
        yield


@pytest.fixture(autouse=True, scope="session")
def _grammar_made_once() -> Iterator[None]:
    """A process has one; here a thousand calls are made in each, and to make it takes longer than what many of them do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(main, "parser", cache(main.parser))
        yield


def _drawn_once(draw: Callable[..., str]) -> Callable[..., str]:
    """The same picture for the same chart."""
    pictures: dict[str, str] = {}

    def drawn(chart: Any, **how: Any) -> str:
        asked = json.dumps([chart, how], sort_keys=True)
        if asked not in pictures:
            pictures[asked] = draw(chart, **how)
        return pictures[asked]

    return drawn


@pytest.fixture(autouse=True, scope="session")
def _pictures_drawn_once() -> Iterator[None]:
    """One report is drawn for a page, for a notebook and for what is saved, and by many tests of its words."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vl_convert, "vegalite_to_svg", _drawn_once(vl_convert.vegalite_to_svg))
        yield


@pytest.fixture(autouse=True)
def _log_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Errors that a test provokes are logged where nobody else's are."""
    monkeypatch.setattr(faults, "_written", {})
    monkeypatch.setattr(faults, "_folders", lambda: iter([tmp_path_factory.getbasetemp() / "state"]))


@pytest.fixture(autouse=True)
def _main_is_kept() -> Iterator[None]:
    """A page that is tested leaves itself as ``__main__``; processes started later would run it before anything else."""
    before = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = before


def pytest_report_header() -> str:
    """Which cases were drawn, for who wants to see the same again."""
    return f"cases of {drawn.DAY} (the same again: CASES_OF={drawn.DAY}; all: HYPOTHESIS_PROFILE=thorough)"


class _ByFile(LoadGroupScheduling):
    """A file is read by one worker, as a group is: what it makes once is not made once a worker."""

    def _split_scope(self, nodeid: str) -> str:
        return super()._split_scope(nodeid).partition("::")[0]


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist, which a call may leave out
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadGroupScheduling | None:
    return _ByFile(config, log) if config.getvalue("dist") == "loadgroup" else None


# What takes longest comes first: a browser mostly waits, and accounts are read in one worker each.
_FIRST = ("browser", "strangers", "figures", "account", "both-ways", "agents")
_TIMEOUT_OF_FIRST_S = 300


def _turn(item: pytest.Item) -> int:
    group = getattr(item, "_nodeid", item.nodeid).rpartition("@")[2]
    if group in _FIRST:
        return _FIRST.index(group)
    # Of the others those beside this file, which install and start whole programs.
    return len(_FIRST) + (item.path.parent != Path(__file__).parent)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Groups of pytest-xdist: it writes them where pytest 9.2 does not look for a test's name any more.

    Where there are groups the longest begin, so that no worker is left with one in the end; else the order stays.
    """
    grouped = [item for item in items if getattr(item, "_nodeid", item.nodeid) != item.nodeid]
    if grouped:
        items.sort(key=_turn)
    for item in grouped:
        item._id = coerce_node_id(item._nodeid)
        # The first of a group makes what all of them share, such as reviews of all sample jobs, beside two busy workers.
        if _turn(item) < len(_FIRST) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(_TIMEOUT_OF_FIRST_S))


def pytest_collection_finish(session: pytest.Session) -> None:
    """What stays for good need not be searched for garbage: that takes half a second each time."""
    if not session.config.option.collectonly:
        gc.collect()
        gc.freeze()
        # Nor what each of thousands of tests has just made, every 700 objects.
        gc.set_threshold(50_000, 20, 20)
