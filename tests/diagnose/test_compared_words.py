"""What a comparison says for a page: a headline, the work, several verdicts in one, what is missing and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from monitor.diagnose.comparison.comparability import Unlike, WorkRatio, alike, differences, own
from monitor.diagnose.comparison.compare import compare
from monitor.diagnose.comparison.rows import measures, missing
from monitor.diagnose.comparison.words import headline, spread_words, summary_words, work_words
from monitor.model import Cost, Parameter, Report, steps_frame
from tests.builders import report
from tests.diagnose.test_compared import job


@pytest.mark.parametrize(
    ("other", "title", "rests_on"),
    [
        (job("b", 1.8), "B takes 10.0 % less time a step (", "1.80 s, not 2.00 s."),
        (job("b", 3.6, {"microbatches": 8, "train_batch_size": 96}), "for the same samples", "Its steps have 2 x the"),
        (job("b", 2.002), "Cannot tell", "The difference is somewhere between"),
        (report("b"), "Not comparable", "For B, no numbered steps were recognized. Print the number and the time"),
        (job(), "Cannot tell", "Both are the same job."),
    ],
)
def test_a_headline_is_the_verdict_in_two(other: Report, title: str, rests_on: str) -> None:
    found = compare([job(), other])
    seconds = found.figures[0].step_s, found.figures[1].step_s
    said = headline(found.against[0], "B", seconds)
    assert title in said.title
    assert said.body.startswith(rests_on)


def test_a_headline_says_how_many_steps_would_do() -> None:
    a, b = (
        replace(each, run=replace(each.run, steps=_rough(each, seed)))
        for seed, each in enumerate((job(count=40), job("b", 2.05, count=40)))
    )
    title = headline(compare([a, b]).against[0], "B", (2.0, 2.05)).title
    assert title.startswith("Cannot tell: ")
    assert title.endswith("more steps of each would be enough")


def _rough(made: Report, seed: int) -> Any:
    rows = made.run.steps
    noise = np.exp(np.random.default_rng(seed).normal(0, 0.06, len(rows)))
    return steps_frame(
        rows.assign(step_time_s=rows["step_time_s"] * noise, timestamp=rows["timestamp"].where(rows["step"] < 0))
    )


def test_the_work_of_a_step_is_said() -> None:
    same, more = (compare([job(), each]).against[0] for each in (job("b"), job("c", changes={"microbatches": 8})))
    assert work_words(same, "B", (96.0, 96.0)) == "A step of B does the same work as one of A, 96 samples."
    assert work_words(same, "B", (None, None)) == "A step of B does the same work as one of A."
    assert work_words(replace(more, unlike=Unlike("a", "b")), "C", (None, None)) == ""
    taken = replace(more, work=WorkRatio(1.0, assumed=True))
    assert "is assumed to do the same work" in work_words(taken, "C", (None, None))


def test_several_verdicts_are_one_sentence() -> None:
    found = compare([job(), job("b", 1.8), job("c", 1.6), job("d", 2.2), report("e")])
    assert summary_words(found.against, "BCDE") == (
        "2 of 4 take less time than A: C the least (20.0 %); 1 of 4 takes more time than A: D, by 10.0 %; 1 of 4 is not "
        "comparable."
    )
    assert summary_words(compare([job(), job("b")]).against, "B") == "1 of 1 is too close to call."


def test_shares_below_the_first_median() -> None:
    times = [np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.5]), np.array([5.0]), None, np.array([0.5])]
    assert spread_words(times, "ABCDE") == (
        "100 % of the steps of B and E; 0 % of the steps of C take less than A's median, 2.00 s."
    )
    assert spread_words([None, times[0]], "AB") == ""
    assert spread_words([times[0], None], "AB") == ""


def test_unlike_steps_are_brought_to_the_same_work() -> None:
    found = compare([job(), job("b", 3.6, {"microbatches": 8, "train_batch_size": 96})])
    assert found.scales == (1.0, 2.0)
    assert [float(np.median(times)) for times in found.times_s if times is not None] == pytest.approx(
        [2.0, 1.8], rel=0.01
    )


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (report("b"), "Step times: For B, no numbered steps were recognized."),
        (report("b"), "GPU utilization and GPU memory of A and B: too short for a one-minute average of the work."),
        (replace(job("b"), cost=Cost()), "Cost of a step and cost of a sample of B: the price of the instances is not known."),
        (job("b", changes={"train_batch_size": None}), "Cost of a sample of B: neither the logs nor the "
        "configuration give"),
        (job("b"), "Scaling efficiency: all use the same number of instances."),
    ],
)  # fmt: skip
def test_what_is_missing_is_said_with_its_reason(other: Report, said: str) -> None:
    assert any(each.startswith(said) for each in missing(compare([job(), other]))), missing(compare([job(), other]))


def test_figures_that_no_job_has_are_not_drawn() -> None:
    found = measures(compare([job(), job("b", 1.8)]).figures)
    assert [each.title for each in found] == [
        "step time, median", "goodput", "cost of 1,000 steps", "cost of a million samples",
    ]  # fmt: skip
    assert [each.is_percent for each in found] == [False, True, False, False]
    assert found[2].write(found[2].values[0]).startswith("$56.")


def test_a_difference_says_where_it_was_read_and_what_is_alike_can_be_listed() -> None:
    a, b = job(changes={"output_dir": "s3://x"}), job("b", changes={"microbatches": 8})
    b.job.configuration["tensor_parallel_degree"] = Parameter(8, "log: algo-1 line 9")  # type: ignore[index]
    (different,) = differences([a.job, b.job])
    assert (different.parameter, different.read_from) == ("microbatches", ("mp_parameters", "mp_parameters"))
    same = {each.parameter: each for each in alike([a.job, b.job])}
    assert same["tensor_parallel_degree"].read_from == ("mp_parameters", "log: algo-1 line 9")
    assert same["instance_type"].read_from == ("DescribeTrainingJob", "DescribeTrainingJob")
    assert "microbatches" not in same
    assert own([a.job, b.job]) == ("output_dir",)


def test_what_takes_long_may_be_kept() -> None:
    asked: list[tuple[tuple[str, ...], str]] = []

    def keep(reports: tuple[Report, ...], what: str, make: Callable[[], Any]) -> Any:
        asked.append((tuple(each.job.name for each in reports), what))
        return make()

    jobs = [job("a"), job("b"), job("c")]
    assert compare(jobs, keep).against == compare(jobs).against
    assert asked == [
        *[((name,), "steps read") for name in "abc"],
        (("a", "b"), "compared, as B"),
        (("a", "c"), "compared, as C"),
    ]
