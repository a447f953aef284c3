"""Pages run as in a browser, on an account of hand-built reports; nothing is remembered between tests."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from monitor.model import Report
from monitor.show import data
from tests.demo_jobs import reviewed
from tests.pages.fake import FakeAccount

APP = Path(__file__).parents[2] / "app.py"
Open = Callable[..., AppTest]


def jobs_page(timeout_s: float, **parameters: str) -> AppTest:
    """The first page at an address with these parameters, run once without an exception."""
    page = AppTest.from_file(str(APP), default_timeout=timeout_s)
    for name, text in parameters.items():
        page.query_params[name] = text
    page.run()
    assert not page.exception
    return page


@pytest.fixture(autouse=True, scope="session")
def _made_once() -> Iterator[None]:
    """What hangs on no test: the packages that are installed, and what charts look like whatever their data."""
    with pytest.MonkeyPatch.context() as patch:
        # Streamlit reads what every installed package says of itself, for each page that a test opens.
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        specifications: dict[Hashable, Any] = {}

        def specification(what: Hashable, make: Callable[[], Any]) -> Any:
            if what not in specifications:
                specifications[what] = make()
            return specifications[what]

        patch.setattr(data, "specification", specification)
        for name in ("of_report", "ordered_of", "detail_of"):
            patch.setattr(data, name, _shared(getattr(data, name)))
        yield


def _shared(keep: data.OfReport) -> data.OfReport:
    """What is made of one report is the same for all tests that look at it: a fifth of what its page costs.

    The cache of the pages lies before it, and begins empty in each test.
    """
    made: OrderedDict[tuple[int, str, CodeType], tuple[Report, Any]] = OrderedDict()

    def shared(report: Report, what: str, make: Callable[[], Any]) -> Any:
        def once() -> Any:
            which = (id(report), what, make.__code__)
            if which not in made:
                made[which] = report, make()  # as long as it is held no other report has its number
            made.move_to_end(which)
            while len(made) > 512:
                made.popitem(last=False)
            return made[which][1]

        return keep(report, what, once)

    return shared


@pytest.fixture
def demo_reports() -> dict[str, Report]:
    """The demo's jobs, reviewed, by the beginnings of their names. Tests that ask for it are of the group ``figures``."""
    return reviewed()


@pytest.fixture(autouse=True)
def _nothing_remembered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.delenv("TRAINWATCH_DEMO", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    st.cache_data.clear()
    st.cache_resource.clear()
    yield
    st.cache_data.clear()
    st.cache_resource.clear()


@pytest.fixture
def open_page(monkeypatch: pytest.MonkeyPatch) -> Open:
    """Opens ``jobs`` or ``job`` on an account, with query parameters."""

    def open_(account: FakeAccount, page: str = "jobs", **parameters: str) -> AppTest:
        data.forget()
        monkeypatch.setattr(data, "connect", lambda _: account)
        monkeypatch.setattr(data, "observe", lambda source: source)
        monkeypatch.setattr(data, "read_logs", lambda source: source)
        shown = AppTest.from_file(str(APP), default_timeout=20)
        for name, value in parameters.items():
            shown.query_params[name] = value
        # The first page is not drawn where another one is asked for, as in a browser that opens a link.
        (shown if page == "jobs" else shown.switch_page(f"pages/{page}.py")).run()
        assert not shown.exception
        return shown

    return open_
