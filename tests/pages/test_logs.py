"""The Logs page: all nodes in time, what was recognised beside each line, and an address that restores the view."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from monitor.errors import NoCredentials, NotAllowed
from monitor.model import LogLine, Report
from monitor.review.log_filter import MOST_SHOWN
from tests import situations
from tests.builders import START
from tests.pages.conftest import Open
from tests.pages.fake import FakeAccount, texts

START_MS = round(START.timestamp() * 1000)
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB"
EVIL = "<b>x</b> ![i](https://evil.example/a.png) :red[z] \x1b[31mred\x1b[0m $x^2$"


def written(report: Report, nodes: int, lines: int, every_s: float = 2.0) -> list[LogLine]:
    """Steps of the first rank of each node, a line each ``every_s`` and node; an error near the end of a failed job."""
    begun = report.job.started or START
    at_ms = round(begun.timestamp() * 1000)
    out = []
    for number in range(lines):
        for node in range(1, nodes + 1):
            text = f"[1,mpirank:{8 * (node - 1)},algo-{node}]<stdout>:step {number} step_time: 2.02 loss: 2.1"
            out.append(
                LogLine(f"{report.job.name}/algo-{node}-1700000000", at_ms + round(number * every_s * 1000), text)
            )
    if report.job.status == "Failed":
        moment_ms = round((begun + timedelta(minutes=26)).timestamp() * 1000) + 120
        out.append(LogLine(f"{report.job.name}/algo-2-1700000000", moment_ms, OOM))
        out.append(LogLine(f"{report.job.name}/algo-2-1700000000", moment_ms + 5, "WARNING: going down"))
    return sorted(out, key=lambda line: line.time_ms)


def account(report: Report, nodes: int = 2, lines: int = 60) -> FakeAccount:
    return FakeAccount((report,), logs={report.job.name: written(report, nodes, lines)})


def table(page: AppTest) -> pd.DataFrame:
    return page.dataframe[0].value


SITUATIONS = (situations.gappy(), situations.single_node())


@pytest.mark.parametrize("report", SITUATIONS, ids=lambda report: report.job.name)
def test_every_situation_can_be_shown(open_page: Open, report: Report) -> None:
    page = open_page(account(report), "logs", job=report.job.name)
    assert [title.value for title in page.title] == ["Logs"]
    assert len(table(page)) > 100
    assert "2 calls" in texts(page)


def test_nodes_are_merged_in_time_with_what_was_recognised(open_page: Open) -> None:
    page = open_page(account(situations.healthy(), 4), "logs", job="vit-mics-4")
    shown = table(page)
    assert shown["Node"].tolist()[-4:] == ["algo-1", "algo-2", "algo-3", "algo-4"]
    assert shown["Time"].is_monotonic_increasing
    assert shown["Recognised"].iloc[-1] == "step 59 · 2.02 s · loss 2.1"
    assert shown["Line"].iloc[-1] == "step 59 step_time: 2.02 loss: 2.1", "the process tag is left out"
    assert shown["Rank"].iloc[-1] == 24


def test_an_address_restores_filters_and_place(open_page: Open) -> None:
    report = situations.failed()
    page = open_page(
        account(report, 2, 700), "logs", job=report.job.name, find="OUT OF memory", level="error", node="algo-2"
    )
    assert table(page)["Line"].tolist() == [OOM]
    assert page.text_input(key="logs-find").value == "OUT OF memory"
    assert page.selectbox(key="logs-node").value == "algo-2"
    assert page.query_params == {"job": "llama-ft-3", "find": "OUT OF memory", "level": "error", "node": "algo-2"}
    page = open_page(account(report, 2, 700), "logs", job=report.job.name, rank="8-15", at="20260925T121000")
    assert set(table(page)["Rank"]) == {8}
    first = table(page)["Time"].iloc[0]
    assert timedelta(0) < pd.Timestamp("2026-09-25T12:10Z") - first < timedelta(seconds=20), (
        "a few lines before stand above"
    )


def test_a_filter_moves_the_address(open_page: Open) -> None:
    page = open_page(account(situations.failed()), "logs", job="llama-ft-3")
    page.text_input(key="logs-find").set_value("out of").run()
    assert page.query_params["find"] == "out of"
    assert len(table(page)) == 1
    page.button(key="logs-clear").click().run()
    assert "find" not in page.query_params
    assert len(table(page)) > 100


def test_no_match_says_so_and_how_to_go_on(open_page: Open) -> None:
    page = open_page(account(situations.healthy()), "logs", job="vit-mics-4", find="nothing like it")
    assert not page.dataframe
    assert "0 of 120 lines" in texts(page)
    assert "No line of this log matches." in texts(page)


def test_a_finding_leads_to_its_line_and_marks_it(open_page: Open) -> None:
    report = situations.failed()
    page = open_page(
        account(report, 2, 700), "logs", job=report.job.name, at="20260925T123100", quote="cuda-out-of-memory.0"
    )
    shown = table(page)
    row = shown["Line"].tolist().index(OOM)
    assert row <= 6, "without a scroll"
    assert shown.columns[0] == "Mark"
    assert shown["Mark"].iloc[row] == "▶ ◆ cuda-out-of-memory"
    assert page.code[0].value == OOM
    assert "25 Sep 2026, 12:31:00.120 UTC · algo-2 · error" in texts(page)


def test_the_job_page_links_a_finding_s_line_to_the_log(open_page: Open) -> None:
    report = situations.failed()
    page = open_page(account(report), "job", job=report.job.name)
    page.session_state["why-cuda-out-of-memory"] = True
    links = {link.proto.label: link.proto.query_string for link in page.run().get("page_link")}
    assert "job=llama-ft-3" in links["Logs"]
    assert "at=20260925T123100.000" in links["Open in the log"]
    assert "quote=cuda-out-of-memory.0" in links["Open in the log"]


def test_a_line_that_was_clicked_is_in_the_address_and_whole(open_page: Open) -> None:
    report = situations.healthy()
    long = "x" * 64_000
    shown = account(report)
    lines = [*shown.logs[report.job.name], LogLine("vit-mics-4/algo-1-1700000000", START_MS + 500_000, long)]
    shown.logs = {report.job.name: lines}
    page = open_page(shown, "logs", job=report.job.name)
    assert table(page)["Line"].iloc[-1].endswith("…")
    assert len(table(page)["Line"].iloc[-1]) <= 500
    event = page.session_state["logs-anchor"][1]
    page = open_page(shown, "logs", job=report.job.name, event=f"{event[0]}-{event[1]:08x}")
    assert len(page.code) == 1
    assert "leads back to this line" in texts(page)
    assert re.match(r"\d{8}T\d{6}\.\d{3}", page.query_params["at"]), "the address says when, for who opens it later"


def test_jumps_lead_to_the_ends_the_first_step_findings_and_phases(open_page: Open) -> None:
    report = situations.failed()
    page = open_page(account(report, 2, 700), "logs", job=report.job.name)
    jump = page.selectbox(key="logs-jump")
    labels = " | ".join(jump.options)
    for words in (
        "Start of the log",
        "First step",
        "End of the log",
        "GPU memory ran out on algo-2",
        "Phase: productive",
    ):
        assert words in labels
    page = jump.select_index(1).run()
    assert "at" in page.query_params
    page = page.button(key="logs-end").click().run()
    assert "at" not in page.query_params


def test_older_and_newer_go_through_time(open_page: Open) -> None:
    page = open_page(account(situations.healthy(), 2, 400), "logs", job="vit-mics-4")
    first = table(page)["Time"].iloc[0]
    page.button(key="logs-older").click().run()
    assert table(page)["Time"].iloc[-1] == first, "the lines of that moment come again: none is lost"
    assert "until" in page.query_params
    page.button(key="logs-newer").click().run()
    assert "from" in page.query_params
    assert table(page)["Time"].iloc[0] - first == timedelta(seconds=2), "the line after it"


def test_a_running_job_is_followed_until_one_wants_to_stay(open_page: Open) -> None:
    report = situations.running()
    shown = account(report, 4)
    page = open_page(shown, "logs", job=report.job.name)
    assert page.toggle(key="logs-follow").value is True
    page.toggle(key="logs-follow").set_value(False).run()
    assert "until" in page.query_params
    assert page.toggle(key="logs-follow").value is False
    page.toggle(key="logs-follow").set_value(True).run()
    assert "until" not in page.query_params
    assert not open_page(account(situations.healthy()), "logs", job="vit-mics-4").toggle


def test_256_nodes_are_cut_to_what_a_table_holds(open_page: Open) -> None:
    report = situations.sixty_four("huge-1")
    shown = FakeAccount((report,), logs={"huge-1": written(report, 256, 30)})
    page = open_page(shown, "logs", job="huge-1", **{"from": "20260925T120000"})
    assert len(table(page)) == MOST_SHOWN
    assert "holds 5,000 lines at most" in texts(page)
    assert not page.button(key="logs-newer").disabled


def test_secrets_are_masked_and_counted(open_page: Open) -> None:
    report = situations.healthy()
    line = LogLine("vit-mics-4/algo-1-1700000000", START_MS, "env HF_TOKEN=hf_abcdefghijklmnopqrstuvwx done")
    page = open_page(FakeAccount((report,), logs={"vit-mics-4": [line]}), "logs", job="vit-mics-4")
    assert table(page)["Line"].tolist() == ["env HF_TOKEN=*** done"]
    assert "1 line held what looks like a secret" in texts(page)


def test_text_of_a_log_is_never_markup(open_page: Open) -> None:
    report = situations.hostile()
    line = LogLine("hostile-1/algo-1-1700000000", START_MS, EVIL)
    page = open_page(FakeAccount((report,), logs={"hostile-1": [line]}), "logs", job="hostile-1")
    assert table(page)["Line"].tolist() == [EVIL.replace("\x1b[31m", "").replace("\x1b[0m", "")]
    event = page.session_state["logs-anchor"][1]
    page = open_page(
        FakeAccount((report,), logs={"hostile-1": [line]}), "logs", job="hostile-1", event=f"{event[0]}-{event[1]:08x}"
    )
    assert page.code[0].value == EVIL.replace("\x1b", "␛")
    for kind in ("markdown", "caption", "info", "warning"):
        for element in page.get(kind):
            assert "![i](" not in str(getattr(element, "value", ""))


NOTHING = {
    "a job that has just begun": (situations.running(), "The job has written no log line yet."),
    "lines that were deleted": (situations.failed(), "retention may have deleted them"),
    "failed before it started": (situations.never_started(), "CapacityError: Unable to provision capacity"),
}


@pytest.mark.parametrize(("report", "words"), NOTHING.values(), ids=NOTHING)
def test_a_log_without_lines_says_why(open_page: Open, report: Report, words: str) -> None:
    page = open_page(FakeAccount((report,)), "logs", job=report.job.name)
    assert words in texts(page)


def test_findings_keep_their_lines_where_the_log_is_gone(open_page: Open) -> None:
    page = open_page(FakeAccount((situations.failed(),)), "logs", job="llama-ft-3")
    assert "Lines that the findings quote" in texts(page)
    assert table(page)["Line"].tolist() == [OOM]


def test_an_archive_says_that_it_has_no_log_and_shows_what_was_quoted(open_page: Open) -> None:
    report = replace(situations.failed(), archive="s3://bucket/archive")
    page = open_page(FakeAccount((report,), lineless=True), "logs", job="llama-ft-3")
    assert "The log is not in the archive" in texts(page)
    assert table(page)["Line"].tolist() == [OOM]


def test_refused_logs_say_which_right_is_missing(open_page: Open) -> None:
    refusal = NotAllowed("AWS does not allow logs:FilterLogEvents to these credentials.", "Have it allowed.")
    page = open_page(FakeAccount((situations.failed(),), log_error=refusal), "logs", job="llama-ft-3")
    assert "AWS denied access" in texts(page)
    assert "logs:FilterLogEvents" in texts(page)
    assert "Lines that the findings quote" in texts(page)


def test_an_unknown_job_and_missing_credentials_are_said(open_page: Open) -> None:
    assert "No such job" in texts(open_page(FakeAccount(SITUATIONS), "logs", job="no-such-job"))
    error = NoCredentials("No AWS credentials were found.", "Set AWS_PROFILE.")
    page = open_page(FakeAccount((situations.healthy(),), error=error, log_error=error), "logs", job="vit-mics-4")
    assert texts(page).count("No AWS credentials were found.") == 1


def test_an_address_that_makes_no_sense_shows_the_log_all_the_same(open_page: Open) -> None:
    nonsense = {"at": "nonsense", "event": "1-2", "level": "loud", "node": "<b>", "rank": "x"}
    page = open_page(account(situations.healthy()), "logs", job="vit-mics-4", **nonsense)
    assert len(table(page)) > 100
    assert "Write ranks as numbers" in texts(page)


def test_without_a_job_the_page_offers_the_newest(open_page: Open) -> None:
    page = open_page(FakeAccount((situations.healthy(),)), "logs")
    assert not page.dataframe
    page.pills(key="logs-newest").set_value("vit-mics-4").run()
    assert page.query_params["job"] == "vit-mics-4"


def test_the_first_reading_says_what_it_is_doing(open_page: Open) -> None:
    page = open_page(FakeAccount((situations.healthy(),), under_way={"vit-mics-4"}), "logs", job="vit-mics-4")
    assert "reading the log" in texts(page)
