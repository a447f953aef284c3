"""Which instances do the simulated jobs run on? Facts of data sheets."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hardware:
    """One instance type; memory is of one GPU, the peak is dense half precision of one GPU."""

    name: str
    gpus: int
    vcpus: int
    gpu_gib: float
    peak_tflops: float
    gpu: str
    efa: bool
    network: bool = True
    """Whether jobs of several nodes are run on it."""


G4DN = Hardware("ml.g4dn.12xlarge", 4, 48, 16.0, 65.0, "Tesla T4", True)
G5_SMALL = Hardware("ml.g5.2xlarge", 1, 8, 22.35, 70.0, "NVIDIA A10G", False, network=False)
G5 = Hardware("ml.g5.12xlarge", 4, 48, 22.35, 70.0, "NVIDIA A10G", True)
G5_LARGE = Hardware("ml.g5.48xlarge", 8, 192, 22.35, 70.0, "NVIDIA A10G", True)
G6 = Hardware("ml.g6.12xlarge", 4, 48, 22.35, 121.0, "NVIDIA L4", True)
P3_SMALL = Hardware("ml.p3.8xlarge", 4, 32, 16.0, 125.0, "Tesla V100-SXM2-16GB", False)
P3 = Hardware("ml.p3.16xlarge", 8, 64, 16.0, 125.0, "Tesla V100-SXM2-16GB", False)
P3DN = Hardware("ml.p3dn.24xlarge", 8, 96, 32.0, 125.0, "Tesla V100-SXM2-32GB", True)
P4D = Hardware("ml.p4d.24xlarge", 8, 96, 40.0, 312.0, "NVIDIA A100-SXM4-40GB", True)
P5 = Hardware("ml.p5.48xlarge", 8, 192, 80.0, 989.0, "NVIDIA H100 80GB HBM3", True)

NO_GPU = Hardware("ml.m5.4xlarge", 0, 16, 0.0, 0.5, "", False, network=False)

SEVERAL_GPUS = (G4DN, G5, G5_LARGE, G6, P3_SMALL, P3, P3DN, P4D, P5)
CLUSTER = (P3DN, P4D, P4D, P4D, P5, P5, G5_LARGE, P3)
"""What jobs of more than four nodes are run on, the usual ones more often."""
WITH_EFA = (P3DN, P4D, P5)
