"""The Jobs page: which job needs me?"""

from __future__ import annotations

import pytest

from monitor.errors import CannotDo, NoCredentials, NotAllowed, Unreachable
from monitor.show.grid import GridState
from monitor.show.jobs import table as jobs_table
from tests import situations
from tests.pages.conftest import Open
from tests.pages.fake import FakeAccount, grid, texts

REPORTS = (situations.healthy(), situations.low_utilization(), situations.failed(), situations.gappy())


def test_figures_and_table_say_which_job_needs_somebody(open_page: Open) -> None:
    page = open_page(FakeAccount(REPORTS))
    figures = {metric.label: metric.value for metric in page.metric}
    assert figures == {
        "Running": "0",
        "Cost / h": "$0",
        "Overhead so far": "$0",
        "Recoverable / h": "$0",
        "Critical": "1",
    }
    table = grid(page)
    assert table["name"].tolist() == ["llama-ft-3", "gpt-60b-run-7", "denied-metrics-1", "vit-mics-4"]
    assert table["stands_out"].iloc[0] == "GPU memory ran out on algo-2, rank 11"
    assert page.title[0].value == "Jobs"


def test_reviews_under_way_are_said_and_rows_keep_their_place(open_page: Open) -> None:
    page = open_page(FakeAccount(REPORTS, under_way={"llama-ft-3"}))
    table = grid(page)
    assert table["name"].tolist() == [report.job.name for report in REPORTS]
    assert table["stands_out"].iloc[2] == "reading logs: 12,000 lines"
    assert "3 reviewed so far" in page.metric[4].proto.delta_description


def test_what_is_scrolled_to_is_reviewed_and_stays_known(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    account = FakeAccount(REPORTS, older=40)
    page = open_page(account)
    assert len(set(account.asked)) == jobs_table.REVIEWED
    assert grid(page).loc["old-39", "stands_out"] == "not reviewed yet"
    assert f"{jobs_table.REVIEWED} reviewed so far" in texts(page)
    in_view = tuple(f"old-{place}" for place in range(30, 40))
    monkeypatch.setattr(jobs_table, "grid_state", lambda key: GridState(seen=in_view, used="by hand"))
    asked = len(account.asked)
    table = grid(page.run())
    assert set(in_view) <= set(account.asked[asked:])
    assert (table.loc[list(in_view), "level"] == "healthy").all()
    assert f"{jobs_table.REVIEWED + 10} reviewed so far" in texts(page)
    monkeypatch.setattr(jobs_table, "grid_state", lambda key: GridState(seen=("old-00",), used="by hand"))
    asked = len(account.asked)
    assert grid(page.run()).loc["old-39", "level"] == "healthy", "what was seen is not forgotten"
    assert "old-39" not in account.asked[asked:], "and costs nothing more"


def test_rows_stay_where_they_are_under_a_reader_s_hand(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    account = FakeAccount(REPORTS, under_way={"llama-ft-3"})
    page = open_page(account)
    before = grid(page)["name"].tolist()
    about = jobs_table._about
    used: list[str] = []
    monkeypatch.setattr(jobs_table, "_about", lambda of: used.append(about(of)) or about(of))  # type: ignore[func-returns-value]
    page.run()
    monkeypatch.setattr(jobs_table, "grid_state", lambda key: GridState(used=used[-1]))
    account.under_way.clear()
    assert grid(page.run())["name"].tolist() == before
    next(button for button in page.button if button.label == "Sort, worst first").click().run()
    assert grid(page)["name"].iloc[0] == "llama-ft-3"


def test_chosen_rows_lead_to_the_comparison_the_earliest_first(
    open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = FakeAccount(REPORTS, older=9)
    old = [f"old-{place:02d}" for place in range(9)]
    for chosen, link in (
        ((), None),
        (("old-03",), None),
        (("old-03", "old-07"), "Compare these 2"),
        (tuple(old), "Compare these 8"),
    ):
        monkeypatch.setattr(jobs_table, "grid_state", lambda key, chosen=chosen: GridState(chosen=chosen))  # type: ignore[misc]
        links = {each.proto.label: each.proto.query_string for each in open_page(account).get("page_link")}
        assert [label for label in links if label.startswith("Compare these")] == ([link] if link else [])
    assert links["Compare these 8"].startswith("jobs=old-")
    assert links["Compare these 8"].count("old-") == 8


@pytest.mark.parametrize(
    ("typed", "opens", "left"),
    [
        ("gpt", "gpt-60b-run-7", None),
        ("vit-mics-4", "vit-mics-4", None),
        ("-", None, ["vit-mics-4", "gpt-60b-run-7", "llama-ft-3", "denied-metrics-1"]),
        ("zzz", None, []),
    ],
)
def test_enter_opens_the_one_match_offers_several_and_says_none(
    open_page: Open, monkeypatch: pytest.MonkeyPatch, typed: str, opens: str | None, left: list[str] | None
) -> None:
    went: list[str] = []
    monkeypatch.setattr("streamlit.switch_page", lambda page, query_params: went.append(query_params["job"]))
    page = open_page(FakeAccount(REPORTS))
    page.text_input(key="of-search").set_value(typed)
    next(button for button in page.button if button.label == "Search").click().run()
    assert went == ([opens] if opens else [])
    if not opens:
        assert sorted(grid(page)["name"] if len(grid(page)) else []) == sorted(left or [])
        assert ("No job matches" in texts(page)) == (not left)


def test_search_and_status_narrow_the_table_and_not_the_figures(open_page: Open) -> None:
    page = open_page(FakeAccount(REPORTS))
    page = open_page(FakeAccount(REPORTS), search="gpt")
    assert grid(page)["name"].tolist() == ["gpt-60b-run-7"]
    assert page.metric[4].value == "1"
    page.button(key="clear-filters").click().run()
    page.selectbox(key="of-status").set_value("Failed").run()
    assert grid(page)["name"].tolist() == ["llama-ft-3"]


def test_filters_come_from_the_address(open_page: Open) -> None:
    page = open_page(FakeAccount(REPORTS), search="vit")
    assert grid(page)["name"].tolist() == ["vit-mics-4"]


def test_no_match_is_said_and_can_be_undone(open_page: Open) -> None:
    page = open_page(FakeAccount(REPORTS), search="zzz")
    assert "No job matches these filters." in texts(page)
    page.button(key="clear-filters").click().run()
    assert len(grid(page)) == 4


@pytest.mark.parametrize("page", ["jobs", "job", "logs"])
def test_an_empty_account_says_what_to_do(page: str, open_page: Open) -> None:
    said = texts(open_page(FakeAccount(), page))
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
    assert len(grid(page)) == 4
    assert not page.exception


def test_an_error_while_connecting_is_shown_like_any_other(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    from monitor.show import data

    def refuse(_: data.AccountChoice) -> FakeAccount:
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
    assert len(grid(page)) == 4
    assert "showing the last list" in texts(page)
