"""How many GPUs work is told from a host's sums; idle stretches and dips from single minutes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.analyze.devices import at_a_ceiling, by_minute, fewer_than_peers, processes_per_host, within, world_size
from monitor.analyze.utilization import dips, longest_idle
from monitor.model import Job, Parameter
from tests.builders import START, nodes_of
from tests.diagnose.utilization_runs import FOUR_NAMES, said, shaped

EIGHT = dict.fromkeys(FOUR_NAMES, 8)


@given(st.integers(1, 8), st.floats(1.0, 100.0), st.floats(0.0, 100.0), st.integers(1, 7))
def test_sums_fit_as_many_gpus_as_give_them(used: int, busy: float, held: float, asked: int) -> None:
    levels = {"gpu_utilization": busy * used / 8, "gpu_memory_utilization": held * used / 8}
    found = within(by_minute(shaped(levels, ["algo-1"], noise=0.0)), EIGHT, asked, 5)
    fits = max(busy, held) * used <= 100 * asked + 10 + 1e-6
    assert [one.node for one in found] == (["algo-1"] if fits else [])
    assert not found or found[0].busy_sum == pytest.approx(busy * used)


@pytest.mark.parametrize(
    ("gpu", "memory", "used"),
    [(84.0, 65.6, 7), (48.0, 37.5, 4), (84.0, 75.0, None), (96.0, 65.6, None), (80.0, 62.0, None), (96.0, 75.0, None)],
)
def test_a_host_is_short_of_gpus_only_where_both_figures_say_the_same(
    gpu: float, memory: float, used: int | None
) -> None:
    levels = {"gpu_utilization": 96.0, "gpu_memory_utilization": 75.0}
    own = {"algo-2": {"gpu_utilization": gpu, "gpu_memory_utilization": memory}}
    table = by_minute(shaped(levels, FOUR_NAMES, of_node=own))
    found = fewer_than_peers(table, EIGHT, dict.fromkeys(FOUR_NAMES, "ml.p4d.24xlarge"), 10)
    assert [(one.node, one.used) for one in found] == ([] if used is None else [("algo-2", used)])


@pytest.mark.parametrize(
    ("gpu", "memory", "noise", "used"),
    [(87.0, 86.0, 0.1, 7), (87.0, 86.0, 1.0, None), (91.0, 86.0, 0.1, None), (87.0, 80.0, 0.1, None)],
)
def test_a_ceiling_is_a_ceiling_only_where_nothing_passes_it(
    gpu: float, memory: float, noise: float, used: int | None
) -> None:
    table = by_minute(shaped({"gpu_utilization": gpu, "gpu_memory_utilization": memory}, ["algo-1"], noise=noise))
    assert [one.used for one in at_a_ceiling(table, EIGHT)] == ([] if used is None else [used])


def _gpu(values: Sequence[float]) -> pd.DataFrame:
    return shaped({"gpu_utilization": np.array(values, dtype=float)}, ["algo-1"], minutes=len(values), noise=0.0)


@given(st.lists(st.sampled_from([0.0, 90.0]), min_size=1, max_size=60))
def test_the_longest_stretch_is_the_longest_run_of_idle_minutes(values: list[float]) -> None:
    runs = "".join("0" if value == 0 else "1" for value in values).split("1")
    found = longest_idle(_gpu(values), ())
    assert [one.minutes for one in found] == ([] if not max(runs) else [len(max(runs))])


def test_one_missing_minute_does_not_end_a_stretch_and_an_evaluation_does() -> None:
    rows = _gpu([0.0] * 20)
    assert longest_idle(rows.drop(index=[7]), ())[0].minutes == 19
    assert longest_idle(rows.drop(index=[7, 8]), ())[0].minutes == 11
    evaluation = (START + timedelta(minutes=9), START + timedelta(minutes=10))
    assert longest_idle(rows, [evaluation])[0].minutes == 9


@pytest.mark.parametrize(
    ("low_at", "found"),
    [([5, 15, 25, 35, 45, 55], 1), (range(20, 30), 0), ([5, 15], 0), ([3, 6, 9, 12, 15], 0)],
)
def test_dips_come_again_and_go_on(low_at: Sequence[int], found: int) -> None:
    values = np.full(60, 93.0)
    values[list(low_at)] = 2.0
    assert len(dips(_gpu(list(values)))) == found


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("initializing with world size 32", 32),
        ("using world size: 64, data-parallel-size: 8", 64),
        ("  world_size ...................................... 16", 16),
        ("Initializing distributed: GLOBAL_RANK: 2, MEMBER: 3/4", 4),
        ("num processes: 16", 16),
        ("model parallel world size: 4", None),
        ("local world size: 8", None),
        ("hello world", None),
    ],
)
def test_the_size_of_the_world(text: str, size: int | None) -> None:
    assert world_size(text) == size


def test_the_launcher_is_asked_before_the_world() -> None:
    job = Job("job", nodes=nodes_of(2))
    world = (0.1, "world-size", "world size 16")
    assert processes_per_host(job, said([])) is None
    by_world = processes_per_host(job, said([world, (0.2, "world-size", "world size 4")]))
    assert by_world is not None
    assert (by_world.each, by_world.certain, by_world.line) == (8, False, "world size 16")
    for told in (
        (0.1, "torchrun", "2 4 0"),
        (0.1, "environment", '{"processes_per_host": 4}'),
        (0.1, "rank-order", "algo-1:4,algo-2:4"),
    ):
        found = processes_per_host(job, said([world, told]))
        assert found is not None
        assert (found.each, found.certain) == (4, True)
    configured = replace(
        job, configuration={"processes_per_host": Parameter(2, "sagemaker_mpi_num_of_processes_per_host")}
    )
    found = processes_per_host(configured, said([world]))
    assert found is not None
    assert found.each == 2
    assert processes_per_host(replace(job, nodes=()), said([world])) is None
