"""Which nodes do the same part of the model? Only such nodes can be compared: stages of a pipeline differ for good
reason."""

from __future__ import annotations

from monitor.model import Job

_DEGREES = ("pipeline_parallel_degree", "partitions")


def peer_groups(job: Job) -> dict[str, str] | None:
    """node -> the name of its group: equal instance type, equal stages of the pipeline. None where the pipeline goes over
    nodes in a way that is not known.

    The order of ranks: the SageMaker library's default placement ("cluster": data, pipeline, tensor, the last one varying
    fastest) and "spread" (tensor, pipeline, data); everywhere else (Megatron, DeepSpeed, torchtitan) the pipeline is the
    outermost dimension.
    """
    types = {node.name: node.instance_type or "" for node in job.nodes}
    p = max(_number(job, name) or 1 for name in _DEGREES)
    if p == 1:
        return types
    t = _number(job, "tensor_parallel_degree") or 1
    counts = {node.gpus for node in job.nodes}
    gpus = counts.pop() if len(counts) == 1 else None
    names = sorted(types, key=_place)
    if not gpus or not names or (gpus * len(names)) % (p * t):
        return None
    copies = gpus * len(names) // (p * t)
    if job.smp_version == 1:
        placement = str(_value(job, "placement_strategy") or "cluster").upper()
        if placement not in {"CLUSTER", "SPREAD", "DPT", "TPD"}:
            return None
        inner = t if placement in {"CLUSTER", "DPT"} else copies
    else:
        inner = t * copies
    out = {}
    for place, name in enumerate(names):
        stages = {(rank // inner) % p for rank in range(place * gpus, (place + 1) * gpus)}
        out[name] = f"{types[name]} {','.join(map(str, sorted(stages)))}"
    return out


def _place(name: str) -> tuple[int, str]:
    """algo-10 comes after algo-9."""
    number = name.rpartition("-")[2]
    return (int(number) if number.isdecimal() else 0, name)


def _value(job: Job, name: str) -> object:
    found = job.configuration.get(name)
    return None if found is None else found.value


def _number(job: Job, name: str) -> int | None:
    found = job.configuration.get(name)
    return None if found is None else found.whole
