"""The setup of a training job: one value a parameter, with the place it was read from, and the sizes of groups that follow.

Of several places the one that binds counts: the library's parameters, then what a library printed of its configuration, then
the script's hyperparameters, then the library's defaults. The identities of groups are those of the SMP guide: world = pp x tp
x rdp, dp = rdp x tp.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from monitor.choices import FRAMEWORK_NAMES, Framework
from monitor.model import Job, Parameter
from monitor.predict.parameters import (
    ALIASES_V1,
    OTHER_NAMES,
    SWITCHES,
    V1,
    V2,
    ParameterSpec,
    active_microbatches_by_default,
    amount,
    names,
    plain_name,
    rank,
    read,
    whole_number,
    yes_or_no,
)


@dataclass(frozen=True, slots=True)
class SourcedValue:
    """A value and the place it was read from, such as "mp_parameters: partitions" or "default of SMP v1"."""

    value: Any
    read_from: str
    is_default: bool = False
    """Nobody gave or printed it: the library takes it where nothing is said."""
    came_by: str = ""
    """How it was measured, where that is worth a word; of a measured value."""


@dataclass(frozen=True, slots=True)
class Setup:
    """A job's configuration under the names of ``monitor plan``; what is unknown is absent."""

    framework: Framework | None = None
    values: Mapping[str, SourcedValue] = field(default_factory=dict)
    library: Mapping[str, Any] = field(default_factory=dict)
    """What was given to the model-parallel library, by the names and with the types that were written."""
    unread: tuple[str, ...] = ()
    """Names of what was given and could not be read, such as "mp_parameters"."""
    is_printed: bool = False
    """The library printed its effective configuration, so it took what it was given."""
    is_job: bool = False
    """It is that of a job, whose defaults are what it runs with; else that of a plan, whose defaults are only likely."""

    def known(self, name: str) -> SourcedValue | None:
        """The value with its place; None where it is unknown, or is known to be none."""
        found = self.values.get(name)
        return None if found is None or found.value is None else found

    def is_given(self, name: str) -> bool:
        """Whether somebody gave or printed it, so that it is no default."""
        found = self.known(name)
        return found is not None and not found.is_default

    def value(self, name: str) -> Any:
        """The value as it was written; None where it is unknown."""
        found = self.values.get(name)
        return None if found is None else found.value

    def number(self, name: str) -> int | None:
        """A whole number; None where it is unknown or is none."""
        return whole_number(self.value(name))

    def count(self, name: str) -> int | None:
        """A whole number above 0; None where it is unknown or is none."""
        number = self.number(name)
        return number if number is not None and number > 0 else None

    def real(self, name: str) -> float | None:
        """An amount, from 0; None where it is unknown or is none."""
        return amount(self.value(name))

    def flag(self, name: str) -> bool | None:
        """Yes or no, also where it is written as 1 or "true"; None where it is unknown or neither."""
        return yes_or_no(self.value(name))

    def text(self, name: str) -> str | None:
        """A word; None where it is unknown or is none."""
        value = self.value(name)
        return value if isinstance(value, str) and value else None

    def read_from(self, name: str) -> str:
        """Where a value was read; "" where it is unknown."""
        found = self.values.get(name)
        return found.read_from if found is not None else ""

    def missing(self, *names: str) -> tuple[str, ...]:
        """Those of ``names`` that are unknown, in their order."""
        return tuple(name for name in names if self.known(name) is None)

    @property
    def pipeline_degree(self) -> int | None:
        return self.count("pipeline_parallel_degree")

    @property
    def tensor_degree(self) -> int | None:
        return self.count("tensor_parallel_degree")

    @property
    def nodes(self) -> int | None:
        """Instances of the job."""
        return self.count("instance_count")

    @property
    def gpus_per_node(self) -> int | None:
        """GPUs of one instance; None where the instances differ or their type is unknown."""
        return self.count("gpus_per_node")

    @property
    def gpus(self) -> int | None:
        """GPUs of all instances."""
        return _product(self.nodes, self.gpus_per_node)

    @property
    def world(self) -> int | None:
        """Processes of the job: as printed, else those of a host times hosts, one a GPU unless said otherwise."""
        each = self.count("processes_per_host") or self.gpus_per_node
        return self.count("world_size") or _product(self.nodes, each)

    @property
    def world_is_assumed(self) -> bool:
        """Whether one process a GPU is all that stands behind the number of processes."""
        return self.number("world_size") is None and self.number("processes_per_host") is None

    @property
    def data_parallel(self) -> int | None:
        """Ranks that see different samples: for SMP v1 those of one pipeline stage, as the library counts them; else those
        with the same part of the model. None where it is unknown or no whole number."""
        return _quotient(self.world, self.pipeline_degree) if self.framework == "smp1" else self.reduced_data_parallel

    @property
    def reduced_data_parallel(self) -> int | None:
        """Ranks with the same part of the model: world over pipeline, tensor and context degrees,
        but for DeepSpeed, which prints it."""
        if self.framework == "deepspeed" and (printed := self.count("data_parallel_size")) is not None:
            return printed
        context = self.count("context_parallel_degree") or 1
        return _quotient(_quotient(self.world, self.pipeline_degree), _product(self.tensor_degree, context))

    @property
    def microbatches(self) -> int | None:
        """Microbatches of one optimizer step on one data-parallel rank; accumulation steps where there is no pipeline."""
        if (given := self.count("microbatches") or self.count("gradient_accumulation_steps")) is not None:
            return given
        whole, size = self.number("global_batch_size"), self.number("micro_batch_size")
        return _quotient(_quotient(whole, size), self.data_parallel)

    @property
    def microbatch_size(self) -> int | None:
        """Samples of one microbatch; None where it is unknown, or the batch does not divide."""
        if (given := self.count("micro_batch_size")) is not None:
            return given
        batch = self.count("batch_size")
        return _quotient(batch, self.microbatches) if self.framework == "smp1" else batch

    @property
    def window(self) -> int | None:
        """Microbatches in flight at most, by SMP v1's active_microbatches; None for other frameworks."""
        active, given = self.count("active_microbatches"), self.microbatches
        return None if self.framework != "smp1" or active is None or given is None else min(active, given)


