"""What must hold of every series of figures: order, gaps, looser thresholds, and a second way to the same answer."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.model import Report, metrics_frame, steps_frame
from tests.alert.jobs import job, minutes, reported, verdict

# Few levels and many equal neighbors: stretches of some length.
_STRETCH = st.tuples(st.sampled_from([20.0, 35.0, 45.0, 90.0, None]), st.integers(1, 14))
_LEVELS = st.lists(_STRETCH, min_size=1, max_size=8).map(lambda parts: [level for level, n in parts for _ in range(n)])
_NODES = st.dictionaries(st.sampled_from(["algo-1", "algo-2", "algo-3"]), _LEVELS, min_size=1)
_SCOPES = st.sampled_from(["any", "all", "mean", "algo-1"])
_FEW = settings(max_examples=25, deadline=None)


def _job(nodes: dict[str, list[float | None]], running: bool) -> Report:
    # A busy beginning, so that all that comes is judged.
    levels = {node: [90.0] * 2 + found for node, found in nodes.items()}
    return job(minutes(levels), running=running, length=3 + max(map(len, levels.values())), nodes=3)


@_FEW
@given(_NODES, st.booleans(), _SCOPES, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(nodes, running, scope, random) -> None:  # type: ignore[no-untyped-def]
    found = _job(nodes, running)
    rows = found.run.metrics.to_dict("records")
    random.shuffle(rows)
    other = replace(found, run=replace(found.run, metrics=metrics_frame(rows)))
    for expression in (f"gpu_utilization < 40 for 10m on {scope}", f"gpu_utilization < 0.6x on {scope}"):
        assert verdict(found, expression) == verdict(other, expression)


@_FEW
@given(st.lists(st.sampled_from([2.0, 2.1, 3.0, 4.0]), min_size=12, max_size=60), st.randoms(use_true_random=False))
def test_nor_does_that_of_steps(times, random) -> None:  # type: ignore[no-untyped-def]
    found = job(steps=reported({"algo-1": times, "algo-2": times[::-1]}))
    rows = found.run.steps.to_dict("records")
    random.shuffle(rows)
    other = replace(found, run=replace(found.run, steps=steps_frame(rows)))
    for expression in ("step_time > 1.3x for 3 steps", "step_time > 2.5 for 9s on mean", "seconds_since_last_step > 3"):
        assert verdict(found, expression) == verdict(other, expression)


@_FEW
@given(_NODES, st.booleans(), _SCOPES, st.sampled_from([(30, 40), (40, 50), (21, 60)]), st.integers(1, 15))
def test_what_fires_fires_for_a_looser_threshold_too(nodes, running, scope, limits, lasting) -> None:  # type: ignore[no-untyped-def]
    found = _job(nodes, running)
    tight, loose = limits
    for op, first, second in (("<", tight, loose), (">", loose, tight)):
        if verdict(found, f"gpu_utilization {op} {first} for {lasting}m on {scope}").state == "firing":
            assert verdict(found, f"gpu_utilization {op} {second} for {lasting}m on {scope}").state == "firing"


@_FEW
@given(_NODES, st.booleans(), _SCOPES, st.integers(2, 15))
def test_what_lasts_lasted_shorter_too(nodes, running, scope, lasting) -> None:  # type: ignore[no-untyped-def]
    found = _job(nodes, running)
    if verdict(found, f"gpu_utilization < 40 for {lasting}m on {scope}").state == "firing":
        assert verdict(found, f"gpu_utilization < 40 for {lasting - 1}m on {scope}").state == "firing"


@_FEW
@given(_LEVELS, st.integers(1, 12))
def test_a_gap_neither_fires_nor_clears(levels, missing) -> None:  # type: ignore[no-untyped-def]
    seen = _job({"algo-1": levels}, running=True)
    before = verdict(seen, "gpu_utilization < 40 for 5m")
    later = _job({"algo-1": [*levels, *[None] * missing]}, running=True)
    after = verdict(later, "gpu_utilization < 40 for 5m")
    assert (before.state == "firing") == (after.state == "firing")
    assert before.since == after.since


@_FEW
@given(_LEVELS, st.integers(1, 12), st.booleans())
def test_the_same_by_counting_minutes(levels, lasting, running) -> None:  # type: ignore[no-untyped-def]
    found = _job({"algo-1": levels}, running)
    low_or_not = [None if level is None else level < 40 for level in levels]
    stretches = [(low, len(list(rest))) for low, rest in groupby([False, *low_or_not])]
    fires = any(low and length >= lasting for low, length in stretches)
    if running:
        # Back to the last minute that says no, past all holes.
        tail = []
        for low, length in reversed(stretches):
            if low is False:
                break
            tail.append(bool(low) and length >= lasting)
        fires = any(tail)
    assert (verdict(found, f"gpu_utilization < 40 for {lasting}m").state == "firing") == fires


@_FEW
@given(st.lists(st.floats(0.5, 400), min_size=2, max_size=30), st.floats(1, 500), st.integers(0, 300))
def test_silences_by_their_lengths(gaps, limit, lasting) -> None:  # type: ignore[no-untyped-def]
    gaps = [round(gap, 3) for gap in gaps]
    limit = round(limit, 1)
    # The first report ends a step of its own; a silence lasts from one to the next.
    found = job(steps=reported({"algo-1": gaps}), length=0)
    found = replace(found, run=replace(found.run, job=replace(found.job, ended=None, started=None, transitions=())))
    expression = f"seconds_since_last_step > {limit:g}" + (f" for {lasting}s" if lasting else "")
    longest = max(gaps[1:])
    if abs(longest - limit - lasting) > 0.01:
        assert (verdict(found, expression).state == "firing") == (longest - limit > lasting)


@pytest.mark.parametrize("scope", ["all", "mean", "any"])
def test_one_node_is_the_same_in_every_scope(scope: str) -> None:
    found = _job({"algo-1": [30.0] * 12 + [90.0] * 5}, running=False)
    assert verdict(found, f"gpu_utilization < 40 for 10m on {scope}").state == "firing"
