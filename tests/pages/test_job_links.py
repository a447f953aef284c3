"""Where the Job page leads: the run before, AWS's console, each node's log stream."""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from monitor.export.layout import html
from monitor.model import Channel, Finding, JobSummary, Mute, Outputs, Parameter, Report
from monitor.review.run_names import short_names
from monitor.show import data
from monitor.show.job.header import tab_title
from monitor.show.job.tables import log_urls
from tests import situations
from tests.builders import START
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
        if "previous run" in texts(page):
            break
        page = page.run()
    return page


def test_the_run_before_is_named_with_what_differs(open_page: Open) -> None:
    account = FakeAccount((_run(NAME, 8), _run(BEFORE, 4)))
    page = _settled(open_page(account, "job", job=NAME))
    assert f"Compared with the previous run {BEFORE}: microbatches 4 → 8" in texts(page)
    assert [link.proto.label for link in page.get("page_link") if link.proto.label == "Compare them"]
    assert "previous run" not in texts(open_page(account, "job", job=BEFORE).run())


def test_a_run_that_is_set_up_alike_says_so(open_page: Open) -> None:
    page = _settled(open_page(FakeAccount((_run(NAME, 8), _run(BEFORE, 8))), "job", job=NAME))
    assert f"Same settings as the previous run, {BEFORE}" in texts(page)


def test_the_console_is_led_to_where_aws_has_the_job(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    account = FakeAccount((_run(NAME, 8),))
    assert not open_page(account, "job", job=NAME).get("link_button"), "no account of AWS"
    monkeypatch.setattr(data, "origin", lambda _: data.Origin("us-east-1", endpoint="http://127.0.0.1:5000"))
    assert not open_page(account, "job", job=NAME).get("link_button"), "a sample"
    monkeypatch.setattr(data, "origin", lambda _: data.Origin("us-east-1"))
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


def _with_files(report: Report) -> Report:
    channels = (
        Channel("train", "s3://data/train/", "FastFile", "application/x-parquet"),
        Channel("test", "fsx://fs-1/x"),
    )
    outputs = Outputs("s3://out", "s3://out/job/output/model.tar.gz", "s3://out/checkpoints", own_key=True)
    job = replace(report.job, channels=channels, outputs=outputs)
    return replace(report, run=replace(report.run, job=job))


def test_inputs_outputs_and_tags_are_listed_and_lead_to_s3(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    report = _with_files(_run(NAME, 8))
    listing = data.JobListing((JobSummary(NAME, "Completed", None, tags={"team": "nlp"}),))
    monkeypatch.setattr(data, "jobs", lambda *_: listing)
    monkeypatch.setattr(data, "origin", lambda _: data.Origin("us-east-1"))
    page = open_page(FakeAccount((report,)), "job", job=NAME)
    (files,) = (table.value for table in page.dataframe if "where" in table.value)
    assert files["what"].tolist() == ["Input: train", "Input: test", "Output", "Model", "Checkpoints"]
    assert files["how"].tolist()[0] == "FastFile, application/x-parquet"
    assert files["how"].tolist()[2] == "encrypted with your KMS key"
    assert files["s3"].notna().tolist() == [True, False, True, True, True]
    assert "team: nlp" in texts(page)
    labels = [button.proto.label for button in page.get("link_button")]
    assert labels == ["SageMaker console", "CloudWatch logs", "Model in S3", "Checkpoints in S3"]
    saved = html(report, START)
    assert "s3://data/train/" in saved
    assert "encrypted with your KMS key" in saved


@pytest.mark.parametrize(
    ("report", "title"),
    [
        (situations.running(), "● running · "),
        (situations.healthy(), "✓ completed · "),
    ],
)
def test_the_tab_tells_the_state_and_the_short_name(report: Report, title: str) -> None:
    found = tab_title(report)
    assert found.startswith(title)
    assert found.endswith(short_names((report.job.name,))[0])


def test_a_stalled_job_says_so_in_its_tab_unless_that_is_muted() -> None:
    report = situations.running()
    stall = Finding("stall", "critical", "high", "No step for 30 min", "It stands still.")
    stalled = replace(report, findings=(stall,))
    assert tab_title(stalled).startswith("● stalled · ")
    mute = Mute("stall", report.job.name, "known", START)
    assert tab_title(replace(stalled, muted={"stall": mute})).startswith("● running · ")
