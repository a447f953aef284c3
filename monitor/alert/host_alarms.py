"""Which alarms keep a rule about a host's devices? One a node, or math over up to ten nodes for ``all`` and ``mean``.

CloudWatch has sums over a host's GPUs and vCPUs: a threshold in percent of one device is scaled by their count.
"""

from __future__ import annotations

from collections.abc import Sequence

from monitor.alert.alarm import MOST_METRICS, Alarm, Series
from monitor.alert.conditions import Rule, Threshold, number
from monitor.alert.kept import Form, Kept, cannot, parts, too_long
from monitor.alert.measures import MEASURES
from monitor.model import Job, Node
from monitor.model.host_metrics import HOST_METRIC_NAMES, HOST_NAMESPACE, OF_GPUS, devices, devices_word, host_name

_PERIOD_S = 60
_WHY_MISSING = (
    "the host sends nothing before the job starts and after it ends, which must neither fire the alarm nor keep it red"
)
# Low figures of these, before the first step, are initialization.
_OF_WORK = frozenset({*OF_GPUS, "cpu_utilization"})


def host_alarms(job: Job, rule: Rule, when: Threshold, topics: tuple[str, ...]) -> Kept:
    """The alarms of a rule about one of CloudWatch's five metrics of a host."""
    if why := too_long(when, _PERIOD_S):
        return cannot(why)
    if not job.nodes:
        return cannot("The instances of this job are not known.")
    asked = [node for node in job.nodes if not when.scope.startswith("algo-") or node.name == when.scope]
    counts = {node.name: count for node in asked if (count := devices(node, when.metric))}
    why_not = tuple(_without(job, asked, when.metric, some=bool(counts)))
    if not counts:
        return Kept(why_not=why_not)
    form = Form(job.name, rule, when, "notBreaching", _WHY_MISSING, topics)
    if when.scope in {"all", "mean"} and len(counts) > 1:
        if any(node.name not in counts and devices(node, when.metric) is None for node in asked):
            return Kept(why_not=why_not)
        alarms = tuple(_together(form, part, counts, len(counts)) for part in parts(tuple(counts)))
    else:
        alarms = tuple(_of_node(form, name, count) for name, count in counts.items())
    return Kept(alarms, why_not, tuple(_notes(when, len(counts))))


def _without(job: Job, nodes: Sequence[Node], metric: str, some: bool) -> list[str]:
    """Why nodes have no alarm, a sentence for each instance type; ``some`` others have one."""
    word, reasons = devices_word(metric), {}
    for node in nodes:
        count = devices(node, metric)
        if count == 0 and not some:
            reasons[node.instance_type] = f"{node.instance_type} has no {word[:-1]}."
        elif count is None and node.instance_type is None:
            groups = " and ".join(dict.fromkeys(group.instance_type for group in job.instance_groups))
            reasons[None] = (
                f"AWS does not say which node is of which type ({groups or 'unknown'}), and CloudWatch's figure is a "
                f"sum over a node's {word}."
            )
        elif count is None:
            reasons[node.instance_type] = (
                f"The number of {word} of {node.instance_type} is not known, and CloudWatch's figure is a sum over them."
            )
    return list(reasons.values())


def _series(form: Form, node: str) -> Series:
    host = (("Host", host_name(form.job, node)),)
    return Series(HOST_NAMESPACE, HOST_METRIC_NAMES[form.when.metric], host, "Average", _PERIOD_S)


def _of_node(form: Form, node: str, count: int) -> Alarm:
    return form.alarm(node, (node,), (_series(form, node),), form.when.value * count, _meaning(form.when, count))


def _together(form: Form, nodes: tuple[str, ...], counts: dict[str, int], total: int) -> Alarm:
    """Their mean, or for ``all`` the node that is nearest to the other side."""
    when = form.when
    function = "AVG" if when.scope == "mean" else "MAX" if when.op.startswith("<") else "MIN"
    sizes = {counts[node] for node in nodes}
    places = enumerate(nodes, 1)
    if len(sizes) == 1:
        (count,) = sizes
        terms, scale, meaning = [f"m{place}" for place, _ in places], count, _meaning(when, count)
    else:
        # Hosts of different size are compared in percent of one device.
        terms, scale, meaning = [f"m{place}/{counts[node]}" for place, node in places], 1, ""
    on = when.scope if len(nodes) == total else f"{when.scope}-{nodes[0]}-to-{nodes[-1]}"
    series = tuple(_series(form, node) for node in nodes)
    return form.alarm(on, nodes, series, when.value * scale, meaning, f"{function}([{', '.join(terms)}])")


def _meaning(when: Threshold, count: int) -> str:
    word = devices_word(when.metric)
    return f"{number(when.value)} % x {count} {word if count > 1 else word[:-1]}" if word else ""


def _notes(when: Threshold, nodes: int) -> list[str]:
    notes = []
    if when.scope in {"all", "mean"} and nodes > MOST_METRICS:
        what = "the mean of each part" if when.scope == "mean" else "each part separately"
        notes.append(
            f"an expression can have at most {MOST_METRICS} metrics, so the {nodes} nodes are split, and an alarm "
            f"judges {what}: it can fire where the rule would not."
        )
    if when.metric in _OF_WORK and when.op.startswith("<"):
        words = MEASURES[when.metric].words
        notes.append(
            f"CloudWatch does not know when the first step was, so low {words} while the job initializes also counts."
        )
    return notes
