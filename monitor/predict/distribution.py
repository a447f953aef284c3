"""What does one hand to the SageMaker SDK for a setup, and what has to be set in the training script besides?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monitor.predict.setup_types import Setup
from monitor.predict.smp_schema import ALIASES_V1, V1, V2, Entry, active_microbatches_by_default

# The library asks for it even where it is its default.
_ALWAYS = "pipeline_parallel_degree"
#: Of a setup and not of the script: machines, and what was measured or follows.
_NOT_OF_A_SCRIPT = frozenset(
    {
        "instance_type",
        "instance_count",
        "processes_per_host",
        "world_size",
        "data_parallel_size",
        "gpus_per_node",
        "gpu_memory_gib",
        "interconnect",
        "network_gbps",
        "gpu_memory_utilization",
        "step_time_s",
        "parameters_billion",
        "precision",
    }
)


def distribution(setup: Setup) -> dict[str, Any]:
    """The estimator's ``distribution`` argument; of the library's parameters those that were given or are no defaults."""
    if setup.framework == "smp1":
        return {
            "smdistributed": {"modelparallel": {"enabled": True, "parameters": _parameters(setup, V1)}},
            "mpi": {"enabled": True, **_processes(setup)},
        }
    if setup.framework == "smp2":
        parallel = {"modelparallel": {"enabled": True, "parameters": _parameters(setup, V2)}}
        return {"torch_distributed": {"enabled": True}, "smdistributed": parallel}
    return {"torch_distributed": {"enabled": True}} if setup.framework else {}


def of_the_script(setup: Setup) -> dict[str, Any]:
    """What was given and is not in ``distribution``: hyperparameters, or lines of the script."""
    schema = _schema(setup)
    return {
        name: known.value
        for name, known in sorted(setup.values.items())
        if not known.is_default and known.value is not None and name not in schema and name not in _NOT_OF_A_SCRIPT
    }


def _schema(setup: Setup) -> Mapping[str, Entry]:
    return {"smp1": V1, "smp2": V2}.get(setup.framework or "", {})


def _parameters(setup: Setup, schema: Mapping[str, Entry]) -> dict[str, Any]:
    given = {ALIASES_V1.get(name, name) for name in setup.library}
    found = {}
    for name in schema:
        known = setup.known(name)
        if known is None:
            continue
        if name == _ALWAYS or name in given or known.value != _default(setup, name, schema[name]):
            found[name] = known.value
    if schema is V1 and (setup.tensor_degree or 1) > 1 and not setup.is_job and not setup.is_given("ddp"):
        # Tensor parallelism needs it, and the plan said nothing against it.
        found["ddp"] = True
    # What the schema lacks stays: problems say so.
    unknown = {name: value for name, value in setup.library.items() if ALIASES_V1.get(name, name) not in schema}
    return {**found, **unknown}


def _default(setup: Setup, name: str, entry: Entry) -> Any:
    if name != "active_microbatches":
        return entry.default
    return active_microbatches_by_default(setup.pipeline_degree or 1, setup.number("microbatches") or 1)


def _processes(setup: Setup) -> dict[str, int]:
    each = setup.number("processes_per_host") or setup.gpus_per_node
    return {"processes_per_host": each} if each else {}