def _product(*numbers: int | None) -> int | None:
    known = [number for number in numbers if number is not None]
    return math.prod(known) if len(known) == len(numbers) else None


def _quotient(number: int | None, by: int | None) -> int | None:
    """Where it is a whole number."""
    if number is None or by is None or by <= 0 or number <= 0 or number % by:
        return None
    return number // by


MP_PARAMETERS = "mp_parameters"
_NOTHING = frozenset({"", "{}", "null", "none", "[]"})
# Names that only one framework has.
_MEGATRON = names("tensor_model_parallel_size pipeline_model_parallel_size")
_DEEPSPEED = names("deepspeed deepspeed_config zero_stage zero_optimization_stage train_micro_batch_size_per_gpu")
_FSDP = names("fsdp fsdp_config sharding_strategy fsdp_sharding_strategy enable_fsdp use_fsdp")
_DDP = names("ddp use_ddp")
# Of these no script of SMP v2 has one of its own.
_OF_V1_ALONE = names(
    "pipeline_parallel_degree microbatches active_microbatches prescaled_batch shard_optimizer_state "
    "sharded_data_parallel_degree"
)
# What a change of one parameter makes unknown of others that were only observed.
_FOLLOWS: Mapping[str, frozenset[str]] = {
    "instance_count": names("world_size data_parallel_size"),
    "instance_type": names(
        "gpus_per_node gpu_memory_gib interconnect network_gbps processes_per_host world_size data_parallel_size"
    ),
    # A count that was given is that of the old shape.
    "layers": names("parameters_billion"),
    "hidden_size": names("parameters_billion"),
    "processes_per_host": names("world_size data_parallel_size"),
    "tensor_parallel_degree": names("data_parallel_size"),
    "pipeline_parallel_degree": names("data_parallel_size"),
    **dict.fromkeys(("fp16", "fp16_params", "bf16"), names("precision")),
}


