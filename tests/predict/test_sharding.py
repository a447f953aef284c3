"""Traffic of sharded states, and what a smaller degree of sharding gains."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.predict.layout import (
    ShardedJob,
    degree_change_pct,
    exposed_s,
    network_bytes_per_node,
    ring_bytes,
    traffic_s,
    with_nvlink,
    without_nvlink,
)

#: Eight nodes of four GPUs on PCIe and 50 Gbit/s.
SLOW = without_nvlink(6.25e9)
JOB = ShardedJob(630e6, 50, gpus=32, gpus_per_node=4, degree=32, compute_s=(0.9, 2.1), bytes_per_parameter=4.0)


def test_traffic_of_a_published_case_comes_out() -> None:
    gigabytes = 2.53e9
    assert network_bytes_per_node(gigabytes, 32, 4, 32) / 1e9 == pytest.approx(6.9, abs=0.05)
    assert network_bytes_per_node(gigabytes, 32, 4, 32, parameters_kept=True) / 1e9 == pytest.approx(4.7, abs=0.05)
    assert network_bytes_per_node(gigabytes, 32, 4, 4) / 1e9 == pytest.approx(4.4, abs=0.05)


@given(st.floats(1e6, 1e12), st.sampled_from([1, 2, 4, 8]), st.integers(1, 8), st.booleans())
def test_a_group_of_the_whole_node_is_sharding_over_every_gpu(
    size: float, gpus: int, microbatches: int, kept: bool
) -> None:
    everything = network_bytes_per_node(size, gpus, 8, gpus, microbatches, kept)
    assert everything == network_bytes_per_node(size, gpus, 8) == 0
    job = ShardedJob(1e9, 24, gpus, 8, gpus, (1.0, 1.0), microbatches=microbatches)
    rings = (2 + (not kept)) * microbatches * ring_bytes(2e9, gpus) / 1e9
    assert traffic_s(job, 1e9, 1e9, 0.0, float(kept)) == pytest.approx(rings)


@given(st.sampled_from([2, 4, 8, 16]), st.integers(1, 8), st.booleans())
def test_a_group_inside_a_node_never_needs_more_of_the_network(nodes: int, microbatches: int, kept: bool) -> None:
    gpus = 8 * nodes
    over_all = network_bytes_per_node(1e9, gpus, 8, gpus, microbatches, kept)
    group = network_bytes_per_node(1e9, gpus, 8, 8, microbatches, kept)
    assert group <= over_all
    # What crosses the network inside a node's groups is the gradients, whatever the number of microbatches.
    assert group == network_bytes_per_node(1e9, gpus, 8, 8)


@given(st.floats(0.0, 10.0), st.floats(0.0, 10.0), st.floats(0.0, 1.0))
def test_a_step_is_between_the_longer_of_both_and_their_sum(compute: float, traffic: float, overlap: float) -> None:
    found = exposed_s(compute, traffic, overlap)
    assert found >= max(compute, traffic) - 1e-9
    assert found <= compute + traffic + 1e-9
    assert exposed_s(compute, traffic, 1.0) == pytest.approx(max(compute, traffic))
    assert ring_bytes(1.0, 1) == 0.0


def test_on_slow_links_a_group_in_a_node_is_surely_faster_and_on_fast_ones_it_hardly_matters() -> None:
    low, middle, high = degree_change_pct(JOB, 4, SLOW)
    assert low < middle < high < 0
    assert -30 <= low <= -14 <= high, "14 % were published"
    fast = degree_change_pct(replace(JOB, degree=32, gpus_per_node=8, compute_s=(1.0, 2.0)), 8, with_nvlink(50e9))
    assert abs(fast[1]) < 1.5
    assert degree_change_pct(JOB, 32, SLOW) == (0.0, 0.0, 0.0)


def test_more_microbatches_make_sharding_over_the_network_dearer() -> None:
    one, four = (
        degree_change_pct(replace(JOB, microbatches=m, compute_s=(0.9 * m, 2.1 * m)), 4, SLOW)[1] for m in (1, 4)
    )
    assert four < one


@pytest.mark.parametrize("degree", [0, 3, 64])
def test_a_degree_that_does_not_divide_the_gpus_is_refused(degree: int) -> None:
    with pytest.raises(ValueError, match="divides"):
        degree_change_pct(JOB, degree, SLOW)
