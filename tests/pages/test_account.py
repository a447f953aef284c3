"""The account: chosen in the sidebar, kept in the address, carried by links, nobody else's business."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from monitor.settings import ONE_PROFILE
from monitor.show import data
from monitor.show.data import AccountChoice
from tests import situations
from tests.aws.fake import offline
from tests.drawn import drawn
from tests.pages.conftest import APP, jobs_page
from tests.pages.fake import FakeAccount, texts

__all__ = ["offline"]
pytestmark = pytest.mark.usefixtures("offline")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[AccountChoice]:
    """The accounts that pages opened; one job is in each."""
    seen: list[AccountChoice] = []

    def connect(account: AccountChoice) -> FakeAccount:
        seen.append(account)
        return FakeAccount((situations.healthy(),))

    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setattr(data, "connect", connect)
    monkeypatch.setattr(data, "observe", lambda source: source)
    return seen


def _page(**parameters: str) -> AppTest:
    return jobs_page(20, **parameters)


def test_the_address_chooses_and_the_sidebar_shows_it(asked: list[AccountChoice]) -> None:
    page = _page(region="eu-west-1")
    assert asked == [AccountChoice("eu-west-1")]
    assert page.sidebar.selectbox(key="of-region").value == "eu-west-1"
    assert page.sidebar.selectbox(key="of-profile").value is None


def test_a_choice_is_this_visitors_own_and_goes_along_to_other_pages(asked: list[AccountChoice]) -> None:
    page, other = _page(), _page()
    page.sidebar.selectbox(key="of-region").set_value("eu-west-1").run()
    assert "".join(page.query_params["region"]) == "eu-west-1"
    assert asked == [AccountChoice(), AccountChoice("eu-west-1")]
    other.run()
    assert other.sidebar.selectbox(key="of-region").value is None
    del page.query_params["region"]
    page.switch_page("pages/thresholds.py").run()
    assert "".join(page.query_params["region"]) == "eu-west-1"
    assert page.sidebar.selectbox(key="of-region").value == "eu-west-1"


def test_what_holds_by_itself_is_one_account(asked: list[AccountChoice]) -> None:
    _page(region="us-east-1")
    _page()
    assert asked == [AccountChoice()]


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"region": "eu-wst-1"}, "There is no AWS region 'eu-wst-1' with SageMaker. Choose another in the sidebar"),
        ({"profile": "prd"}, "There is no AWS profile 'prd' on the machine"),
        ({"region": "![x](http://a.b/c.png)"}, "There is no AWS region '![x](http://a.b/c.png)'"),
    ],
)
def test_what_is_unknown_is_said_with_the_remedy(parameters: dict[str, str], said: str) -> None:
    page = _page(**parameters)
    assert said in texts(page)
    assert "traceback" not in texts(page).lower()


def test_where_one_profile_is_served_an_address_reaches_no_other(
    asked: list[AccountChoice], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text(
        "[profile one]\nregion = us-east-1\n[profile two]\nregion = eu-west-1\nsso_account_id = 210987654321\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    st.cache_data.clear()
    _page(profile="two")
    assert {account.profile for account in asked} == {"two"}
    asked.clear()
    monkeypatch.setenv(ONE_PROFILE, "1")
    page = _page(profile="two")
    assert {account.profile for account in asked} == {None}
    assert "The link names the profile **two**; this dashboard serves one profile alone" in texts(page)
    assert "profile" not in page.query_params
    assert [box.key for box in page.sidebar.selectbox] == ["of-region"]


@pytest.mark.parametrize(
    ("where", "name", "text"),
    drawn(
        [
            (where, *asked)
            for where in ("", "job", "logs", "thresholds")
            for asked in (
                ("from", "00010101T000000Z"),
                ("until", "9999-12-31T23:59:59-14:00"),
                ("at", "0001-01-01T00:00:00+14:00"),
                ("last", "999999d"),
                ("event", "99999999999999-00000000"),
                ("from", "<b>banana</b>"),
            )
        ],
        9,
    ),
)
def test_an_address_with_an_absurd_time_is_one_sentence(
    asked: list[AccountChoice], where: str, name: str, text: str
) -> None:
    page = AppTest.from_file(str(APP), default_timeout=20)
    for key, value in {"job": situations.healthy().job.name, name: text}.items():
        page.query_params[key] = value
    page.run()
    if where:
        page.switch_page(f"pages/{where}.py").run()
        page.query_params[name] = text
        page.run()
    assert not page.exception
    assert [said.value for said in page.warning if "is no time that a job can have" in said.value] != []
    assert "Report to copy" not in texts(page)


def test_what_a_plan_starts_from_is_no_time() -> None:
    page = AppTest.from_file(str(APP), default_timeout=20)
    page.query_params["from"] = "gpt2-30b"
    page.run()
    page.switch_page("pages/plan.py").run()
    page.query_params["from"] = "gpt2-30b"
    page.run()
    assert not page.exception
    assert [said.value for said in page.warning if "is no time" in said.value] == []
