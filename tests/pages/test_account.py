"""The account: chosen in the sidebar, kept in the address, carried by links, nobody else's business."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from monitor.show import data
from monitor.show.data import Account
from tests import situations
from tests.aws.fake import offline
from tests.pages.conftest import APP
from tests.pages.fake import FakeAccount, texts

__all__ = ["offline"]
pytestmark = pytest.mark.usefixtures("offline")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Account]:
    """The accounts that pages opened; one job is in each."""
    seen: list[Account] = []

    def connect(account: Account) -> FakeAccount:
        seen.append(account)
        return FakeAccount((situations.healthy(),))

    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setattr(data, "connect", connect)
    monkeypatch.setattr(data, "observe", lambda source: source)
    return seen


def _page(**parameters: str) -> AppTest:
    page = AppTest.from_file(str(APP), default_timeout=20)
    for name, text in parameters.items():
        page.query_params[name] = text
    page.run()
    assert not page.exception
    return page


def test_the_address_chooses_and_the_sidebar_shows_it(asked: list[Account]) -> None:
    page = _page(region="eu-west-1")
    assert asked == [Account("eu-west-1")]
    assert page.sidebar.selectbox(key="of-region").value == "eu-west-1"
    assert page.sidebar.selectbox(key="of-profile").value is None


def test_a_choice_is_this_visitors_own_and_goes_along_to_other_pages(asked: list[Account]) -> None:
    page, other = _page(), _page()
    page.sidebar.selectbox(key="of-region").set_value("eu-west-1").run()
    assert "".join(page.query_params["region"]) == "eu-west-1"
    assert asked == [Account(), Account("eu-west-1")]
    other.run()
    assert other.sidebar.selectbox(key="of-region").value is None
    del page.query_params["region"]
    page.switch_page("pages/thresholds.py").run()
    assert "".join(page.query_params["region"]) == "eu-west-1"
    assert page.sidebar.selectbox(key="of-region").value == "eu-west-1"


def test_what_holds_by_itself_is_one_account(asked: list[Account]) -> None:
    _page(region="us-east-1")
    _page()
    assert asked == [Account()]


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
