"""How findings about devices say where, since when, how much, and for how much money; and which accelerators CloudWatch has no
metrics of: Trainium, and those of a type that it does not know."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

import pandas as pd

from monitor.analyze.devices import Slow, without_efa
from monitor.analyze.single_gpus import in_use
from monitor.diagnose.rulebook import Case
from monitor.diagnose.words.report import saved_words
from monitor.model import Distribution, Evidence, Node, Saving
from monitor.model.host_metrics import HOST_METRICS, OF_WORK
from monitor.words import nodes, percent
from monitor.words import nodes as on_nodes

_NEURON = ("ml.trn", "ml.inf")

Accelerator = Literal["GPU", "NeuronCore"]


def accelerator_of(node: Node) -> Accelerator | None:
    """What a host works with; None where it is known to have nothing but CPUs. A host of an unknown type may have GPUs."""
    if (node.instance_type or "").startswith(_NEURON):
        return "NeuronCore"
    return None if node.gpus == 0 else "GPU"


def unseen(nodes: Collection[Node], seen: Collection[str]) -> str:
    """``GPU use``, ``GPU use on algo-3``: what nobody can see where only the nodes ``seen`` have figures of GPUs; else ""."""
    having = {node.name: kind for node in nodes if (kind := accelerator_of(node)) is not None}
    dark = [name for name in having if name not in seen]
    if not dark:
        return ""
    kinds = sorted({having[name] for name in dark})
    which = "" if len(dark) == len(nodes) else f" {on_nodes(dark, len(nodes))}"
    return f"{' and '.join(kinds)} use{which}"


# A percentile of fewer points says nothing: ten minutes, or three of the coarser means.
FEWEST_MINUTES = 10
FEWEST_COARSE = 3
#: What the figures of the devices are not of.
LEFT_OUT = "minutes of checkpoints, evaluations and restarts are left out"


def fewest_points(case: Case) -> int:
    """How many points of a node's metric are enough to judge by."""
    return FEWEST_MINUTES if (case.run.metrics_period_s or 60) <= 60 else FEWEST_COARSE


def enough(case: Case) -> bool:
    """Whether there are GPU figures of enough steady minutes."""
    points = case.steady.loc[case.steady["metric"] == "gpu_utilization", "timestamp"]
    return int(points.nunique()) >= fewest_points(case)


def span(case: Case) -> tuple[pd.Timestamp | None, pd.Timestamp | None]:
    """From and to of the window of work."""
    return (case.window.start, case.window.end) if case.window else (None, None)


def spread(found: Distribution) -> str:
    """``46 % (p5 41, p95 52)``."""
    return f"{percent(found.mean)} (p5 {found.p5:.0f}, p95 {found.p95:.0f})"


def everywhere(case: Case) -> str:
    """``on all 4 nodes``: the nodes whose GPUs were seen."""
    seen = sorted(set(case.metrics.loc[case.metrics["metric"] == "gpu_utilization", "node"]))
    return nodes(seen, len(case.run.job.nodes))


def left_out(case: Case) -> str:
    """``; minutes of checkpoints, evaluations and restarts are left out`` where any were; else empty."""
    return f"; {LEFT_OUT}" if len(case.minutes) < len(case.metrics) else ""


def distributions(case: Case) -> tuple[Evidence, ...]:
    """Mean, p5, p50 and p95 of GPU, GPU memory and CPU over all nodes, as far as they are known."""
    return tuple(
        Evidence(f"{HOST_METRICS[metric].utilization}, {which}", value, "%", None, *span(case), view=metric)
        for metric in OF_WORK
        if (found := case.pooled.get(metric)) is not None
        for which, value in (("mean", found.mean), ("p5", found.p5), ("p50", found.p50), ("p95", found.p95))
    )


def money_of(case: Case, savings: Iterable[Saving], what: str) -> str:
    """`` That is $35 an hour of idle GPUs.`` with a blank in front; empty where no price is known."""
    money = saved_words(case.bill, savings)
    return f" That is {money} {what}." if money else ""


def gpu_numbers(numbers: Sequence[int]) -> str:
    """``GPU 3``, ``GPUs 1 and 3``, ``GPUs 1 to 7``."""
    if len(numbers) == 1:
        return f"GPU {numbers[0]}"
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"GPUs {numbers[0]} to {numbers[-1]}"
    return f"GPUs {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def seen_in_use(case: Case, node: str) -> str:
    """`` The profiler shows it: GPU 0 is in use, GPUs 1 to 7 are empty.`` with a blank in front; empty without one."""
    used, empty = in_use(case.gpus).get(node, ((), ()))
    if not used or not empty:
        return ""
    are = ["is" if len(which) == 1 else "are" for which in (used, empty)]
    return (
        f" The profiler shows it on {node}: {gpu_numbers(used)} {are[0]} in use, {gpu_numbers(empty)} {are[1]} empty."
    )


def pipeline_degree(case: Case) -> int:
    """Stages of the pipeline, 1 where none is known of."""
    return case.setup.pipeline_degree or 1


def all_gpus(case: Case) -> int:
    """GPUs of the whole job, as far as they are known."""
    return sum(node.gpus or 0 for node in case.run.job.nodes)


def share_of(case: Case, idle_gpus: Iterable[float]) -> float | None:
    """What part of the job's GPUs that many are, 0 to 1."""
    whole = all_gpus(case)
    return min(1.0, sum(idle_gpus) / whole) if whole else None


def slow_on_efa(case: Case) -> tuple[Slow, ...]:
    """The nodes that do not use EFA, where all nodes with GPUs have the adapter and there are several."""
    hosts = [node for node in case.run.job.nodes if node.gpus]
    if len(hosts) < 2 or not all(node.efa for node in hosts):
        return ()
    return without_efa(case.run.events)
