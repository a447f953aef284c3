"""Levels that rise, steps that stand out, nodes that differ: by arithmetic that holds for any numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from monitor.analyze.journal import journal
from monitor.analyze.pace import slow_steps
from monitor.analyze.peers import peer_groups, slow_nodes, unlike_nodes
from monitor.analyze.slowdown import lasting_rise, slowdown
from monitor.model import Job, Node, Parameter, Run, events_frame, steps_frame
from tests.diagnose.progress_jobs import Plan, looked_at


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(60, 3000), st.floats(0.2, 0.8), st.floats(1.15, 3.0), st.floats(1e-3, 1e3))
# The upper level falls apart into pieces, its last or its first a few reports long.
@example(seed=76, count=67, where=0.78125, ratio=2.0, scale=1.0)
@example(seed=585, count=64, where=0.79, ratio=2.08, scale=1.0)
def test_a_rise_is_found_where_it_is(seed: int, count: int, where: float, ratio: float, scale: float) -> None:
    values = scale * np.exp(np.random.default_rng(seed).normal(0, 0.01, count))
    at = max(12, min(int(where * count), count - 12))
    values[at:] *= ratio
    found = lasting_rise(values)
    assert found is not None
    assert abs(found.at - at) <= 1
    assert found.ratio == pytest.approx(ratio, rel=0.02)
    # Read backwards it is a fall, and a level that is the same throughout has none.
    assert lasting_rise(values[::-1]) is None


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 3000), st.sampled_from([0.0, 0.01, 0.05, 0.2]), st.floats(0, 0.02))
def test_noise_and_outliers_are_no_rise(seed: int, count: int, noise: float, outliers: float) -> None:
    rng = np.random.default_rng(seed)
    values = np.exp(rng.normal(0, noise, count))
    values[rng.random(count) < outliers] *= 8
    assert lasting_rise(values) is None


def test_what_is_not_known_is_left_out_and_places_stay() -> None:
    values = np.repeat([1.0, 1.3], 200)
    values[::7] = np.nan
    found = lasting_rise(values)
    assert found is not None
    assert found.at in {200, 201}


def test_a_climb_is_gradual_and_an_episode_is_none() -> None:
    noise = np.exp(np.random.default_rng(1).normal(0, 0.01, 1000))
    climb = lasting_rise(np.linspace(1.0, 1.5, 1000) * noise)
    assert climb is not None
    assert climb.gradual
    episode = noise.copy()
    episode[300:600] *= 1.5
    assert lasting_rise(episode) is None


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(60, 1200), st.floats(0.0, 0.25), st.floats(3.0, 50.0))
def test_slow_steps_are_counted(seed: int, count: int, share: float, times: float) -> None:
    rng = np.random.default_rng(seed)
    took = np.exp(rng.normal(0, 0.02, count)) * 2.0
    slow = rng.random(count) < share
    slow[:5] = False  # what is slow at the beginning is warm-up
    took[slow] *= times
    rows = _rows("algo-1", took)
    found = slow_steps(journal(rows, events_frame()))
    told = max(0.02 * count, 5)
    assert (found is not None) == (slow.sum() >= told)
    if found is not None:
        assert found.count == slow.sum()
        assert found.lost_s == pytest.approx((took[slow] - np.median(took)).sum(), rel=1e-6)


def _rows(node: str, took: np.ndarray, **changes: object) -> pd.DataFrame:
    count = len(took)
    return steps_frame(
        pd.DataFrame(
            {
                "node": node,
                "rank": 0,
                "step": np.arange(1, count + 1),
                "timestamp": pd.Series(pd.NaT, index=range(count), dtype="datetime64[ms, UTC]"),
                "step_time_s": took,
                "throughput": np.nan,
                "throughput_unit": "",
                "loss": np.nan,
                "gpu_memory_gib": np.nan,
                "format": "made",
                "kind": "step",
                "stream": f"{node}.log",
                "line": np.arange(1, count + 1),
                "total": pd.NA,
                "segment": 0,
                "warm_up": False,
            }
            | changes
        )
    )


def test_a_period_is_told() -> None:
    took = np.full(500, 1.0)
    took[24::25] = 5.0
    found = slow_steps(journal(_rows("algo-1", took), events_frame()))
    assert found is not None
    assert found.period == 25
    took = np.full(500, 1.0)
    took[np.random.default_rng(2).choice(500, 30, replace=False)] = 5.0
    found = slow_steps(journal(_rows("algo-1", took), events_frame()))
    assert found is not None
    assert found.period is None


@pytest.mark.parametrize(
    ("kind", "slow", "lost_s", "a_report"),
    [
        pytest.param("step", np.arange(24, 500, 25), 20 * 40.0, 1.0, id="each 250th, of one step each"),
        pytest.param("step", np.random.default_rng(2).choice(500, 30, replace=False), 300 * 40.0, 1.0, id="by chance"),
        pytest.param("interval", np.arange(24, 500, 25), 200 * 40.0, 10.0, id="each 250th, of means"),
    ],
)
def test_what_slow_steps_cost_where_one_in_ten_prints_its_time(
    kind: str, slow: np.ndarray, lost_s: float, a_report: float
) -> None:
    took = np.full(500, 1.0)
    took[slow] += 40.0
    found = slow_steps(journal(_rows("algo-1", took, kind=kind, step=10 * np.arange(1, 501)), events_frame()))
    assert found is not None
    assert (found.lost_s, found.total_s) == pytest.approx((lost_s, 5000 + lost_s), rel=0.02)
    assert (found.steps_a_report, found.apart) == (a_report, 10.0)


def test_only_throughput_is_enough_to_see_a_slowdown() -> None:
    rate = np.repeat([4000.0, 3000.0], 200) * np.exp(np.random.default_rng(3).normal(0, 0.01, 400))
    rows = _rows("algo-1", np.full(400, np.nan), throughput=rate, throughput_unit="samples/s")
    found = slowdown(journal(rows, events_frame()), rows, events_frame(), False)
    assert found is not None
    assert found.by == "samples/s"
    assert found.ratio == pytest.approx(4 / 3, rel=0.02)


def test_slower_at_the_same_step_of_each_run_is_meant() -> None:
    took = np.repeat([1.0, 1.5], 200)
    both = steps_frame(pd.concat([_rows("algo-1", took), _rows("algo-1", took, segment=1, line=np.arange(401, 801))]))
    assert slowdown(journal(both, events_frame()), both, events_frame(), False) is None
    once = _rows("algo-1", took)
    assert slowdown(journal(once, events_frame()), once, events_frame(), False) is not None


def test_another_number_of_processes_is_another_pace() -> None:
    run = looked_at(Plan(factor=((800, 10**6, 1.5),)))
    change = run.steps.loc[run.steps["step"] == 800, "timestamp"].iloc[0]
    size = {"node": "algo-1", "rank": 0, "kind": "world-size", "stream": "job/algo-1-1"}
    told = [
        size | {"timestamp": change - pd.Timedelta(minutes=20), "text": "world size: 16", "line": 2},
        size | {"timestamp": change + pd.Timedelta(seconds=1), "text": "world size: 8", "line": 2399},
    ]
    for events, expected in ((events_frame(told), True), (events_frame(told[:1]), False)):
        found = slowdown(journal(run.steps, events), run.steps, events, False)
        assert (found is None) == expected


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.integers(3, 12), st.floats(1.15, 3.0), st.sampled_from([0.005, 0.02]))
def test_the_slow_node_is_named_whatever_the_order(seed: int, nodes: int, ratio: float, noise: float) -> None:
    rng = np.random.default_rng(seed)
    bad = int(rng.integers(nodes))
    frames = [
        _rows(f"algo-{n + 1}", 2.0 * np.exp(rng.normal(0, noise, 900)) * (ratio if n == bad else 1.0))
        for n in range(nodes)
    ]
    order = rng.permutation(nodes)
    found = slow_nodes(steps_frame(pd.concat([frames[n] for n in order])), {})
    assert [one.node for one in found] == [f"algo-{bad + 1}"]
    assert found[0].value / found[0].peers == pytest.approx(ratio, rel=0.03)
    assert slow_nodes(steps_frame(pd.concat([frame for n, frame in enumerate(frames) if n != bad])), {}) == ()


def _utilization(run: Run, node: str, points: float) -> pd.DataFrame:
    mine = (run.metrics["metric"] == "gpu_utilization") & (run.metrics["node"] == node)
    rows = run.metrics[run.metrics["timestamp"] > run.metrics["timestamp"].min() + pd.Timedelta(minutes=5)]
    return rows.assign(value_pct=rows["value_pct"] - mine * points)


def test_utilization_is_compared_among_peers_only() -> None:
    run = looked_at(Plan(nodes=4))
    rows = _utilization(run, "algo-2", 25.0)
    assert [one.node for one in unlike_nodes(rows, {})] == ["algo-2"]
    stages = {"algo-1": "0", "algo-2": "1", "algo-3": "0", "algo-4": "1"}
    assert unlike_nodes(rows, stages) == ()
    pair = looked_at(Plan(nodes=2))
    (found,) = unlike_nodes(_utilization(pair, "algo-2", 25.0), {})
    assert found.alone
    assert (found.node, found.peer) == ("algo-2", "algo-1")


@pytest.mark.parametrize(
    ("p", "t", "smp", "placement", "groups"),
    [
        (1, 8, None, None, 1),
        (4, 2, 1, None, 1),  # whole pipelines in each node
        (4, 8, 1, None, 4),  # a stage in each node
        (2, 8, 1, "cluster", 2),
        (4, 2, 1, "spread", 2),
        (4, 2, None, None, 4),  # the pipeline is the outermost dimension
        (2, 8, None, None, 2),
        (3, 8, None, None, None),  # does not go into the ranks
        (4, 2, 1, "PDT", None),
    ],
)
def test_who_does_the_same_part(p: int, t: int, smp: int | None, placement: str | None, groups: int | None) -> None:
    values = {"pipeline_parallel_degree": p, "tensor_parallel_degree": t, "placement_strategy": placement}
    job = Job(
        "stages",
        nodes=tuple(Node(f"algo-{n}", "ml.p4d.24xlarge", 8) for n in (1, 2, 3, 4)),
        smp_version=smp,  # type: ignore[arg-type]
        configuration={name: Parameter(value, "mp_parameters") for name, value in values.items() if value},
    )
    found = peer_groups(job)
    assert (None if found is None else len(set(found.values()))) == groups
