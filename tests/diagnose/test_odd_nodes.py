"""Nodes worth a look are in the picture, whatever their number: in heatmaps, lanes and the table, the worst first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest

from monitor.analyze.timeline import MOST_LANES, timeline
from monitor.charts import utilization
from monitor.charts.utilization import ROWS, measured
from monitor.diagnose.unlike import odd_nodes
from monitor.diagnose.words.charts import not_drawn, timeline_words
from monitor.model import Distribution as Spread
from monitor.model import Evidence, Finding, NodeStats, Report, StepSpread
from monitor.show.job.tables import node_rows
from tests.builders import START, metrics, nodes_of, report, steps

GPU = "gpu_utilization"
SPAN = (START, START + timedelta(minutes=30))


def _job(nodes: int, *, slow: str = "", times: float = 1.4, finding: tuple[str, ...] = (), idle: str = "") -> Report:
    """A job that runs alike on all nodes, but for a slow one, one whose GPUs idle, and those that a finding names."""
    hosts = nodes_of(nodes)
    stats = tuple(
        NodeStats(
            host,
            Spread(40.0 if host.name == idle else 80.0 + place % 3, 70, 80, 90),
            steps=StepSpread(100, (times if host.name == slow else 1.0) * (2 + place % 5 * 0.001), 2, 2.1),
        )
        for place, host in enumerate(hosts)
    )
    names = [host.name for host in hosts]
    facts = tuple(Evidence("step time", 2.8, "s", node=name) for name in finding)
    built = report(
        nodes=hosts,
        minutes=30,
        metric_frame=metrics(names, 30, {GPU: 80.0}),
        step_frame=steps(names[-1:], 300, 2.0),
        findings=(Finding("slow-node", "warning", "high", "slow", "slow", facts),) if facts else (),
    )
    return replace(built, nodes=stats)


@pytest.mark.parametrize(
    ("make", "worst"),
    [
        (partial(_job, 256), ()),
        (partial(_job, 256, slow="algo-200"), ("algo-200",)),
        (partial(_job, 256, slow="algo-200", times=1.02), ()),
        (partial(_job, 256, slow="algo-200", idle="algo-77"), ("algo-200", "algo-77")),
        (partial(_job, 256, slow="algo-200", finding=("algo-9", "algo-9")), ("algo-9", "algo-200")),
        (partial(_job, 8, finding=tuple(f"algo-{place}" for place in range(1, 9)), idle="algo-2"), ("algo-2",)),
        (partial(_job, 1, slow="algo-1"), ()),
    ],
    ids=["alike", "slow", "hardly slower", "idle too", "a finding first", "what all have sets none apart", "alone"],
)
def test_the_worst_nodes_come_first_and_what_is_common_sets_none_apart(
    make: Callable[[], Report], worst: tuple[str, ...]
) -> None:
    assert odd_nodes(make()) == worst


def test_a_node_that_is_not_seen_is_odd() -> None:
    job = _job(100)
    unseen = replace(job, nodes=tuple(each for each in job.nodes if each.node.name != "algo-42"))
    assert odd_nodes(unseen) == ("algo-42",)


@pytest.mark.parametrize("nodes", [2, 12, 64, 65, 256])
def test_a_slow_node_is_in_every_picture(nodes: int) -> None:
    name = f"algo-{nodes - nodes // 5}"
    job = _job(nodes, slow=name)
    odd = odd_nodes(job) or (name,)  # of two nodes the median lies between them
    rows = measured(job.run.metrics, GPU, job.job.node_names)
    ground, shown, *_ = utilization.heatmap_frames(rows, SPAN, first=odd)
    assert ground["node"].iloc[0] == name
    assert len(ground) == min(nodes, ROWS)
    assert set(shown["node"]) == set(ground["node"])
    assert utilization.row_pixels(len(ground)) >= utilization.FRAMED_PX, "a row can be told from its neighbors"
    found = timeline(job.run, job.phases, job.activities, None, job.reviewed_at, odd)
    assert name in found.lanes
    assert len(found.lanes) <= MOST_LANES + 2
    assert node_rows(job)["node"].iloc[0] == name if len(odd_nodes(job)) else True
    said = timeline_words(found, job)
    assert (f"{found.left_out} of {nodes} nodes have nothing unusual (not drawn)" in said) == (nodes > 12)


def test_a_node_that_crosses_a_threshold_has_a_row() -> None:
    job = _job(256)
    rows = measured(job.run.metrics, GPU, job.job.node_names)
    spans = utilization.crossings(  # an empty frame of the right columns
        job.run.metrics.iloc[:0].assign(start=SPAN[0], end=SPAN[1], name="", node=""), [], None
    )[0]
    spans.loc[0] = ["algo-250", -1, SPAN[0], SPAN[1], "< 40"]
    ground, _, own, _ = utilization.heatmap_frames(rows, SPAN, spans=spans)
    assert ground["node"].iloc[0] == "algo-250"
    assert own["order"].tolist() == [0]


@pytest.mark.parametrize(
    ("left_out", "of", "odd", "said"),
    [
        (0, 8, 0, ""),
        (60, 64, 0, "60 of 64 nodes have nothing unusual (not drawn)"),
        (192, 256, 7, "192 of 256 nodes are not drawn, 7 of them also unusual"),
    ],
)
def test_what_is_not_drawn_is_counted(left_out: int, of: int, odd: int, said: str) -> None:
    assert not_drawn(left_out, of, odd) == said