def setup_of(job: Job) -> Setup:
    """What is known of a job's setup. A job of which nothing is known has an empty one."""
    framework = framework_of(job)
    library = {name: known.value for name, known in job.configuration.items() if _is_library(known)}
    printed = any(_is_printed(known) for name, known in job.configuration.items() if name in V1)
    text = job.hyperparameters.get(MP_PARAMETERS, "")
    unread = () if library or text.strip(' "').lower() in _NOTHING else (MP_PARAMETERS,)
    given = {**_of_machine(job), **_of_configuration(job.configuration, framework)}
    return Setup(
        framework, with_defaults(framework, given), library, unread, printed and framework == "smp1", is_job=True
    )


def resolved(job: Job) -> dict[str, Parameter]:
    """The job's configuration as it is shown: what was given and printed and, for a job of SMP, its library's defaults for
    the rest, each with the place it is from. Where the library printed its configuration, the rest its release has not."""
    setup = setup_of(job)
    if setup.is_printed:
        return dict(job.configuration)
    schema = schema_of(setup.framework)
    defaults = {
        name: Parameter(known.value, known.read_from)
        for name, known in setup.values.items()
        if known.is_default and name in schema and name not in job.configuration
    }
    return {**job.configuration, **defaults}


def setup_from(
    values: Mapping[str, Any], framework: Framework | None = None, read_from: str = "given", library: bool = True
) -> Setup:
    """A setup out of values alone, without a job, under any of the names that scripts use.

    Where no ``framework`` is named, it is taken from names that only one has: the parameters of SMP v1's pipeline, SMP
    v2's sharding, Megatron-LM's, DeepSpeed's or FSDP's own. With ``library`` the values of SMP's parameters count as
    given to the library, so that their types are checked.
    """
    configuration = {name: Parameter(value, read_from) for name, value in values.items()}
    named = _by_names(configuration)
    # Of values alone "ddp" is SMP's own.
    if named in {None, "ddp"}:
        named = _by_parameters({plain_name(name) for name in values}) or named
    chosen = framework or named
    schema = schema_of(chosen)
    known = schema.keys() | (_OF_V1_ALONE if chosen == "smp2" else set())
    passed = {name: value for name, value in values.items() if ALIASES_V1.get(name, name) in known}
    for name, value in passed.items():
        configuration[name] = Parameter(value, MP_PARAMETERS if ALIASES_V1.get(name, name) in schema else read_from)
    given = {
        name: replace(known, read_from=read_from) for name, known in _of_configuration(configuration, chosen).items()
    }
    return Setup(chosen, with_defaults(chosen, given), passed if library else {})


def changed(setup: Setup, values: Mapping[str, Any], read_from: str = "change") -> Setup:
    """``setup`` with other ``values``; defaults that follow from them are worked out anew, and what was only observed of
    the old machines is dropped. A value of None makes a parameter unknown or, where it has a default, that."""
    framework = setup.framework or _by_parameters({plain_name(name) for name in values})
    kept = {name: known for name, known in setup.values.items() if not known.is_default}
    if _is_default_in_print(setup):
        del kept["active_microbatches"]
    library = dict(setup.library)
    wanted = {name: value for written, given in values.items() for name, value in _wanted(written, given, framework)}
    if framework == "smp1" and "micro_batch_size" in wanted and "micro_batch_size" not in kept:
        # As of a job: what one process takes from its data loader, smp.step divides into microbatches.
        size = wanted.pop("micro_batch_size")
        wanted.setdefault("batch_size", size)
    elif framework != "smp1" and "batch_size" in wanted and "micro_batch_size" in kept and "batch_size" not in kept:
        # What one process reads is a microbatch where no library divides it.
        wanted.setdefault("micro_batch_size", wanted["batch_size"])
    schema = schema_of(framework)
    for name, value in wanted.items():
        for follower in (name, *_FOLLOWS.get(name, ())):
            if follower not in wanted:
                kept.pop(follower, None)
        for other in [other for other in library if ALIASES_V1.get(other, other) == name]:
            del library[other]
        if value is None:
            kept.pop(name, None)
            continue
        kept[name] = SourcedValue(value, read_from)
        if name in schema:
            library[name] = value
    for other, name in ALIASES_V1.items():
        # Two names of one parameter: where they differ the library sees both.
        if other in values and name in values and values[other] != values[name]:
            library[other] = values[other]
    return Setup(framework, with_defaults(framework, kept), library, setup.unread, is_job=setup.is_job)


