"""Jobs of all seven kinds, set up and busy at random: no advice breaks a rule of the library, and no two contradict.

The suite asks a few of 5,000, others each day; ``ADVICE_JOBS=5000`` asks so many of them.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from benchmarks.remedies import KINDS, faults_of, random_setup, setups
from monitor.diagnose.rulebook import Case, findings
from monitor.model import Finding, Parameter, Run, steps_frame
from monitor.predict.parameters import CANONICAL, OTHER_NAMES, plain_name
from monitor.predict.problems.rules import refused
from monitor.predict.setup import Setup, changed
from tests.builders import metrics, nodes_of, steps
from tests.diagnose.runs import END, run
from tests.drawn import drawn

JOBS = drawn(range(5000), int(os.environ.get("ADVICE_JOBS", "24")))
_MACHINE = ("instance_type", "gpus_per_node", "gpu_memory_gib", "interconnect", "network_gbps")
#: Advice that fills GPU memory, and advice that frees it.
_FILLS = {"small-batch", "raise-active-microbatches", "raise-microbatches", "small-microbatch", "needless-sharding",
          "fewer-features"}  # fmt: skip
_FREES = {"activation-checkpointing", "offload-activations", "lower-active-microbatches"}


def _job(number: int) -> Run:
    rng = random.Random(number)
    kind = KINDS[number % len(KINDS)]
    setup = random_setup(rng, kind)
    machine: dict[str, Any] = {name: setup.values[name].value for name in _MACHINE}
    hosts = tuple(
        replace(node, instance_type=machine["instance_type"], gpus=machine["gpus_per_node"], gpu_model="NVIDIA A100",
                gpu_memory_gib=machine["gpu_memory_gib"], interconnect=machine["interconnect"],
                network_gbps=machine["network_gbps"])
        for node in nodes_of(min(4, setup.nodes or 1))
    )  # fmt: skip
    given = {
        name: known.value
        for name, known in setup.values.items()
        if not known.is_default and name not in {*_MACHINE, "instance_count"}
    }
    if kind == "fsdp":
        given["fsdp"] = given.pop("sharding_strategy", "full_shard")
    elif kind == "megatron":
        given["tensor_model_parallel_size"] = given.pop("tensor_parallel_degree", 1)
    elif kind == "deepspeed":
        given.setdefault("zero_stage", 1)
    elif kind == "ddp":
        given["ddp"] = True
    if rng.random() < 0.5:
        given["parameters_billion"] = rng.choice((0.3, 1.3, 7, 30))
    place = "mp_parameters" if kind in {"smp1", "smp2"} else "hyperparameters"
    level = {
        "gpu_utilization": rng.choice((40.0, 60.0, 75.0, 97.0)),
        "gpu_memory_utilization": rng.choice((20.0, 40.0, 60.0, 80.0, 90.0, 96.0)),
        "cpu_utilization": 15.0,
    }
    names = [node.name for node in hosts]
    base = run(metrics(names, 20, level), steps_frame(steps(names[:1], 300, 3.0)), nodes=hosts)
    version = {"smp1": 1, "smp2": 2}.get(kind or "")
    configuration = {name: Parameter(value, place) for name, value in given.items()}
    return replace(base, job=replace(base.job, smp_version=version, configuration=configuration))  # type: ignore[arg-type]


def _wrong(setup: Setup, found: tuple[Finding, ...]) -> Iterator[str]:
    known = {(each.id, each.parameter) for each in refused(setup)}
    wanted: dict[str, set[str]] = {}
    for finding in found:
        advice = finding.recommendation
        if advice is None or advice.parameter is None or advice.to_value is None:
            continue
        plain = plain_name(advice.parameter)
        name = OTHER_NAMES.get(plain, plain)
        wanted.setdefault(name, set()).add(repr(advice.to_value))
        if name not in CANONICAL and name != "fsdp":
            continue
        for each in refused(changed(setup, {advice.parameter: advice.to_value})):
            if (each.id, each.parameter) not in known:
                yield f"{finding.id} breaks {each.id} of {each.parameter}"
    yield from (f"{name} is to be {' and '.join(values)}" for name, values in wanted.items() if len(values) > 1)
    said = {finding.id for finding in found}
    if said & _FILLS and said & _FREES:
        yield f"{said & _FILLS} fill the memory that {said & _FREES} free"


def test_advice_breaks_no_rule_and_contradicts_no_other() -> None:
    wrong: list[str] = []
    for number in JOBS:
        case = Case(_job(number), END)
        wrong += [f"job {number}: {each}" for each in _wrong(case.setup, findings(case))]
    assert wrong == []


def test_every_remedy_of_a_setup_cures_and_breaks_nothing() -> None:
    wrong = [fault for setup in setups(300) for fault in faults_of(setup)]
    assert wrong == []
