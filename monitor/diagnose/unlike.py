"""Nodes that differ from their peers, in their own step times or in their GPUs: what is said about them, and which are drawn,
the worst first, where there are too many.

One answer for heatmaps, for the lanes of the timeline and for the table of nodes.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta

import pandas as pd

from monitor.analyze.peers import Outlier
from monitor.analyze.timeline import COMMON
from monitor.diagnose.rulebook import Case
from monitor.diagnose.stakes import STEPS
from monitor.diagnose.words.report import saved_words
from monitor.model import Evidence, Finding, Recommendation, Report, Saving
from monitor.model.host_metrics import OF_WORK
from monitor.words import percent, step_seconds

# Points of one device: less is no difference.
_POINTS = 5.0


def by_steps(case: Case, found: tuple[Outlier, ...], pipelined: bool) -> Finding:
    worst = found[0]
    ratio = worst.value / worst.peers
    share = (ratio - 1) / ratio
    when = _when(case, worst)
    blamed = not worst.alone or _waits_itself(case, worst)
    savings = (Saving(STEPS, share * _part(case, worst), goes_on=share if _lasts(case, worst) else 0.0),)
    cost = f": {money}" if (money := saved_words(case.bill, savings)) else ""
    figures = f"{step_seconds(worst.value)} against {step_seconds(worst.peers)}"
    names = [one.node for one in found]
    if not blamed:
        title = f"{worst.node} and {worst.peer} differ: {figures} a step"
        said = (
            f"The two nodes differ: {worst.node}'s steps take {ratio:.2f} x those of {worst.peer}{when} ({figures}, "
            f"{worst.minutes} minutes). With only two nodes, this does not show which one is at fault."
        )
    elif len(names) == 1:
        title = f"{worst.node} is slow: {ratio:.2f} x its peers' step time"
        said = (
            f"{worst.node} is slow: its steps take {ratio:.2f} x the median of its peers{when} "
            f"({figures}, {worst.minutes} minutes)."
        )
    else:
        several = f"{', '.join(names[:4])} and others" if len(names) > 4 else f"{', '.join(names[:-1])} and {names[-1]}"
        title = f"{len(names)} nodes are slow: up to {ratio:.2f} x their peers' step time"
        said = (
            f"{several} are slow: the steps of {worst.node} take "
            f"{ratio:.2f} x the median of its peers{when} ({figures}, {worst.minutes} minutes)."
        )
    by_right = " Pipeline stages may differ for good reason." if pipelined else ""
    who = worst.node if len(names) == 1 else "one of them"
    return Finding(
        "slow-node",
        "warning",
        "high" if blamed and not pipelined else "medium",
        title,
        f"{said} All nodes wait for the slowest one at every step{cost}.{_others(case, worst)}{by_right}",
        tuple(
            item
            for one in found[:4]
            for item in (
                Evidence("step time", one.value, "s", one.node, one.start, one.end, view="steps", role="step time"),
                Evidence(
                    "median of its peers at the same steps",
                    one.peers,
                    "s",
                    one.peer or None,
                    one.start,
                    one.end,
                    view="steps",
                    role="peers' step time",
                ),
            )
        ),
        Recommendation(
            f"Replace the instance: a new run gets a different one. If {who} is slow again in the next run, look at "
            "its data shard."
            if blamed
            else f"Compare what {worst.node} and {worst.peer} load and log; in the next run, see whether the node "
            f"with that number is slow again.",
            source="rule slow-node",
        ),
        not_checked=("the cause: CloudWatch does not have an instance's temperature, ECC errors and network",),
        savings=savings,
    )


def by_gpu(case: Case, found: tuple[Outlier, ...]) -> Finding:
    worst = found[0]
    gap = abs(worst.value - worst.peers)
    lower = worst.value < worst.peers
    when = _when(case, worst)
    figures = f"{percent(worst.value)} against {percent(worst.peers)}"
    if worst.alone:
        title = f"GPUs of {worst.node} and {worst.peer} differ: {figures}"
        said = (
            f"The GPUs of the two nodes differ by {gap:.0f} points{when}: {worst.node} {percent(worst.value)}, "
            f"{worst.peer} {percent(worst.peers)}. With only two nodes, this does not show which one holds up the "
            "other."
        )
    else:
        names = [one.node for one in found]
        title = (
            f"{worst.node}'s GPUs differ from its peers': {figures}"
            if len(names) == 1
            else f"GPUs of {len(names)} nodes differ from their peers'"
        )
        more = "" if len(names) == 1 else f" So are {', '.join(names[1:4])}{' and others' if len(names) > 4 else ''}."
        guess = (
            "it seems to wait for something of its own (input, CPU, disk) while the others wait for it"
            if lower
            else "the others seem to wait for it"
        )
        said = (
            f"{worst.node} differs from its peers: its GPU utilization is {gap:.0f} points "
            f"{'lower' if lower else 'higher'} than their median{when} ({figures}, {worst.minutes} minutes): "
            f"{guess}.{more}"
        )
    return Finding(
        "slow-node",
        "warning",
        "low" if worst.alone else "medium",
        title,
        f"{said} All nodes wait for the slowest one at every step.",
        tuple(
            item
            for one in found[:4]
            for item in (
                Evidence("GPU utilization", one.value, "%", one.node, one.start, one.end, view="gpu_utilization"),
                Evidence(
                    "median of its peers in the same minutes", one.peers, "%", one.peer or None, one.start, one.end
                ),
            )
        ),
        Recommendation(
            f"Print a step time on each node to see which one is slow; look at what {worst.node} loads and logs, "
            "and replace the instance if that shows it too.",
            source="rule slow-node",
        ),
        not_checked=(
            "step times of individual nodes: the logs have none",
            "the cause: CloudWatch does not have an instance's temperature, ECC errors and network",
        ),
    )


def _waits_itself(case: Case, found: Outlier) -> bool:
    """Whether of two nodes the slower one's GPUs also idle more, while those of the other wait in the collective."""
    means = _means(case, "gpu_utilization", found.start, found.end)
    own, peer = means.get(found.node), means.get(found.peer)
    return own is not None and peer is not None and own <= 0.9 * peer and peer >= 90.0


