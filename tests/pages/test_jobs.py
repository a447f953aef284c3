"""The Jobs page: which job needs me?"""

from __future__ import annotations

import pytest

from monitor.errors import CannotDo, NoCredentials, NotAllowed, Unreachable
from monitor.show.jobs_table import REVIEWED
from tests import situations
from tests.pages.conftest import Open
from tests.pages.fake import FakeAccount, texts

REPORTS = (situations.healthy(), situations.low_utilization(), situations.failed(), situations.gappy())


def test_figures_and_table_say_which_job_needs_somebody(open_page: Open) -> None:
    page = open_page(FakeAccount(REPORTS))
    figures = {metric.label: metric.value for metric in page.metric}
    assert figures == {
        "Running": "0",
        "Cost an hour": "$0",
        "Wasted an hour": "$0",
        "Advice could save": "$0",
        "Critical": "1",
    }
    table = page.dataframe[0].value
    assert table["name"].tolist() == ["llama-ft-3", "gpt-60b-run-7", "denied-metrics-1", "vit-mics-4"]
    assert table["stands_out"].iloc[0] == "GPU memory ran out on algo-2, rank 11"
    assert page.title[0].value == "Jobs"


def test_reviews_under_way_are_said_and_rows_keep_their_place(open_page: Open) -> None:
    page = open_page(FakeAccount(REPORTS, under_way={"llama-ft-3"}))
    table = page.dataframe[0].value
    assert table["name"].tolist() == [report.job.name for report in REPORTS]
    assert table["stands_out"].iloc[2] == "reading logs: 12,000 lines"
    assert "3 reviewed so far" in page.metric[4].proto.delta_description


def test_only_the_newest_are_reviewed_and_the_rest_is_not_called_healthy(open_page: Open) -> None:
    account = FakeAccount(REPORTS, older=40)
    page = open_page(account)
    table = page.dataframe[0].value.set_index("name")
    assert len(set(account.asked)) == REVIEWED
    assert table.loc["old-39", "stands_out"] == "not reviewed"
    assert f"{REVIEWED} of 44 are reviewed unasked" in texts(page)


def test_search_and_status_narrow_the_table_and_not_the_figures(open_page: Open) -> None:
    page = open_page(FakeAccount(REPORTS))
    page.text_input(key="of-search").set_value("gpt").run()
    assert page.dataframe[0].value["name"].tolist() == ["gpt-60b-run-7"]
    assert page.metric[4].value == "1"
    page.text_input(key="of-search").set_value("").run()
    page.selectbox(key="of-status").set_value("Failed").run()
    assert page.dataframe[0].value["name"].tolist() == ["llama-ft-3"]


def test_filters_come_from_the_address(open_page: Open) -> None:
    page = open_page(FakeAccount(REPORTS), search="vit")
    assert page.dataframe[0].value["name"].tolist() == ["vit-mics-4"]


def test_no_match_is_said_and_can_be_undone(open_page: Open) -> None:
    page = open_page(FakeAccount(REPORTS), search="zzz")
    assert "No job matches." in texts(page)
    page.button(key="clear-filters").click().run()
    assert len(page.dataframe[0].value) == 4


def test_an_empty_account_says_what_to_do(open_page: Open) -> None:
    said = texts(open_page(FakeAccount()))
    assert "No training jobs" in said
    assert "python -m monitor demo" in said


@pytest.mark.parametrize(
    ("error", "title"),
    [
        (NoCredentials("No AWS credentials were found.", "Set AWS_PROFILE."), "No valid AWS credentials"),
        (NoCredentials("The token of profile dev has expired.", "Run aws sso login."), "No valid AWS credentials"),
        (NotAllowed("sagemaker:ListTrainingJobs was refused.", "Allow it."), "AWS denied access"),
        (Unreachable("No answer from http://127.0.0.1:9.", "Check AWS_ENDPOINT_URL."), "AWS is not answering"),
        (CannotDo("No region is set.", "Set AWS_REGION."), "Listing jobs failed"),
    ],
)
def test_an_error_names_cause_and_remedy_and_can_be_tried_again(open_page: Open, error: CannotDo, title: str) -> None:
    account = FakeAccount(REPORTS, error=error)
    page = open_page(account)
    said = texts(page)
    assert title in said
    assert error.message in said
    assert error.remedy in said
    account.error = None
    page.button[0].click().run()
    assert len(page.dataframe[0].value) == 4
    assert not page.exception


def test_an_error_while_connecting_is_shown_like_any_other(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    from monitor.show import data

    def refuse(_: data.Account) -> FakeAccount:
        raise CannotDo("No region is set.", "Set AWS_REGION.")

    page = open_page(FakeAccount(REPORTS))
    monkeypatch.setattr(data, "connect", refuse)
    data.forget()
    page.run()
    assert "No region is set. Set AWS_REGION." in texts(page)


def test_the_last_list_stays_when_a_later_one_fails(open_page: Open) -> None:
    from monitor.show import data

    account = FakeAccount(REPORTS)
    page = open_page(account)
    account.error = Unreachable("No answer.", "Check the network.")
    data._listing.clear()
    page.run()
    assert len(page.dataframe[0].value) == 4
    assert "showing the last list" in texts(page)
