"""What does CloudWatch call the metrics of a job's hosts, and how often does it sum over their devices?"""

from __future__ import annotations

from monitor.model.job import Node

HOST_NAMESPACE = "/aws/sagemaker/TrainingJobs"
#: Of our metrics, the name that CloudWatch has for each.
HOST_METRIC_NAMES = {
    "gpu_utilization": "GPUUtilization",
    "gpu_memory_utilization": "GPUMemoryUtilization",
    "cpu_utilization": "CPUUtilization",
    "memory_utilization": "MemoryUtilization",
    "disk_utilization": "DiskUtilization",
}
OF_GPUS = frozenset({"gpu_utilization", "gpu_memory_utilization"})


def host_name(job: str, node: str) -> str:
    """The value of the dimension Host."""
    return f"{job}/{node}"


def devices(node: Node, metric: str) -> int | None:
    """Over how many devices the host's figure is a sum: 100 % is 100 times this. None where nobody knows."""
    if metric in OF_GPUS:
        return node.gpus
    return node.vcpus if metric == "cpu_utilization" else 1


def devices_word(metric: str) -> str:
    """GPUs, vCPUs; empty where nothing is summed."""
    return "GPUs" if metric in OF_GPUS else "vCPUs" if metric == "cpu_utilization" else ""
