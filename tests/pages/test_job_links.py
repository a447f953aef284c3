"""Where the Job page leads: the run before, AWS's console, each node's log stream."""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from monitor.model import Parameter, Report
from monitor.show import data
from monitor.show.job_tables import log_urls
from tests import situations
from tests.pages.conftest import Open
from tests.pages.fake import FakeAccount, texts

NAME, BEFORE = "gpt-60b-2026-09-25-12-05-00-123", "gpt-60b-2026-09-24-12-05-00-123"


def _run(name: str, microbatches: int) -> Report:
    report = situations.low_utilization()
    configuration = {**report.job.configuration, "microbatches": Parameter(microbatches, "mp_parameters")}
    arn = f"arn:aws:sagemaker:us-east-1:123456789012:training-job/{name}"
    job = replace(report.job, name=name, arn=arn, configuration=configuration)
    return replace(report, run=replace(report.run, job=job))


def _settled(page: AppTest) -> AppTest:
    for _ in range(20):
        if "last run" in texts(page):
            break
        page = page.run()
    return page


def test_the_run_before_is_named_with_what_differs(open_page: Open) -> None:
    account = FakeAccount((_run(NAME, 8), _run(BEFORE, 4)))
    page = _settled(open_page(account, "job", job=NAME))
    assert f"Like the last run {BEFORE} but for microbatches 4 → 8" in texts(page)
    assert [link.proto.label for link in page.get("page_link") if link.proto.label == "Compare them"]
    assert "last run" not in texts(open_page(account, "job", job=BEFORE).run())


def test_a_run_that_is_set_up_alike_says_so(open_page: Open) -> None:
    page = _settled(open_page(FakeAccount((_run(NAME, 8), _run(BEFORE, 8))), "job", job=NAME))
    assert f"Set up like the last run, {BEFORE}" in texts(page)


def test_the_console_is_led_to_where_aws_has_the_job(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    account = FakeAccount((_run(NAME, 8),))
    assert not open_page(account, "job", job=NAME).get("link_button"), "no account of AWS"
    monkeypatch.setattr(data, "place", lambda _: data.Place("us-east-1", endpoint="http://127.0.0.1:5000"))
    assert not open_page(account, "job", job=NAME).get("link_button"), "a sample"
    monkeypatch.setattr(data, "place", lambda _: data.Place("us-east-1"))
    page = open_page(account, "job", job=NAME)
    urls = {button.proto.label: button.proto.url for button in page.get("link_button")}
    assert urls["SageMaker console"].endswith(f"/sagemaker/home?region=us-east-1#/jobs/{NAME}")
    assert urls["CloudWatch logs"].startswith("https://us-east-1.console.aws.amazon.com/cloudwatch/")
    assert urls["CloudWatch logs"].endswith(f"$3D{NAME}$252F")
    assert len(urls) == 2, "it wrote nothing to S3"
    (nodes,) = (table.value for table in page.dataframe if "node" in table.value)
    assert nodes["log"].str.startswith("https://us-east-1.console.aws.amazon.com/cloudwatch/").all()


def test_a_node_leads_to_its_newest_stream_or_to_the_list_of_its_streams() -> None:
    report = _run(NAME, 8)
    steps = report.run.steps.assign(stream=f"{NAME}/algo-1-1700000000")
    urls = log_urls(replace(report, run=replace(report.run, steps=steps)))
    assert urls["algo-1"].endswith(f"/log-events/{NAME}$252Falgo-1-1700000000")
    assert urls["algo-2"].endswith(f"$3FlogStreamNameFilter$3D{NAME}$252Falgo-2-")
