"""The Compare page: the verdict first, for any jobs; what is chosen and the address follow each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from monitor.model import Report
from monitor.show import data as made_of
from tests import situations
from tests.builders import metrics, nodes_of, report, steps
from tests.diagnose.test_came_by import CLOCKED, PRINTED, with_reading
from tests.pages.compared_jobs import BUSY, MICS_4, MICS_32, mics, run
from tests.pages.conftest import Open
from tests.pages.fake import FakeAccount, texts


def _compare(open_page: Open, *reports: Report, jobs: str = "", under_way: tuple[str, ...] = ()) -> AppTest:
    named = jobs or ",".join(each.job.name for each in reports)
    return open_page(FakeAccount(reports, under_way=set(under_way)), "compare", jobs=named)


def _charts(page: AppTest) -> list[str]:
    return [str(chart.proto.alt) for chart in page.get("vega_lite_chart")]


def _links(page: AppTest) -> dict[str, str]:
    found = [link.proto for link in page.get("page_link")]
    return {link.label.replace("\\", ""): link.query_string for link in found}


def _titles(page: AppTest) -> list[str]:
    shown = [*page.success, *page.warning, *page.info, *page.error]
    return [each.proto.title.replace("\\", "") for each in shown]


def test_the_published_pair_reads_well(open_page: Open) -> None:
    page = _compare(open_page, *mics())
    said = texts(page)
    assert _titles(page)[0].startswith("B takes 14.")
    for words in (
        "1.21 s, not 1.41 s.",
        "A step of B does the same work as one of A, 128 samples.",
        "No prediction: without NVLink, groups inside a node take less time than groups across nodes",
        "What differs in their configuration: 1 parameter",
        "100 % of the steps of B take less than A's median, 1.41 s.",
        "A: 299 steps, 2 to 300, by the times that steps print",
        "Scaling efficiency: all use the same number of instances.",
        f"python -m monitor compare {MICS_32} {MICS_4}",
    ):
        assert words in said, words
    table = page.dataframe[0].value
    assert table.to_numpy().tolist() == [["sharded_data_parallel_degree", "32", "4", "mp_parameters"]]
    assert any(each.label.endswith("parameters are the same") for each in page.expander)
    spread, figures = _charts(page)
    assert "100 % of the steps of B" in spread
    assert "Largest difference" in figures
    assert dict(page.query_params) == {"jobs": f"{MICS_32},{MICS_4}"}


def test_times_that_were_come_by_differently_say_so_in_the_answer_once(open_page: Open) -> None:
    clocked = with_reading(run("b", 1.8), CLOCKED)
    page = _compare(open_page, with_reading(run("a"), PRINTED), clocked)
    (answer,) = page.success
    said = "here both are by the lines' clock, which counts all that passes between two lines"
    assert said in answer.value
    assert "A's step times are as printed, B's by the lines' clock" in answer.value
    assert texts(page).count(said) == 1
    rows = {row[0]: row[1:] for row in page.dataframe[-1].value.to_numpy().tolist()}
    assert rows["step time, how"] == ["lines' clock", "lines' clock"]


@pytest.mark.parametrize(
    ("reports", "title", "words", "charts"),
    [
        (lambda: (run("a"), run("b", 2.2)), "B takes 10.0 % more", ["2.20 s, not 2.00 s.", "No prediction: no parameter"], 2),
        (lambda: (run("a"), run("b", 2.002)), "Cannot tell", ["two runs of one configuration differ by as much"], 2),
        (lambda: (run("a", count=40, noise=0.06), run("bb", 2.05, count=40, noise=0.06)), "Cannot tell: ",
            ["more steps of each would be enough", "A step of B does the same work as one of A"],
            2,
        ),
        (lambda: (run("a"), situations.no_steps("b")), "Not comparable",
            ["For B, no numbered steps were recognized. Print the "
            "number", "Step times of A; there is nothing to compare",
             "Goodput and cost of a step"],
            2,
        ),
        (lambda: (run("a"), situations.failed("b")), "Not comparable",
            ["Steps of B may have more or fewer samples than those of A", "failed · 2 x ml.p4d.24xlarge"],
            2,
        ),
        (lambda: (run("a"), situations.never_started("b")), "Not comparable", ["never started"], 2),
        (lambda: (run("a"), situations.gappy("b")), "Not comparable", ["metrics could not be read. cloudwatch:GetMetricData"], 2),
        (lambda: (run("a"), situations.no_gpu("b")), "Not comparable", ["GPU utilization and GPU memory of B: the"], 2),
        (lambda: (run("a"), run("b", 3.6, train_batch_size=8)), "B takes 10.",
            ["for the same samples", "time for the work of a step of A", "scaled to the same work: those of B divided by 2"],
            3,
        ),
    ],
    ids=["slower", "equal", "few", "no-steps", "failed", "unstarted", "gappy", "no-gpu", "batch"],
)  # fmt: skip
def test_any_two_jobs_have_an_answer(
    open_page: Open, reports: Callable[[], tuple[Report, ...]], title: str, words: list[str], charts: int
) -> None:
    page = _compare(open_page, *reports())
    assert any(each.startswith(title) for each in _titles(page)), _titles(page)
    said = texts(page)
    for each in words:
        assert each in said, each
    assert len(_charts(page)) == charts


def test_of_three_each_is_compared_with_the_first(open_page: Open) -> None:
    page = _compare(open_page, run("a"), run("b", 1.8), run("c", 2.2))
    said = texts(page)
    assert "1 of 2 takes less time than A: B, by 10.0 %; 1 of 2 takes more time than A: C, by 10.0 %." in said
    assert "B takes 10.0 % less time" in said
    assert "C takes 10.0 % more time" in said
    assert "100 % of the steps of B; 0 % of the steps of C take less" in said
    page.selectbox(key="compare-against").select("c").run()
    assert page.query_params["jobs"] == "c,a,b"
    assert "2 of 2 take less time than A: C the least (18.2 %)." in texts(page)


def test_a_job_that_cannot_be_reviewed_says_why_and_the_rest_is_compared(open_page: Open) -> None:
    page = _compare(open_page, run("a"), run("b", 1.8), jobs="a,nope,b")
    assert "B takes 10.0 % less time" in "".join(_titles(page))
    assert "nope is left out" in texts(page)
    assert "No such job" in _titles(page)
    alone = _compare(open_page, run("a"), jobs="a,nope")
    assert "1 job of 2 could be reviewed" in texts(alone)
    assert _charts(alone) == []


def test_nothing_that_is_awaited_changes_the_letters_when_it_comes(open_page: Open) -> None:
    three = (run("a"), run("b", 1.8), run("c", 2.2))
    page = _compare(open_page, *three, under_way=("b",))
    assert "b: reading logs: 12,000 lines…" in texts(page)
    assert len(page.get("skeleton")) > 1
    assert _charts(page) == []
    page = _compare(open_page, *three, under_way=("c",))
    assert "B takes 10.0 % less time" in "".join(_titles(page))
    assert "c: reading logs" in texts(page)


def test_a_running_job_stands_beside_one_that_is_over(open_page: Open) -> None:
    page = _compare(open_page, situations.low_utilization("old"), situations.running("new"))
    assert "B is still running: its figures are those so far." in texts(page)
    assert "so far · updated " in texts(page)
    # A name that changes would draw the chart anew.
    assert all("the figures are in the sentence above it" in alt for alt in _charts(page))


def test_without_a_choice_pairs_are_proposed(open_page: Open) -> None:
    runs = [run(f"bert-2026-09-{day}-12-05-00-123") for day in (25, 24)]
    page = open_page(FakeAccount((*runs, *reversed(mics()))), "compare")
    assert "Choose two or more jobs" in _titles(page)
    links = _links(page)
    assert links["bert 25 Sep 12:05 vs. bert 24 Sep 12:05"] == (
        "jobs=bert-2026-09-24-12-05-00-123%2Cbert-2026-09-25-12-05-00-123"
    )
    assert links["vit-630m-mics-4 vs. vit-630m-mics-32"] == f"jobs={MICS_32}%2C{MICS_4}"
    nobody = open_page(FakeAccount(()), "compare")
    assert _titles(nobody) == ["Choose two or more jobs"]


def test_one_job_is_offered_its_previous_run(open_page: Open) -> None:
    runs = [run(f"bert-2026-09-{day}-12-05-00-123") for day in (25, 24)]
    page = open_page(FakeAccount(runs), "compare", jobs=runs[0].job.name)
    assert "Choose another job" in _titles(page)
    assert "bert 25 Sep 12:05 vs. bert 24 Sep 12:05" in _links(page)
    job = open_page(FakeAccount(runs), "job", job=runs[0].job.name)
    assert _links(job)["Compare"] == f"jobs={runs[1].job.name}%2C{runs[0].job.name}"


def test_what_is_chosen_and_the_address_follow_each_other(open_page: Open) -> None:
    page = _compare(open_page, run("a"), run("b", 1.8), run("c", 2.2), jobs="b,a")
    chosen: Any = page.multiselect(key="compare-jobs")
    assert chosen.value == ["b", "a"]
    chosen.set_value(["c", "a"]).run()
    assert page.query_params["jobs"] == "c,a"
    assert "B takes" in "".join(_titles(page))
    page.multiselect(key="compare-jobs").set_value([]).run()
    assert "jobs" not in page.query_params
    assert "Choose two or more jobs" in _titles(page)


def test_the_same_job_twice_and_too_many_are_said(open_page: Open) -> None:
    page = _compare(open_page, run("a"), run("b", 1.8), jobs="a,a,b")
    assert "a is named twice and counted once." in texts(page)
    assert "B takes" in "".join(_titles(page))
    assert "Choose another job" in _titles(_compare(open_page, run("a"), jobs="a,a"))
    many = [run(f"job-{place}", 2 + place / 10, count=40) for place in range(9)]
    page = _compare(open_page, *many)
    assert "9 jobs are named; the first 8 are compared." in texts(page)
    assert "7 of 7 take more time than A: H the most" in texts(page)


def test_256_nodes_and_long_names(open_page: Open) -> None:
    hosts = nodes_of(256)
    names = [node.name for node in hosts]
    large = report(
        f"{'a-long-name-' * 4}x1-2026-09-25-12-05-00-123",
        nodes=hosts,
        metric_frame=metrics(names[:4], 6, BUSY),
        step_frame=steps(names[:8], 400, 2.2),
    )
    page = _compare(open_page, run("small"), large)
    assert "Scaling efficiency: the instances are of different types." in texts(page)
    assert "instance_count" in page.dataframe[0].value["Parameter"].tolist()


def test_names_and_values_of_others_are_no_markup(open_page: Open) -> None:
    evil = "![i](https://evil.example/a.png) :red[z]"
    page = _compare(open_page, run("a"), run("b", 1.8, note=evil), jobs=f"a,b,{evil}")
    raw = "\n".join(each.value for each in [*page.markdown, *page.caption])
    assert evil not in raw
    assert evil in page.dataframe[0].value["B"].tolist()


def test_a_comparison_of_finished_jobs_is_worked_out_once(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    true = made_of.compare
    monkeypatch.setattr(made_of, "compare", lambda *parts: made.append(1) or true(*parts))
    page = _compare(open_page, run("a"), run("b", 1.8))
    page.run()
    page.run()
    assert len(made) == 1


def test_finished_jobs_are_not_looked_at_again(open_page: Open) -> None:
    a, b = mics()
    page = _compare(open_page, a, b)
    assert page.session_state["pace-compare-" + ",".join((MICS_32, MICS_4))] is None
    just = datetime.now(UTC)
    fresh = replace(b, reviewed_at=just, run=replace(b.run, job=replace(b.job, ended=just - timedelta(seconds=20))))
    page = _compare(open_page, a, fresh)
    assert page.session_state["pace-compare-" + ",".join((MICS_32, MICS_4))] == 20.0
