"""Where a profiler tells, a job that ran out of GPU memory says how full its fullest GPU was, and which."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import START
from tests.diagnose.cases import fires
from tests.diagnose.said import said
from tests.diagnose.single_gpu_cases import sampled


def test_the_fullest_gpu_of_the_node_that_failed() -> None:
    run = fires("cuda-out-of-memory")[0]
    before = next(found for found in said(run) if found.id == "cuda-out-of-memory")
    evidence = next(item for item in before.evidence if item.node and item.start)
    assert evidence.start is not None
    minute = int((evidence.start - START).total_seconds() // 60) - 1
    node = str(evidence.node)
    gpus = sampled(held=70.0, odd={(node, 3): (92.0, 99.0)}, minutes=(minute,), even=False)
    (found,) = (found for found in said(replace(run, gpus=gpus)) if found.id == "cuda-out-of-memory")
    assert f"GPU 3 of {node} at 99 %" in found.summary
    assert "74 %" in found.summary
    assert any(item.label == "GPU memory of GPU 3, the fullest" and item.value == 99.0 for item in found.evidence)
    assert "the profiler" not in before.summary
