"""Which accelerators of a job are not in its metrics? CloudWatch has none of Trainium, and none of a type it does not know."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from monitor.model import Node
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