def _means(case: Case, metric: str, start: datetime | None, end: datetime | None) -> dict[str, float]:
    rows = case.metrics[case.metrics["metric"] == metric]
    if start is not None and end is not None:
        rows = rows[rows["timestamp"].between(start, end)]
    return {str(name): float(v) for name, v in rows.groupby("node", observed=True)["value_pct"].mean().items()}


def _others(case: Case, found: Outlier) -> str:
    """How the node's GPU and CPU compare in the same span, where they do."""
    said = []
    for metric, name in (("gpu_utilization", "GPU"), ("cpu_utilization", "CPU")):
        means = pd.Series(_means(case, metric, found.start, found.end), dtype="float64")
        if found.node in means.index and len(means) > 2:
            gap = means[found.node] - means.drop(found.node).median()
            lower = "lower" if gap < 0 else "higher"
            like = f"its {name} matches theirs"
            said.append(like if abs(gap) < _POINTS else f"its {name} is {abs(gap):.0f} points {lower}")
    return f" I{'; '.join(said)[1:]}." if said else ""


def _when(case: Case, found: Outlier) -> str:
    if found.start is None or found.end is None:
        return ""
    if _lasts(case, found):
        return f" since {case.clock(found.start)}"
    return f" from {case.clock(found.start)} to {case.clock(found.end)}"


def _lasts(case: Case, found: Outlier) -> bool:
    """Whether it is so still, or was to the end."""
    until = case.window.end if case.window else case.now
    return found.end is None or until - found.end <= timedelta(minutes=15)


def _part(case: Case, found: Outlier) -> float:
    """Of the time of work the part in which it was so."""
    if case.window is None or not case.window.minutes:
        return 1.0
    return min(1.0, found.minutes / case.window.minutes)


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
