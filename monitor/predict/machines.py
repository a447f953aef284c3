"""Published ratios of the throughput of instance types, on as many GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from monitor.predict.spread import Coverage, Range


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
#: Throughput of the second over the first in bf16, of one model and length of sequences in MosaicML's tables of llm-foundry
#: (FSDP, 0.1 to 70 billion parameters, each at its best microbatch). The middle is the median, and the range is as wide as it
#: takes to hold 9 of 10 pairs of models that it was not made of (``benchmarks/published/paces.py``).
RATIOS: Mapping[tuple[str, str], Range] = {
    ("ml.p4de.24xlarge", "ml.p5.48xlarge"): (1.79, 2.16, 2.60),
    ("ml.p4d.24xlarge", "ml.p5.48xlarge"): (2.16, 2.47, 2.92),
    ("ml.p4d.24xlarge", "ml.p4de.24xlarge"): (1.02, 1.06, 1.15),
}
#: Of ranges that were made of the other models.
COVERAGE: Mapping[tuple[str, str], Coverage] = {
    ("ml.p4de.24xlarge", "ml.p5.48xlarge"): Coverage(9, 10, 1),
    ("ml.p4d.24xlarge", "ml.p5.48xlarge"): Coverage(9, 9, 1),
    ("ml.p4d.24xlarge", "ml.p4de.24xlarge"): Coverage(12, 13, 1),
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


def pace_words(before: str, after: str) -> str:
    """What the range of a pace promises."""
    return (COVERAGE.get((before, after)) or COVERAGE[after, before]).words()


def cost_a_sample(before: str, after: str, usd_before: float, usd_after: float) -> Range | None:
    """(low, middle, high) of what a sample costs on ``after``, as a share of what it costs on ``before``."""
    found = speed(before, after)
    if found is None or usd_before <= 0:
        return None
    low, middle, high = (usd_after / usd_before / each for each in reversed(found))
    return low, middle, high
