"""Another instance type is advised by its price and its published pace, and never where its memory is too small."""

from __future__ import annotations

from dataclasses import replace

import pytest

from monitor.diagnose.rulebook import diagnose
from monitor.model import Finding, InstanceGroup, Price, Run
from monitor.predict.spread import RATIOS, cost_a_sample, others, speed
from tests.builders import metrics, nodes_of
from tests.diagnose.runs import BUSY, END, LOW, MINUTES, run

P4D, P4DE, P5 = "ml.p4d.24xlarge", "ml.p4de.24xlarge", "ml.p5.48xlarge"


def _of(kind: str, memory_pct: float = 75.0, use: dict[str, float] = BUSY) -> Run:
    nodes = tuple(replace(node, instance_type=kind) for node in nodes_of(2))
    names = [node.name for node in nodes]
    frame = metrics(names, MINUTES, {**use, "gpu_memory_utilization": memory_pct})
    found = run(frame, nodes=nodes)
    return replace(found, job=replace(found.job, instance_groups=(InstanceGroup("", kind, 2),)))


def _said(of: Run, usd: float, **others_usd: float) -> Finding | None:
    names = {"p4d": P4D, "p4de": P4DE, "p5": P5}
    price = Price(usd, "price list", {names[name]: each for name, each in others_usd.items()})
    return next((found for found in diagnose(of, END, price) if found.id == "instance-type"), None)


def test_a_cheaper_sample_is_told_with_its_range() -> None:
    found = _said(_of(P4DE), 31.0, p5=45.0)
    assert found is not None
    assert found.recommendation is not None
    assert (found.recommendation.parameter, found.recommendation.to_value) == ("instance_type", P5)
    # 45 / 31 over 2.16, and over 1.79 to 2.60.
    assert found.title == "A sample would cost 33 % less on ml.p5.48xlarge (19 to 44 %)"
    assert "range for 9 of 10 changes within its only source (held 9 of 10 of its other setups)" in found.summary
    assert found.severity == "info"


@pytest.mark.parametrize(
    ("of", "usd", "listed"),
    [
        (_of(P4DE), 31.0, {"p5": 63.3}),  # by the least favorable ratio it is dearer
        (_of(P4DE), 31.0, {}),
        (_of(P4DE, 60.0), 31.0, {"p4d": 1.0}),  # 48 of 80 GiB do not fit 40
        (_of(P4DE, 75.0, LOW), 31.0, {"p5": 45.0}),  # GPUs that wait are no faster elsewhere
        (_of("ml.g5.48xlarge"), 20.0, {"p5": 1.0}),  # nobody published how their pace compares
    ],
)
def test_nothing_is_said_where_it_is_not_cheaper_for_certain(of: Run, usd: float, listed: dict[str, float]) -> None:
    assert _said(of, usd, **listed) is None


def test_ratios_go_both_ways() -> None:
    assert set(others(P5)) == {P4D, P4DE}
    assert others("ml.m5.large") == ()
    for (before, after), (low, middle, high) in RATIOS.items():
        assert low < middle < high
        there, back = speed(before, after), speed(after, before)
        assert there is not None
        assert back is not None
        assert there[1] * back[1] == pytest.approx(1)
        cost = cost_a_sample(before, after, 10.0, 10.0)
        assert cost is not None
        assert cost[0] < cost[1] < cost[2]
