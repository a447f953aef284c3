"""Which nodes are worth a look? Where there are too many to draw, these are drawn, the worst first.

One answer for heatmaps, for the lanes of the timeline and for the table of nodes.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping

from monitor.analyze.timeline import COMMON
from monitor.model import Report
from monitor.model.host_metrics import OF_WORK

#: Points of one device: a node this far from the median node is named.
ODD_POINTS = 5.0
# Times the step time of the median node: worth a row of a chart, by far not yet a slow node.
_SLOWER = 1.03
_METRICS = (*OF_WORK, "memory_utilization")


def odd_nodes(report: Report) -> tuple[str, ...]:
    """The nodes that something sets apart, the worst first: those that findings name, then those whose steps take longer,
    then those whose devices are used otherwise or are not seen. What most nodes have in common sets none apart."""
    names = [name for name in report.job.node_names if name]
    most = COMMON * len(names)
    found: list[str] = []
    for finding in report.findings:
        found += _few((fact.node for fact in finding.evidence if fact.node in names), most)
    steps = {each.node.name: each.steps.median_s for each in report.nodes if each.steps and each.steps.median_s}
    found += _few(
        (name for name, times in _against_middle(steps, lambda own, usual: own / usual) if times >= _SLOWER), most
    )
    for metric in _METRICS:
        means = {each.node.name: spread.mean for each in report.nodes if (spread := getattr(each, metric)) is not None}
        far = _against_middle(means, lambda own, usual: abs(own - usual))
        found += _few((name for name, points in far if points >= ODD_POINTS), most)
        if means:
            found += _few((name for name in names if name not in means), most)
    return tuple(dict.fromkeys(found))


def _few(names: Iterable[str | None], most: float) -> list[str]:
    once = [name for name in dict.fromkeys(names) if name]
    return once if len(once) <= most else []


def _against_middle(values: Mapping[str, float], how: Callable[[float, float], float]) -> list[tuple[str, float]]:
    """Each node with how far it is from the median node, the furthest first."""
    if len(values) < 2:
        return []
    middle = statistics.median(values.values())
    return sorted(((name, how(value, middle)) for name, value in values.items()), key=lambda each: -each[1])