def _wanted(written: str, value: Any, framework: Framework | None) -> list[tuple[str, Any]]:
    name = plain_name(written)
    canonical = ALIASES_V1.get(name, OTHER_NAMES.get(name, name))
    place = MP_PARAMETERS if canonical in schema_of(framework) else ""
    meant = [] if value is None else list(_meaning(written, Parameter(value, place), framework))
    return meant or [(canonical, value)]


def _is_default_in_print(setup: Setup) -> bool:
    """Whether active_microbatches is only known as printed, and is what the library takes by default."""
    known = setup.known("active_microbatches")
    stages, microbatches = setup.pipeline_degree, setup.number("microbatches")
    if known is None or not known.read_from.startswith("log") or stages is None or microbatches is None:
        return False
    return setup.number("active_microbatches") == active_microbatches_by_default(stages, microbatches)


def schema_of(framework: Framework | None) -> Mapping[str, ParameterSpec]:
    """The parameters of SMP; none for another framework."""
    return {"smp1": V1, "smp2": V2}.get(framework or "", {})


def framework_of(job: Job) -> Framework | None:
    """Which library splits the work; None where nothing tells, or two libraries are named."""
    if job.smp_version is not None:
        return "smp1" if job.smp_version == 1 else "smp2"
    library = {name for name, known in job.configuration.items() if _is_library(known)}
    return _by_parameters(library) or _by_names(job.configuration)


def _by_names(configuration: Mapping[str, Parameter]) -> Framework | None:
    on = {plain_name(name) for name, known in configuration.items() if _is_on(known.value)}
    words = {str(known.value).lower() for name, known in configuration.items() if plain_name(name) == "strategy"}
    if on & _MEGATRON:
        return "megatron"
    found: set[Framework] = set()
    if on & _DEEPSPEED or any(word.startswith("deepspeed") for word in words):
        found.add("deepspeed")
    if on & _FSDP or "fsdp" in words:
        found.add("fsdp")
    if not found and (on & _DDP or any(word.startswith("ddp") for word in words)):
        found.add("ddp")
    return found.pop() if len(found) == 1 else None


def _by_parameters(names: set[str]) -> Framework | None:
    """By names that SMP alone has: v2's first, for the two versions share some."""
    if names & (V2.keys() - V1.keys()):
        return "smp2"
    only_v1 = (V1.keys() - V2.keys() | ALIASES_V1.keys()) - {"fp16", "bf16", "ddp", "horovod", "pipeline", "optimize"}
    return "smp1" if names & only_v1 else None


def _is_on(value: Any) -> bool:
    """Whether a parameter that is named says something: not "", none, 0, false or an empty list."""
    return bool(value) and yes_or_no(value) is not False


def _is_library(known: Parameter) -> bool:
    return known.read_from.startswith(MP_PARAMETERS)


def _is_printed(known: Parameter) -> bool:
    return known.read_from.startswith("log")


def _of_machine(job: Job) -> dict[str, SourcedValue]:
    """Instances and their GPUs, as far as all are alike."""
    told = "the log" if job.source == "logs" else "the job"
    sources = {node.counts_from for node in job.nodes} or {""}
    place = {"table": "the table of instance types", "log": "the log", "ec2": "EC2"}.get(min(sources), told)
    found = {
        "instance_type": SourcedValue(job.instance_type or None, told),
        "instance_count": SourcedValue(job.instance_count or None, told),
    }
    for name, of in (
        ("gpus_per_node", "gpus"),
        *((of, of) for of in ("gpu_memory_gib", "interconnect", "network_gbps")),
    ):
        values = {getattr(node, of) for node in job.nodes}
        found[name] = SourcedValue(values.pop() if len(values) == 1 else None, place)
    return {name: known for name, known in found.items() if known.value is not None}


