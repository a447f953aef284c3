"""A link opened by somebody else, on a machine that is set up otherwise, shows the same, or says why it cannot."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from benchmarks.account import Account, Job, Running, running
from monitor.fetch.files.source import FilesSource
from monitor.review.archived import ArchiveSource
from monitor.show import data
from tests.aws.fake import offline
from tests.pages.conftest import APP
from tests.pages.fake import texts

__all__ = ["offline"]
OWN, OTHER = "111122223333", "999988887777"
NAME = "bert-large-2026-03-04-08-00-00-123"


@pytest.fixture(scope="module")
def aws() -> Iterator[Running]:
    job = Job(name=NAME, started_ms=1_772_611_200_000, nodes=2, minutes=10, lines_per_minute=60)
    with running(Account(jobs=(job,), region="us-west-2", number=OWN, latency_ms=0)) as stub:
        yield stub


@pytest.fixture
def open_link(
    aws: Running, offline: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Callable[..., AppTest]]:
    """Opens a page as somebody whose machine has another region by itself."""
    for name in ("CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))

    def open_(page: str, by_itself: str | None = None, **parameters: str) -> AppTest:
        st.cache_data.clear()
        data.forget()
        for name, value in aws.environment.items():
            if not name.endswith("FILE"):
                monkeypatch.setenv(name, value)
        for name in ("AWS_REGION", "AWS_DEFAULT_REGION") if by_itself else ():
            monkeypatch.setenv(name, by_itself)
        shown = AppTest.from_file(str(APP), default_timeout=30)
        for name, value in parameters.items():
            shown.query_params[name] = value
        (shown if page == "jobs" else shown.switch_page(f"pages/{page}.py")).run()
        assert not shown.exception
        return shown

    yield open_
    data.forget()


def _address(page: AppTest) -> dict[str, str]:
    return {name: "".join(page.query_params[name]) for name in page.query_params}


def _seen(page: AppTest) -> str:
    """What the page says once all of the job was read."""
    account = data.account_of(_address(page)["region"], None)
    while (snapshot := data.snapshot(account, NAME)).working or snapshot.report is None:
        time.sleep(0.05)
    return texts(page.run())


def test_region_and_account_stand_in_the_address_of_every_page(open_link: Callable[..., AppTest]) -> None:
    page = open_link("jobs")
    assert _address(page) == {"region": "us-west-2", "account": OWN}
    for path in sorted((APP.parent / "pages").glob("*.py")):
        page.switch_page(f"pages/{path.name}").run()
        assert _address(page).items() >= {"region": "us-west-2", "account": OWN}.items(), path.name


def test_a_colleague_with_another_region_sees_the_same(open_link: Callable[..., AppTest]) -> None:
    mine = open_link("job", job=NAME, last="5m", zone="utc", loss="log")
    said = _seen(mine)
    address = _address(mine)
    assert address == {"job": NAME, "last": "5m", "zone": "utc", "loss": "log", "region": "us-west-2", "account": OWN}
    theirs = open_link("job", "eu-central-1", **address)
    assert _address(theirs) == address
    seen = _seen(theirs).splitlines()
    for line in ("The charts below show", "A step takes", "Training loss", "us-west-2"):
        assert next(row for row in said.splitlines() if line in row) in seen
    assert theirs.title[0].value == NAME


def test_a_link_to_another_account_says_so_in_a_sentence_and_leads_on(
    open_link: Callable[..., AppTest], tmp_path: Path
) -> None:
    (tmp_path / "no-config").write_text(
        f"[profile prod]\nsso_account_id = {OTHER}\n[profile dev]\nregion = eu-west-1\n"
    )
    page = open_link("job", job=NAME, region="us-west-2", account=OTHER, profile="my-prod")
    (error,) = page.error
    assert error.value.replace("\\", "") == (
        f"This link is for account {OTHER}; you are signed in to {OWN}. Open it with a profile of that account in the "
        "sidebar, top left."
    )
    (way,) = [link for link in page.get("page_link") if link.proto.label.startswith("Use profile")]
    assert way.proto.label == "Use profile prod"
    assert f"account={OTHER}" in way.proto.query_string
    assert "profile=prod" in way.proto.query_string
    page.button(key="look-in-own-account").click().run()
    assert not page.error
    assert _address(page) == {"job": NAME, "region": "us-west-2", "account": OWN}


@pytest.mark.parametrize("page", ["job", "logs", "plan", "compare", "thresholds"])
def test_no_file_of_the_server_is_reached_by_an_address(
    page: str, open_link: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "algo-1.log"
    file.write_text("step=1 step_time_s=0.5 a-word-of-this-file\n")
    opened: list[object] = []
    monkeypatch.setattr(FilesSource, "__init__", lambda self, paths: opened.append(paths))
    monkeypatch.setattr(ArchiveSource, "__init__", lambda self, store: opened.append(store))
    for name in (f"logs:{file}", f"archive:{tmp_path}", str(file), "../../etc/passwd"):
        shown = open_link(page, job=name, a=name, b=name, jobs=f"{name},{name}")
        assert "a-word-of-this-file" not in texts(shown)
    assert opened == []
