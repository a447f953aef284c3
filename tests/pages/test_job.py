"""The Job page: the verdict first, then what stands behind it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import pytest
from streamlit.testing.v1 import AppTest

from monitor.errors import NoCredentials, NotAllowed
from monitor.model import Report
from tests import situations
from tests.pages.conftest import Open
from tests.pages.fake import FakeAccount, texts

SITUATIONS = (
    situations.healthy,
    situations.low_utilization,
    situations.failed,
    situations.gappy,
    situations.no_steps,
    situations.no_gpu,
    situations.single_node,
    situations.sixty_four,
    situations.never_started,
    situations.hostile,
    situations.running,
)


@cache
def _every() -> tuple[Report, ...]:
    return tuple(make() for make in SITUATIONS)


@pytest.mark.parametrize("make", SITUATIONS, ids=lambda make: make.__name__)
def test_every_situation_can_be_shown(open_page: Open, make: Callable[[], Report]) -> None:
    report = make()
    page = open_page(FakeAccount((report,)), "job", job=report.job.name)
    assert [title.value for title in page.title] == [report.job.name]
    assert len(page.metric) == 5 + (report.cost.usd is not None)
    for finding in report.warnings:
        assert finding.title in texts(page)


def _page(open_page: Open, report: Report) -> str:
    return texts(open_page(FakeAccount((report,)), "job", job=report.job.name))


def test_a_finding_has_headline_sentence_next_step_prediction_and_what_was_not_checked(open_page: Open) -> None:
    page = open_page(FakeAccount((situations.low_utilization(),)), "job", job="gpt-60b-run-7")
    assert "smp config active_microbatches=2 microbatches=8" not in texts(page), "drawn before it is asked for"
    said = texts(_opened(page, "why-raise-active-microbatches"))
    for words in (
        "GPUs wait half of the time: the pipeline window is too small",
        "GPU 46 % (p5 41, p95 52) on all 4 nodes",
        "Raise active_microbatches from 2 to 4.",
        "Step time -35 % (-35 to -31), peak GPU memory 74 % (41 to 82): model-based, not measured.",
        "Not checked: stage imbalance",
        "smp config active_microbatches=2 microbatches=8",
        "Medium confidence.",
    ):
        assert words in said


def test_nothing_is_said_twice_where_the_verdict_is_a_finding_s(open_page: Open) -> None:
    said = _page(open_page, situations.low_utilization())
    assert said.count("GPUs wait half of the time: the pipeline window is too small") == 1
    assert said.count("Raise active_microbatches from 2 to 4.") == 1


def test_why_shows_the_chart_in_which_a_finding_is_seen_with_its_span(open_page: Open) -> None:
    page = open_page(FakeAccount((situations.low_utilization(),)), "job", job="gpt-60b-run-7")
    before = len(page.get("vega_lite_chart"))
    page = _opened(page, "why-raise-active-microbatches")
    charts = page.get("vega_lite_chart")
    assert len(charts) == before + 1
    assert charts[0].proto.alt.startswith("GPU utilization by node")
    assert "framed: the time the finding is about" in texts(page)
    assert page.dataframe[0].value["What"].tolist() == [
        "GPU utilization, mean",
        "GPU memory, p95",
        "active_microbatches",
    ]


def test_the_why_of_a_failure_is_the_timeline(open_page: Open) -> None:
    page = open_page(FakeAccount((situations.failed(),)), "job", job="llama-ft-3")
    page = _opened(page, "why-cuda-out-of-memory")
    assert page.get("vega_lite_chart")[0].proto.alt.startswith("What happened when, on which node")
    assert "Tried to allocate 2.50 GiB" in page.code[0].value


def test_minutes_and_dollars_of_the_phases_sum_to_the_bill(open_page: Open) -> None:
    said = _page(open_page, situations.healthy())
    assert "Where the time and the money went" in said
    assert "1 h 34 min from request to end, 1 h 30 min billed: $196.62." in said
    assert "$" not in _page(open_page, situations.low_utilization()).partition("Where the time went, minutes")[2][:300]


def test_the_timeline_says_what_its_signs_mean_and_is_a_table_too(open_page: Open) -> None:
    page = open_page(FakeAccount((situations.failed(),)), "job", job="llama-ft-3")
    assert "▶] first step" in texts(page)
    tables = len(page.dataframe)
    page = _opened(page, "timeline-table")
    assert len(page.dataframe) == tables + 1
    assert any("first step" in list(table.value.get("What", ())) for table in page.dataframe)


def _opened(page: AppTest, key: str) -> AppTest:
    page.session_state[key] = True
    return page.run()


def test_the_header_names_where_and_since_when(open_page: Open) -> None:
    said = _page(open_page, situations.low_utilization())
    assert "4 x ml.p4d.24xlarge · SMP v1 on mpi · started 25 Sep 2026, 12:05 UTC · 1 h 30 min" in said
    assert "$196.62" in _page(open_page, situations.healthy())


def test_charts_are_there_with_names_that_state_the_finding(open_page: Open) -> None:
    report = situations.sixty_four()
    page = open_page(FakeAccount((report,)), "job", job=report.job.name)
    charts = page.get("vega_lite_chart")
    assert len(charts) == 7
    assert "training 1 h 27 min" in charts[0].proto.alt
    assert "the part that the charts below show" in charts[1].proto.alt
    assert "algo-5 takes 2.63 s, 1.31 x the median of its peers" in charts[2].proto.alt
    assert "Training loss" in charts[3].proto.alt
    assert "algo-5 is 17 points lower" in charts[4].proto.alt
    assert "59 of 64 nodes have nothing unusual (not drawn)" in charts[6].proto.alt


def test_the_name_of_a_running_job_s_chart_stays_the_same(open_page: Open) -> None:
    report = situations.running()
    page = open_page(FakeAccount((report,)), "job", job=report.job.name)
    assert not any(re.search(r"\d %|\d s", chart.proto.alt) for chart in page.get("vega_lite_chart"))
    assert "Updated" in texts(page)


def test_refused_metrics_are_said_and_the_rest_is_shown(open_page: Open) -> None:
    report = situations.gappy()
    page = open_page(FakeAccount((report,)), "job", job=report.job.name)
    said = texts(page)
    assert page.warning[0].proto.title == "Missing right: cloudwatch:GetMetricData".replace(":", "\\:")
    assert said.count("cloudwatch:GetMetricData was refused.") == 1
    assert '"Action": "cloudwatch:GetMetricData"' in page.code[0].value
    assert "No GPU utilization data." in said
    assert "healthy" not in said
    assert len(page.get("vega_lite_chart")) == 5


def test_a_job_that_never_started_shows_no_empty_charts(open_page: Open) -> None:
    report = situations.never_started()
    page = open_page(FakeAccount((report,)), "job", job=report.job.name)
    assert not page.get("vega_lite_chart")
    assert "CapacityError: Unable to provision capacity" in texts(page)
    assert "never started" in texts(page)


def test_text_of_a_log_is_never_markup(open_page: Open) -> None:
    report = situations.hostile()
    page = open_page(FakeAccount((report,)), "job", job=report.job.name)
    for kind in ("markdown", "caption", "error", "expander"):
        for element in page.get(kind):
            body = str(getattr(element, "value", getattr(element, "label", "")))
            assert "![i](" not in body
            assert "<b>" not in body
            assert "https://evil" not in body


def test_without_a_job_the_page_asks_for_one(open_page: Open) -> None:
    page = open_page(FakeAccount(_every()), "job")
    assert page.selectbox(key="of-job").value is None
    assert page.get("page_link")
    page.selectbox(key="of-job").set_value("vit-mics-4").run()
    assert "Healthy as far as can be seen" in texts(page)


def test_a_job_older_than_the_list_opens_from_its_address(open_page: Open) -> None:
    account = FakeAccount(_every(), older=200)
    page = open_page(account, "job", job="old-180")
    assert "Healthy as far as can be seen" in texts(page)


def test_an_unknown_job_names_the_nearest(open_page: Open) -> None:
    said = texts(open_page(FakeAccount(_every()), "job", job="no-such-job"))
    assert "No such job" in said
    assert "The nearest name is gpt-60b-run-7." in said


@pytest.mark.parametrize("name", ["../etc/passwd", "a b", "x" * 64, "-a", "<b>"])
def test_what_cannot_be_a_name_never_reaches_aws(open_page: Open, name: str) -> None:
    account = FakeAccount(_every())
    page = open_page(account, "job", job=name)
    assert "This is not the name of a training job." in texts(page)
    assert name not in account.asked


@pytest.mark.parametrize("where", ["job", "logs", "plan"])
def test_a_part_of_a_name_offers_the_jobs_that_have_it(open_page: Open, where: str) -> None:
    page = open_page(FakeAccount(_every()), where, job="Mics")
    links = {link.proto.label.replace("\\", ""): link.proto.query_string for link in page.get("page_link")}
    assert links["vit-mics-4"].endswith("=vit-mics-4")


def test_without_credentials_the_page_says_so_once_and_stays_up(open_page: Open) -> None:
    error = NoCredentials("No AWS credentials were found.", "Set AWS_PROFILE.")
    page = open_page(FakeAccount(_every(), error=error), "job", job="vit-mics-4")
    assert texts(page).count("No AWS credentials were found.") == 1
    assert len(open_page(FakeAccount(_every(), error=error), "job").error) == 1


def test_what_an_option_says_is_chosen_in_the_sidebar_here(open_page: Open) -> None:
    error = NoCredentials("No AWS credentials were found.", "Name a profile (--profile), or set AWS_PROFILE.")
    said = texts(open_page(FakeAccount(_every(), error=error), "job", job="vit-mics-4"))
    assert "On this page, change the profile in the sidebar." in said
    error = NoCredentials("No AWS credentials were found.", "Set AWS_PROFILE.")
    assert "sidebar" not in texts(open_page(FakeAccount(_every(), error=error), "job", job="vit-mics-4"))


def test_a_job_can_be_opened_where_the_list_is_refused(open_page: Open) -> None:
    account = FakeAccount(_every())
    refusal = NotAllowed("sagemaker:ListTrainingJobs was refused.", "Allow it.")
    account.jobs = lambda query: (_ for _ in ()).throw(refusal)  # type: ignore[method-assign]
    assert "GPU 93 %" in texts(open_page(account, "job", job="vit-mics-4"))


def test_the_first_review_says_what_it_is_doing(open_page: Open) -> None:
    account = FakeAccount(_every(), under_way={"vit-mics-4"})
    page = open_page(account, "job", job="vit-mics-4")
    assert "reading logs: 12,000 lines" in texts(page)
    account.under_way.clear()
    page.run()
    assert "Healthy as far as can be seen" in texts(page)


def test_a_job_that_is_over_is_looked_at_again_until_all_of_it_is_read(open_page: Open) -> None:
    report = situations.healthy()
    account = FakeAccount((report,), partly={report.job.name})
    page = open_page(account, "job", job=report.job.name)
    assert page.session_state[f"pace-job-{report.job.name}"] is not None
    account.partly.clear()
    assert page.run().session_state[f"pace-job-{report.job.name}"] is None
