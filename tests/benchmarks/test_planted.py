"""The suite of planted faults: jobs are the same each time, are read as they were written, and are judged by their truth."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.planted.catalogue import FAULTS, TWINS, Ticket, scenario, tickets
from benchmarks.planted.contract import ADVICE, CONSEQUENCES, PLANTED
from benchmarks.planted.docs import BEGIN, END, write
from benchmarks.planted.draw import TIMED, Wish, ordinary
from benchmarks.planted.dump import dump
from benchmarks.planted.healthy import SORTS, sort_of
from benchmarks.planted.measure import Verdict, judge
from benchmarks.planted.plan import Plan, View
from benchmarks.planted.scenario import Scenario, build
from benchmarks.planted.source import PlantedSource
from benchmarks.planted.table import passed, rows
from benchmarks.planted.truth import Truth, fault, healthy, remark
from monitor.diagnose.rulebook import rules
from monitor.review import Reviewer


def test_every_finding_of_the_contract_is_planted() -> None:
    assert tuple(FAULTS) == PLANTED


def test_every_rule_is_planted_or_said_to_be_not() -> None:
    unknown = {rule.id for rule in rules()} - {*PLANTED} - ADVICE - CONSEQUENCES
    assert not unknown, f"plant {unknown} in benchmarks/planted, or name it in contract.py"


@pytest.mark.parametrize("planted", [*FAULTS, None], ids=str)
def test_a_ticket_is_always_the_same_job(planted: str | None) -> None:
    one, other = scenario(Ticket(planted, 1)), scenario(Ticket(planted, 1))
    assert one.plan == other.plan
    assert one.answer == other.answer
    assert one.streams == other.streams
    pd.testing.assert_frame_equal(one.metrics, other.metrics)
    assert one.plan != scenario(Ticket(planted, 2)).plan


@pytest.mark.parametrize("sort", SORTS)
def test_every_sort_of_healthy_job_is_drawn(sort: str) -> None:
    number = next(number for number in range(200) if sort_of(number) == sort)
    job = scenario(Ticket(None, number))
    assert job.truth == healthy(sort)
    _is_whole(job)


@pytest.mark.parametrize("planted", FAULTS)
def test_a_fault_tells_its_truth(planted: str) -> None:
    job = scenario(Ticket(planted, 0))
    assert job.truth.planted == planted
    assert planted in job.truth.first | job.truth.said
    _is_whole(job)


@pytest.mark.parametrize("planted", TWINS)
def test_a_twin_is_healthy_and_is_called_so(planted: str) -> None:
    assert planted.removesuffix("-twin") in FAULTS
    job = scenario(Ticket(planted, 0))
    assert job.truth.planted is None
    _is_whole(job)
    assert judge(Ticket(planted, 0)).loud == ()


@pytest.mark.parametrize("planted", [name.removesuffix("-twin") for name in TWINS])
def test_what_a_profiler_shows_is_said_first(planted: str) -> None:
    assert judge(Ticket(planted, 0)).named_first


def _is_whole(job: Scenario) -> None:
    """Nothing is seen that has not happened, percentages stay within their hosts, times go up."""
    assert job.answer["CreationTime"] < job.now
    hardware = job.plan.hardware
    if len(job.metrics):
        assert job.metrics["timestamp"].max() < job.now
        highest = job.metrics.groupby("metric")["value"].max()
        assert highest.get("gpu_utilization", 0) <= 100 * hardware.gpus
        assert highest["cpu_utilization"] <= 100 * hardware.vcpus
        assert highest["disk_utilization"] <= 100
        assert job.metrics["value"].min() >= 0
    for stream in job.streams:
        times = [at for at, _ in stream.lines]
        assert times == sorted(times)
        assert times[-1] <= job.now.timestamp() * 1000 + 1


@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("framework", TIMED)
def test_steps_are_read_as_they_were_printed(framework: str, nodes: int) -> None:
    plan = _plan(framework, nodes)
    report = Reviewer(PlantedSource(build(plan, healthy(""))), plan.name).review(
        datetime.fromisoformat("2026-06-01T00:00Z")
    )
    assert report.steps is not None
    printed = {1, *range(plan.log_every, plan.steps + 1, plan.log_every), plan.steps}
    assert report.steps.distinct == len(printed)
    if report.steps.median_s is not None:
        assert report.steps.median_s == pytest.approx(plan.pace.step_s, rel=0.15)
    assert set(report.run.metrics["node"]) == {f"algo-{number + 1}" for number in range(nodes)}


def _plan(framework: str, nodes: int) -> Plan:
    wish = Wish((framework,), nodes=(nodes,), ends=("completed",), minutes=(60, 90), reports=(60, 120))
    plan = ordinary(np.random.default_rng(5), "one", 5, wish)
    return replace(plan, evaluation=None, checkpoint=None)


def test_old_jobs_have_a_point_each_five_minutes_and_what_is_refused_is_absent() -> None:
    plan = _plan("megatron", 2)
    old = build(replace(plan, view=View(period_s=300)), healthy("")).metrics
    assert (old["timestamp"].dt.minute % 5 == 0).all()
    refused = build(replace(plan, view=View(metrics=False, logs=False)), healthy(""))
    assert not len(refused.metrics)
    assert refused.streams == ()


@pytest.mark.parametrize(
    ("truth", "loud", "quiet", "first", "named", "wrong"),
    [
        (fault("stall", "idle-gpus"), ("stall", "idle-gpus"), (), True, True, ()),
        (fault("stall", "idle-gpus"), ("idle-gpus", "stall"), (), False, True, ()),
        (fault("stall"), ("slow-node",), ("stall",), False, True, ("slow-node",)),
        (fault("stall", or_first=("nccl-timeout",)), ("nccl-timeout",), (), True, True, ()),
        (fault("stall"), (), (), False, False, ()),
        (remark("coarse-metrics"), (), ("coarse-metrics",), True, True, ()),
        (remark("coarse-metrics"), ("stall",), ("coarse-metrics",), False, True, ("stall",)),
        (remark("coarse-metrics"), (), (), False, False, ()),
        (healthy("usual"), (), ("no-step-lines",), True, True, ()),
        (healthy("usual"), ("stall",), (), False, True, ("stall",)),
    ],
)
def test_verdicts(
    truth: Truth, loud: tuple[str, ...], quiet: tuple[str, ...], first: bool, named: bool, wrong: tuple[str, ...]
) -> None:
    verdict = Verdict(Ticket(truth.planted, 0), truth, loud, quiet, 0.1)
    assert (verdict.named_first, verdict.named, verdict.wrong) == (first, named, wrong)


def test_the_table_counts_and_the_goals_decide() -> None:
    good = [Verdict(Ticket("stall", k), fault("stall"), ("stall",), (), 0.1) for k in range(39)]
    bad = Verdict(Ticket("stall", 39), fault("stall"), ("slow-node",), (), 0.1)
    calm = [Verdict(Ticket(None, k), healthy("usual"), (), (), 0.1) for k in range(199)]
    crying = Verdict(Ticket(None, 199), healthy("usual"), ("stall",), (), 0.1)
    assert passed([*good, bad], [*calm, crying])
    assert not passed([*good, bad, bad], calm)
    assert not passed(good, [*calm, crying, crying])
    table = rows([*good, bad, *calm, crying])
    assert table[1] == ("stall", "40", "39 (98%)", "39", "0", "slow-node 1")
    assert table[-2][0] == "healthy"
    assert table[-1][0] == "pass"


@pytest.mark.parametrize(
    "name", ["stall-0", "cuda-out-of-memory-1", "spot-interruption-0", "capacity-0", "slow-node-1"]
)
def test_the_review_of_a_planted_job_comes_to_an_end(name: str) -> None:
    planted, _, number = name.rpartition("-")
    assert judge(Ticket(planted, int(number))).trouble == ""


def test_a_healthy_job_is_reviewed() -> None:
    assert [judge(Ticket(None, number)).trouble for number in range(3)] == ["", "", ""]


def test_tickets_are_counted() -> None:
    assert len(list(tickets(2, 5))) == 2 * len(FAULTS | TWINS) + 5


def test_a_job_is_written_as_files(tmp_path: Path) -> None:
    job = scenario(Ticket("slow-node", 0))
    place = dump(job, tmp_path)
    assert json.loads((place / "job.json").read_text())["TrainingJobName"] == "slow-node-0"
    assert json.loads((place / "truth.json").read_text())["first"] == ["slow-node"]
    assert len(list(place.glob("algo-*.log"))) == len(job.streams)
    assert len(pd.read_csv(place / "metrics.csv")) == len(job.metrics)


def test_the_page_keeps_what_is_around_the_table(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# One\n\n{BEGIN}\nold\n{END}\n\nbehind\n")
    write([("a", "b"), ("1", "2")], page)
    assert page.read_text() == f"# One\n\n{BEGIN}\n| a | b |\n|---|---|\n| 1 | 2 |\n{END}\n\nbehind\n"
