"""What a job costs: groups of several types, spot while it runs, warm pools."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.analyze.phases import cost, mean_price
from monitor.model import InstanceGroup, Job, Phase, Price

T0 = datetime(2026, 3, 4, 8, 0, tzinfo=UTC)
NOW = T0 + timedelta(hours=1)
JOB = Job("j", status="InProgress", instance_groups=(InstanceGroup("", "ml.a", 4),), created=T0, started=T0)
PARTS = (Phase("productive", T0, NOW, True),)
PRICE = Price(10.0, "AWS price list, us-east-1, 2026-03-04")


@given(st.lists(st.tuples(st.integers(1, 200), st.floats(0.01, 500)), min_size=1, max_size=5))
def test_instances_times_the_mean_is_what_the_groups_cost_together(parts: list[tuple[int, float]]) -> None:
    groups = [InstanceGroup(f"g{n}", f"ml.t{n}", count) for n, (count, _) in enumerate(parts)]
    prices = {f"ml.t{n}": Price(usd, "list") for n, (_, usd) in enumerate(parts)}
    mean = mean_price(groups, prices)
    assert mean is not None
    instances = sum(count for count, _ in parts)
    assert mean.usd_per_instance_hour * instances == pytest.approx(sum(count * usd for count, usd in parts))
    assert mean_price(groups, dict(list(prices.items())[1:])) is None


def test_sources_of_a_mean_are_all_named() -> None:
    groups = (InstanceGroup("a", "ml.a", 1), InstanceGroup("b", "ml.b", 3), InstanceGroup("c", "ml.a", 2))
    mean = mean_price(groups, {"ml.a": Price(2.0, "settings file"), "ml.b": Price(6.0, "price list")})
    assert mean == Price(4.0, "settings file and price list, mean over the instance groups")
    same = mean_price(groups[::2], {"ml.a": Price(2.0, "settings file")})
    assert same == Price(2.0, "settings file")
    assert mean_price((), {}) is None
    assert mean_price((InstanceGroup("", "", 2),), {}) is None


def test_a_spot_job_that_runs_costs_at_most_the_on_demand_price() -> None:
    running = cost(replace(JOB, spot=True), PARTS, (), PRICE)
    assert running.usd == pytest.approx(40.0)
    assert running.at_most
    assert running.price_source == f"{PRICE.source}; on-demand; a spot job pays at most that"
    ended = replace(JOB, spot=True, status="Completed", ended=NOW, training_seconds=3600, billable_seconds=1080)
    told = cost(ended, PARTS, (), PRICE)
    assert (told.usd, told.at_most, told.price_source) == (pytest.approx(12.0), False, PRICE.source)
    assert not cost(JOB, PARTS, (), PRICE).at_most


def test_a_warm_pool_is_beside_the_cost_of_the_job() -> None:
    ended = replace(JOB, status="Completed", ended=NOW, training_seconds=3600, billable_seconds=3600)
    kept = cost(replace(ended, warm_pool_billable_seconds=900), PARTS, (), PRICE)
    assert (kept.usd, kept.retained_usd) == (pytest.approx(40.0), pytest.approx(10.0))
    assert cost(ended, PARTS, (), PRICE).retained_usd is None
    assert cost(replace(ended, warm_pool_billable_seconds=900), PARTS, (), None).retained_usd is None
