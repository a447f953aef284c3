"""How much faster is a training step on another instance type? Published ratios of throughput on as many GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Range = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Machine:
    """An instance type whose GPUs' pace is known beside others'; memory of one GPU in GiB."""

    gpu: str
    gpu_memory_gib: float


#: All have eight GPUs with NVLink, and EFA.
MACHINES: Mapping[str, Machine] = {
    "ml.p4d.24xlarge": Machine("A100 40 GB", 40.0),
    "ml.p4de.24xlarge": Machine("A100 80 GB", 80.0),
    "ml.p5.48xlarge": Machine("H100 80 GB", 80.0),
}
#: Throughput of the second over the first in bf16: 5, 50 and 95 % of pairs of one model and length of sequences in MosaicML's
#: tables of llm-foundry (FSDP, 0.1 to 70 billion parameters, each at its best microbatch). 46 pairs of A100 80 GB, and 9 and 13.
RATIOS: Mapping[tuple[str, str], Range] = {
    ("ml.p4de.24xlarge", "ml.p5.48xlarge"): (1.93, 2.19, 2.59),
    ("ml.p4d.24xlarge", "ml.p5.48xlarge"): (2.29, 2.43, 2.75),
    ("ml.p4d.24xlarge", "ml.p4de.24xlarge"): (1.03, 1.08, 1.14),
}


def others(instance_type: str) -> tuple[str, ...]:
    """The types whose pace beside this one was published."""
    return tuple(name for name in MACHINES if name != instance_type and speed(instance_type, name) is not None)


def speed(before: str, after: str) -> Range | None:
    """(low, middle, high) of how many times as many samples ``after`` does in the same time; None where nobody published it."""
    found = RATIOS.get((before, after))
    if found is not None:
        return found
    back = RATIOS.get((after, before))
    return None if back is None else (1 / back[2], 1 / back[1], 1 / back[0])


def cost_a_sample(before: str, after: str, usd_before: float, usd_after: float) -> Range | None:
    """(low, middle, high) of what a sample costs on ``after``, as a share of what it costs on ``before``."""
    found = speed(before, after)
    if found is None or usd_before <= 0:
        return None
    low, middle, high = (usd_after / usd_before / each for each in reversed(found))
    return low, middle, high
