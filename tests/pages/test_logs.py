"""The Logs page: all nodes in time, what was recognized beside each line, and an address that restores the view."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from monitor.errors import NoCredentials, NotAllowed
from monitor.model import LogLine, Report
from monitor.review.log_lines import MOST_SHOWN
from monitor.show.job_choice import the_one
from tests import situations
from tests.builders import START
from tests.pages.conftest import Open
from tests.pages.fake import FakeAccount, grid, texts, told

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


SITUATIONS = (situations.gappy, situations.single_node)


@pytest.mark.parametrize("make", SITUATIONS, ids=lambda make: make.__name__)
def test_every_situation_can_be_shown(open_page: Open, make: Callable[[], Report]) -> None:
    report = make()
    page = open_page(account(report), "logs", job=report.job.name)
    assert [title.value for title in page.title] == ["Logs"]
    assert len(grid(page)) > 100
    assert "2 calls" in texts(page)


def test_nodes_are_merged_in_time_with_what_was_recognised(open_page: Open) -> None:
    page = open_page(account(situations.healthy(), 4), "logs", job="vit-mics-4")
    shown = grid(page)
    assert shown["node"].tolist()[-4:] == ["algo-1", "algo-2", "algo-3", "algo-4"]
    assert shown["time"].is_monotonic_increasing
    assert shown["known"].iloc[-1] == "step 59 · 2.02 s · loss 2.1"
    assert shown["line"].iloc[-1] == "step 59 step_time: 2.02 loss: 2.1", "the process tag is left out"
    assert shown["rank"].iloc[-1] == "24"


def test_an_address_restores_filters_and_place(open_page: Open) -> None:
    report = situations.failed()
    page = open_page(
        account(report, 2, 700), "logs", job=report.job.name, find="OUT OF memory", level="error", node="algo-2"
    )
    assert grid(page)["line"].tolist() == [OOM]
    assert page.text_input(key="logs-find").value == "OUT OF memory"
    assert page.selectbox(key="logs-node").value == "algo-2"
    assert page.query_params == {"job": "llama-ft-3", "find": "OUT OF memory", "level": "error", "node": "algo-2"}
    page = open_page(account(report, 2, 700), "logs", job=report.job.name, rank="8-15", at="20260925T121000")
    assert set(grid(page)["rank"]) == {"8"}
    first = grid(page)["time"].iloc[0]
    assert "12:09:40" < first < "12:10", "a few lines before stand above"


@pytest.mark.parametrize("parameters", [{}, {"find": "step"}, {"at": "20260925T121000"}], ids=str)
def test_a_failed_job_opens_at_its_first_error_unless_the_address_says_where(
    open_page: Open, parameters: dict[str, str]
) -> None:
    report = situations.failed()
    page = open_page(account(report, 2, 900), "logs", job=report.job.name, **parameters)
    if parameters:
        assert page.query_params == {"job": report.job.name, **parameters} or "at" in parameters
        assert "quote" not in page.query_params
        return
    assert page.query_params["quote"] == "cuda-out-of-memory.0", "the line that the cause rests on"
    assert told(page)["looked_at"] == grid(page).index[grid(page)["line"].tolist().index(OOM)]
    page.button(key="logs-end").click().run()
    assert set(page.query_params) == {"job"}, "who asks for the end gets it"
    assert told(page)["ends_in_view"]


def test_the_first_error_is_waited_for_and_need_not_be(open_page: Open) -> None:
    report = situations.failed()
    shown = account(report, 2, 900)
    shown.partly = {report.job.name}
    page = open_page(shown, "logs", job=report.job.name)
    assert "Finding the first error" in texts(page)
    assert grid(page).empty
    page.button(key="logs-not-first").click().run()
    assert told(page)["ends_in_view"]
    assert set(page.query_params) == {"job"}


@pytest.mark.parametrize(
    ("part", "meant"),
    [
        ("mics-5", "vit-mics-5"),
        ("MICS-4", "vit-mics-4"),
        (" vit-mics-4 ", "vit-mics-4"),
        ("bert", "bert"),
        ("mics", None),
        ("nothing-like-it", None),
    ],
)
def test_a_part_of_a_name_means_the_one_job_that_has_it(part: str, meant: str | None) -> None:
    assert the_one(["vit-mics-4", "vit-mics-5", "bert", "bert-2"], part) == meant


@pytest.mark.parametrize("page_of", ["job", "logs"])
def test_several_that_may_be_meant_are_offered(open_page: Open, page_of: str) -> None:
    reports = (situations.healthy(), situations.healthy("vit-mics-5"), situations.single_node())
    page = open_page(FakeAccount(reports), page_of, job="mics")
    assert "No such job" in texts(page)
    links = [link.proto.label.replace("\\", "") for link in page.get("page_link")]
    assert [link for link in links if "mics" in link] == ["vit-mics-4", "vit-mics-5"]


def test_a_filter_moves_the_address(open_page: Open) -> None:
    page = open_page(account(situations.failed()), "logs", job="llama-ft-3")
    page.text_input(key="logs-find").set_value("out of").run()
    assert page.query_params["find"] == "out of"
    assert len(grid(page)) == 1
    page.button(key="logs-clear").click().run()
    assert "find" not in page.query_params
    assert len(grid(page)) == 2, "the error and the line after it"


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
    shown = grid(page)
    row = shown["line"].tolist().index(OOM)
    assert row <= 6, "without a scroll"
    assert shown["mark"].iloc[row] == "◆ cuda-out-of-memory"
    assert told(page)["looked_at"] == shown.index[row]
    assert told(page)["rows"][row]["tone"] == "error"
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
    assert grid(page)["line"].iloc[-1].endswith("…")
    assert len(grid(page)["line"].iloc[-1]) <= 500
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
        "Phase: training",
    ):
        assert words in labels
    page = jump.select_index(1).run()
    assert "at" in page.query_params
    page = page.button(key="logs-end").click().run()
    assert "at" not in page.query_params


def _clock(said: str) -> datetime:
    return datetime.fromisoformat(f"2026-09-25T{said}Z")


def test_older_and_newer_go_through_time(open_page: Open) -> None:
    page = open_page(account(situations.healthy(), 2, 400), "logs", job="vit-mics-4")
    first = grid(page)["time"].iloc[0]
    page.button(key="logs-older").click().run()
    assert grid(page)["time"].iloc[-1] == first, "the lines of that moment come again: none is lost"
    assert "until" in page.query_params
    page.button(key="logs-newer").click().run()
    assert "from" in page.query_params
    assert _clock(grid(page)["time"].iloc[0]) - _clock(first) == timedelta(seconds=2), "the line after it"


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
    assert len(grid(page)) == MOST_SHOWN
    assert "shows at most 5,000 lines" in texts(page)
    assert not page.button(key="logs-newer").disabled


def test_secrets_are_masked_and_counted(open_page: Open) -> None:
    report = situations.healthy()
    line = LogLine("vit-mics-4/algo-1-1700000000", START_MS, "env HF_TOKEN=hf_abcdefghijklmnopqrstuvwx done")
    page = open_page(FakeAccount((report,), logs={"vit-mics-4": [line]}), "logs", job="vit-mics-4")
    assert grid(page)["line"].tolist() == ["env HF_TOKEN=*** done"]
    assert "1 line contained something that looks like a secret" in texts(page)


def test_text_of_a_log_is_never_markup(open_page: Open) -> None:
    report = situations.hostile()
    line = LogLine("hostile-1/algo-1-1700000000", START_MS, EVIL)
    page = open_page(FakeAccount((report,), logs={"hostile-1": [line]}), "logs", job="hostile-1")
    assert grid(page)["line"].tolist() == [EVIL.replace("\x1b[31m", "").replace("\x1b[0m", "")]
    event = page.session_state["logs-anchor"][1]
    page = open_page(
        FakeAccount((report,), logs={"hostile-1": [line]}), "logs", job="hostile-1", event=f"{event[0]}-{event[1]:08x}"
    )
    assert page.code[0].value == EVIL.replace("\x1b", "␛")
    for kind in ("markdown", "caption", "info", "warning"):
        for element in page.get(kind):
            assert "![i](" not in str(getattr(element, "value", ""))


NOTHING = {
    "a job that has just begun": (situations.running(), "The job has not logged anything yet."),
    "lines that were deleted": (situations.failed(), "retention may have deleted them"),
    "failed before it started": (situations.never_started(), "CapacityError: Unable to provision capacity"),
}


@pytest.mark.parametrize(("report", "words"), NOTHING.values(), ids=NOTHING)
def test_a_log_without_lines_says_why(open_page: Open, report: Report, words: str) -> None:
    page = open_page(FakeAccount((report,)), "logs", job=report.job.name)
    assert words in texts(page)


def test_findings_keep_their_lines_where_the_log_is_gone(open_page: Open) -> None:
    page = open_page(FakeAccount((situations.failed(),)), "logs", job="llama-ft-3")
    assert "Lines quoted by findings" in texts(page)
    assert page.dataframe[0].value["Line"].tolist() == [OOM]


def test_an_archive_says_that_it_has_no_log_and_shows_what_was_quoted(open_page: Open) -> None:
    report = replace(situations.failed(), archive="s3://bucket/archive")
    page = open_page(FakeAccount((report,), lineless=True), "logs", job="llama-ft-3")
    assert "The log is not in the archive" in texts(page)
    assert page.dataframe[0].value["Line"].tolist() == [OOM]


def test_refused_logs_say_which_right_is_missing(open_page: Open) -> None:
    refusal = NotAllowed("AWS does not allow logs:FilterLogEvents to these credentials.", "Have it allowed.")
    page = open_page(FakeAccount((situations.failed(),), log_error=refusal), "logs", job="llama-ft-3")
    assert "AWS denied access" in texts(page)
    assert "logs:FilterLogEvents" in texts(page)
    assert "Lines quoted by findings" in texts(page)


def test_an_unknown_job_and_missing_credentials_are_said(open_page: Open) -> None:
    assert "No such job" in texts(open_page(FakeAccount([make() for make in SITUATIONS]), "logs", job="no-such-job"))
    error = NoCredentials("No AWS credentials were found.", "Set AWS_PROFILE.")
    page = open_page(FakeAccount((situations.healthy(),), error=error, log_error=error), "logs", job="vit-mics-4")
    assert texts(page).count("No AWS credentials were found.") == 1


def test_an_address_that_makes_no_sense_shows_the_log_all_the_same(open_page: Open) -> None:
    nonsense = {"at": "nonsense", "event": "1-2", "level": "loud", "node": "<b>", "rank": "x"}
    page = open_page(account(situations.healthy()), "logs", job="vit-mics-4", **nonsense)
    assert len(grid(page)) > 100
    assert "Write ranks as numbers" in texts(page)


def test_without_a_job_the_page_offers_the_newest(open_page: Open) -> None:
    page = open_page(FakeAccount((situations.healthy(),)), "logs")
    assert not page.dataframe
    page.pills(key="logs-newest").set_value("vit-mics-4").run()
    assert page.query_params["job"] == "vit-mics-4"


def test_the_first_reading_says_what_it_is_doing(open_page: Open) -> None:
    page = open_page(FakeAccount((situations.healthy(),), under_way={"vit-mics-4"}), "logs", job="vit-mics-4")
    assert "reading the log" in texts(page)


def test_a_learned_shape_is_said_and_its_lines_are_told(open_page: Open) -> None:
    report = situations.healthy()
    shape = "upd <step> of N :: xent <loss>"
    report = replace(report, run=replace(report.run, logs=replace(report.run.logs, learned=(shape,))))
    lines = [
        LogLine(f"{report.job.name}/algo-1-1700000000", START_MS + 2000 * n, f"upd {n} of 90 :: xent {3.5 / n:.4f}")
        for n in range(1, 31)
    ]
    page = open_page(FakeAccount((report,), logs={report.job.name: lines}), "logs", job=report.job.name)
    assert "Learned from this log" in texts(page)
    assert grid(page)["known"].iloc[-1] == "step 30 · loss 0.1167"
