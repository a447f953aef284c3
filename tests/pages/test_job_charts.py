"""The charts of the Job page: a verdict above each, the time that is shown in the address, thresholds, data to take along."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest
from streamlit.testing.v1 import AppTest

from monitor.alert.rules import add
from monitor.model import Evidence, Finding, Report
from monitor.show import address
from tests import situations
from tests.builders import START
from tests.pages.conftest import Open
from tests.pages.fake import FakeAccount, texts

PART = {"from": "20260925T123000Z", "until": "20260925T124500Z"}


def _page(open_page: Open, report: Report, **parameters: str) -> AppTest:
    return open_page(FakeAccount((report,)), "job", job=report.job.name, **parameters)


def _specifications(page: AppTest, overview: bool) -> list[str]:
    charts = page.get("vega_lite_chart")
    return [
        json.dumps(json.loads(chart.proto.spec), sort_keys=True) for chart in charts if _is_overview(chart) == overview
    ]


def _is_overview(chart: object) -> bool:
    return "the part that the charts below show" in chart.proto.alt  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("report", "sentences"),
    [
        (
            situations.low_utilization(),
            (
                "1 h 30 min billed; what it was spent on is not known: no training step was read.",
                "The charts below show the whole job, 1 h 30 min; times are UTC.",
                "A step takes 4.10 s (p10 4.05 s, p90 4.15 s); all nodes take the same time.",
                "GPU 46 % on all 4 nodes since 12:08 UTC",
                "GPU utilization by node · % of one GPU · 4 nodes · mean over 1 min per column · gray is missing data",
            ),
        ),
        (situations.sixty_four(), ("GPU 93 % on all 64 nodes since 12:05 UTC; algo-5 is 17 points lower.",)),
        (situations.single_node(), ("GPU 93 % on algo-1 since 12:05 UTC.", "breaks are missing data")),
        (situations.no_gpu(), ("CPU 87 % on both nodes since 12:05 UTC.", "No step times.")),
        (situations.gappy(), ("No GPU utilization data.", "A step takes 2.00 s (")),
        (situations.no_steps(), ("GPU 92 % on both nodes since 12:05 UTC", "No step times.")),
    ],
    ids=lambda case: case.job.name if isinstance(case, Report) else "",
)
def test_a_sentence_with_figures_stands_above_each_chart(
    open_page: Open, report: Report, sentences: tuple[str, ...]
) -> None:
    said = texts(_page(open_page, report))
    for sentence in sentences:
        assert sentence in said


def test_the_time_in_the_address_is_what_all_charts_show_in_finer_buckets(open_page: Open) -> None:
    report = situations.sixty_four(minutes=600)
    whole, part = _page(open_page, report), _page(open_page, report, **PART)
    said = texts(part)
    assert "The charts below show 12:30 to 12:45 UTC, 15 min of 10 h." in said
    assert "on all 64 nodes from 12:30 to 12:45 UTC; algo-5 is 1" in said
    assert "A step takes 2.01 s from 12:30 to 12:45 UTC" in said
    assert "mean over 5 min per column" in texts(whole)
    assert "mean over 1 min per column" in said
    assert _specifications(whole, False) == _specifications(part, False), "only data change"


def test_the_brush_is_drawn_where_a_fresh_link_has_it_and_a_refresh_does_not_move_it(open_page: Open) -> None:
    page = _page(open_page, situations.running(now=START + timedelta(minutes=60), minutes=60), **PART)
    drawn = _specifications(page, True)
    (brush,) = json.loads(drawn[0])["params"]
    assert [value % 3_600_000 // 60_000 for value in brush["value"]["x"]] == [30, 45]
    assert _specifications(page.run(), True) == drawn


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"from": "yesterday", "until": "1"},
        {"from": "20200101T000000Z", "until": "20200102T000000Z"},
        {"from": PART["until"], "until": PART["from"]},
    ],
)
def test_an_address_without_a_part_of_this_job_shows_all_of_it(open_page: Open, parameters: dict[str, str]) -> None:
    page = _page(open_page, situations.low_utilization(), **parameters)
    assert "The charts below show the whole job, 1 h 30 min; times are UTC." in texts(page)
    assert page.button(key="overview-all").disabled


def test_the_parts_can_be_chosen_by_keyboard_and_whole_job_leads_back(open_page: Open) -> None:
    page = _page(open_page, situations.low_utilization())
    page.button(key="overview-last-15m").click().run()
    assert "The charts below show 13:20 to 13:35 UTC, 15 min of 1 h 30 min." in texts(page)
    assert "15m" in page.query_params["last"]
    links = {link.proto.label: link.proto.query_string for link in page.get("page_link")}
    assert "at=20260925T132000" in links["Logs from this time"]
    page.button(key="overview-all").click().run()
    assert "whole job" in texts(page)
    assert "last" not in page.query_params
    assert "Logs from this time" not in [link.proto.label for link in page.get("page_link")]


def test_the_last_minutes_go_on_with_a_running_job(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    account = FakeAccount((situations.running(now=START + timedelta(minutes=60), minutes=60),))
    page = open_page(account, "job", job=account.reports[0].job.name, last="15m")
    assert "The charts below show the last 15 min, 12:50 to 13:05 UTC, and keep up with the job." in texts(page)
    (strip,) = _specifications(page, True)
    account.reports = (situations.running(now=START + timedelta(minutes=70), minutes=70),)
    page.run()
    assert "The charts below show the last 15 min, 13:00 to 13:15 UTC" in texts(page)
    assert _specifications(page, True) == [strip], "the strip stays, its data change"
    assert "15m" in page.query_params["last"]


@pytest.mark.parametrize(("last", "said"), [("10d", "whole job"), ("0m", "whole job"), ("soon", "whole job")])
def test_a_length_that_is_none_or_longer_than_the_job_shows_all_of_it(open_page: Open, last: str, said: str) -> None:
    assert said in texts(_page(open_page, situations.low_utilization(), last=last))


def test_a_chart_writes_its_times_as_its_page_does(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address, "_own", lambda: ZoneInfo("Europe/Berlin"))
    local = _page(open_page, situations.low_utilization(), **PART)
    assert "14:30 to 14:45 CEST" in texts(local)
    assert '"utc"' not in "".join(_specifications(local, False) + _specifications(local, True))
    utc = _page(open_page, situations.low_utilization(), **PART, zone="utc")
    assert "12:30 to 12:45 UTC" in texts(utc)
    assert "CEST" not in texts(utc).replace("now CEST", "")
    for specification in _specifications(utc, False) + _specifications(utc, True):
        assert not re.search(r"(?<!utc)(?<!\w)(hours|minutes|seconds)\(|timeFormat\(", specification)
        times = specification.count('"type": "temporal"')
        # An end of a bar has the scale of its beginning.
        assert specification.count('"type": "utc"') >= times - specification.count('"x2"')
        assert bool(times) == ('"type": "utc"' in specification)


def test_a_job_without_figures_has_no_strip(open_page: Open) -> None:
    base = situations.gappy()
    report = replace(base, run=replace(base.run, steps=base.run.steps.iloc[:0]))
    assert "The charts below" not in texts(_page(open_page, report))


def test_the_change_of_pace_is_the_finding_s(open_page: Open) -> None:
    since = START + timedelta(minutes=40)
    finding = Finding(
        "step-time-regression",
        "warning",
        "high",
        "Steps take 1.31 x as long since 12:45 UTC",
        "Steps have become slower.",
        (
            Evidence("before: median", 2.0, "s", role="pace before"),
            Evidence("since: median", 2.62, "s", start=since, role="pace since"),
        ),
    )
    page = _page(open_page, situations.low_utilization(findings=(finding,)))
    assert "; steps take 1.31 x as long since 12:45" in texts(page)


def test_a_saved_threshold_is_named_with_the_nodes_that_cross_it(open_page: Open) -> None:
    add("idle", "gpu_utilization < 80 for 10m")
    add("full", "gpu_memory_utilization > 99")
    said = texts(_page(open_page, situations.sixty_four()))
    assert "framed in red where crossed: idle (< 80 for 10m) is crossed on algo-5." in said
    assert "full (> 99) is not crossed." in said


def test_every_chart_has_its_data_as_csv_named_for_job_and_chart(open_page: Open) -> None:
    page = _page(open_page, situations.low_utilization())
    keys = {button.key for button in page.get("download_button")}
    for chart in ("phases", "step-time", "gpu-utilization", "gpu-memory-utilization", "timeline"):
        assert f"csv-gpt-60b-run-7-{chart}" in keys