def _of_configuration(configuration: Mapping[str, Parameter], framework: Framework | None) -> dict[str, SourcedValue]:
    """The values that bind, by canonical name."""
    found: dict[str, tuple[tuple[int, int], SourcedValue]] = {}
    for written, known in configuration.items():
        trust = 0 if _is_library(known) else 1 if _is_printed(known) else 2
        for name, value in _meaning(written, known, framework):
            place = known.read_from if name == written else f"{known.read_from}: {written}"
            place = known.read_from if _is_printed(known) else place
            order = (trust, rank(written))
            if name not in found or order < found[name][0]:
                found[name] = (order, SourcedValue(value, place))
    values = {name: known for name, (_, known) in found.items()}
    if framework == "smp1" and "batch_size" not in values and "micro_batch_size" in values:
        # What one process takes from its data loader, smp.step divides into microbatches.
        values["batch_size"] = values.pop("micro_batch_size")
    if framework == "smp1":
        for flag in ("fp16", "fp16_params", "bf16"):
            if flag in values and yes_or_no(values[flag].value):
                values["precision"] = SourcedValue(flag.removesuffix("_params"), values[flag].read_from)
    return values


def _meaning(written: str, known: Parameter, framework: Framework | None) -> Iterator[tuple[str, Any]]:
    """(canonical name, value) of one parameter of the configuration."""
    schema = schema_of(framework)
    name = ALIASES_V1.get(written, written) if framework == "smp1" else written
    if name in schema and (_is_library(known) or _is_printed(known) or name not in SWITCHES):
        if known.value is not None:
            yield name, known.value
    elif not _is_library(known) or framework is None:
        yield from read(written, known.value)


# Of what has no pipeline and, unless it is said, splits no layer.
_ONE_STAGE = {"pipeline_parallel_degree": 1, "tensor_parallel_degree": 1}
_DEFAULTS: Mapping[Framework, Mapping[str, Any]] = {
    "smp1": {name: entry.default for name, entry in V1.items()},
    "smp2": {**{name: entry.default for name, entry in V2.items()}, "pipeline_parallel_degree": 1},
    "fsdp": {**_ONE_STAGE, "sharding_strategy": "full_shard", "context_parallel_degree": 1},
    "ddp": {**_ONE_STAGE, "context_parallel_degree": 1},
    "megatron": {**_ONE_STAGE, "context_parallel_degree": 1, "expert_parallel_degree": 1},
    # ZeRO stages 2 and 3 do not go with its pipeline; of the lower ones nobody knows: see below.
    "deepspeed": {"zero_stage": 0, "tensor_parallel_degree": 1},
}


def with_defaults(framework: Framework | None, given: Mapping[str, SourcedValue]) -> dict[str, SourcedValue]:
    """``given`` and, behind it, what the framework takes for the rest; ``given`` alone where no framework is known."""
    if framework is None:
        return dict(given)
    setup, values = Setup(framework, given), dict(_DEFAULTS[framework])
    if framework == "smp1":
        stages, microbatches = setup.number("pipeline_parallel_degree"), setup.number("microbatches")
        values["active_microbatches"] = active_microbatches_by_default(
            1 if stages is None else stages, 1 if microbatches is None else microbatches
        )
        half = [name for name in ("fp16", "fp16_params", "bf16") if setup.flag(name)]
        values["precision"] = half[-1].removesuffix("_params") if half else "fp32"
    if framework == "deepspeed" and (setup.number("zero_stage") or 0) >= 2:
        values["pipeline_parallel_degree"] = 1
    source = f"default of {FRAMEWORK_NAMES[framework]}"
    defaults = {name: SourcedValue(value, source, True) for name, value in values.items() if value is not None}
    return {**defaults, **given}
