"""The metrics of a job's hosts: what they are called here and in CloudWatch, and how often it sums over their devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from monitor.model.job import Node
from monitor.model.report import MetricName

HOST_NAMESPACE = "/aws/sagemaker/TrainingJobs"


@dataclass(frozen=True, slots=True)
class HostMetric:
    """One metric; its values are percent of one device."""

    name: MetricName
    device: str
    """What is used: ``GPU memory``. Before a figure this is enough."""
    label: str
    """What a chart of it is of: ``GPU memory``, ``GPU utilization``."""
    percent_of: str
    """``% of one GPU``."""
    cloudwatch: str
    """CloudWatch's name for it."""

    @property
    def utilization(self) -> str:
        """In full, as in a list of facts: ``GPU memory utilization``."""
        return f"{self.device} utilization"

    @property
    def by_node(self) -> str:
        """The title of a chart of all nodes: ``GPU utilization by node, % of one GPU``."""
        return f"{self.label} by node, {self.percent_of}"


#: All of them by name, in the order of reading.
HOST_METRICS: Mapping[MetricName, HostMetric] = {
    each.name: each
    for each in (
        HostMetric("gpu_utilization", "GPU", "GPU utilization", "% of one GPU", "GPUUtilization"),
        HostMetric(
            "gpu_memory_utilization", "GPU memory", "GPU memory", "% of one GPU's memory", "GPUMemoryUtilization"
        ),
        HostMetric("cpu_utilization", "CPU", "CPU utilization", "% of all vCPUs", "CPUUtilization"),
        HostMetric("memory_utilization", "Memory", "Memory", "% of the host's memory", "MemoryUtilization"),
        HostMetric("disk_utilization", "Disk", "Disk", "%", "DiskUtilization"),
    )
}
#: Of our metrics, the name that CloudWatch has for each.
HOST_METRIC_NAMES: Mapping[str, str] = {name: each.cloudwatch for name, each in HOST_METRICS.items()}
OF_GPUS: tuple[MetricName, ...] = ("gpu_utilization", "gpu_memory_utilization")
#: CloudWatch has sums over a host's devices of these; of the others 0 to 100.
OF_WORK: tuple[MetricName, ...] = (*OF_GPUS, "cpu_utilization")


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
