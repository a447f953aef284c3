"""How was a training job set up? One value a parameter, out of what was given, what was printed and what is taken by default.

Of several places the one that binds counts: the library's parameters, then what a library printed of its configuration, then
the script's hyperparameters, then the library's defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from monitor.model import Job, Parameter
from monitor.predict import setup_names
from monitor.predict.setup_defaults import with_defaults
from monitor.predict.setup_types import FRAMEWORK_NAMES, Framework, Known, Setup, yes_or_no
from monitor.predict.smp_schema import ALIASES_V1, V1, V2, active_microbatches_by_default

__all__ = ["FRAMEWORK_NAMES", "Framework", "Known", "Setup", "changed", "resolved", "setup_from", "setup_of"]

MP_PARAMETERS = "mp_parameters"
_NOTHING = frozenset({"", "{}", "null", "none", "[]"})
# Names that only one framework has.
_MEGATRON = frozenset({"tensor_model_parallel_size", "pipeline_model_parallel_size"})
_DEEPSPEED = frozenset(
    {"deepspeed", "deepspeed_config", "zero_stage", "zero_optimization_stage", "train_micro_batch_size_per_gpu"}
)
_FSDP = frozenset({"fsdp", "fsdp_config", "sharding_strategy", "fsdp_sharding_strategy", "enable_fsdp", "use_fsdp"})
_DDP = frozenset({"ddp", "use_ddp"})
# Of these no script of SMP v2 has one of its own.
_OF_V1_ALONE = frozenset(
    {
        "pipeline_parallel_degree",
        "microbatches",
        "active_microbatches",
        "prescaled_batch",
        "shard_optimizer_state",
        "sharded_data_parallel_degree",
    }
)
# What a change of one parameter makes unknown of others that were only observed.
_FOLLOWS: Mapping[str, tuple[str, ...]] = {
    "instance_count": ("world_size", "data_parallel_size"),
    "instance_type": (
        "gpus_per_node",
        "gpu_memory_gib",
        "interconnect",
        "network_gbps",
        "processes_per_host",
        "world_size",
        "data_parallel_size",
    ),
    # A count that was given is that of the old shape.
    "layers": ("parameters_billion",),
    "hidden_size": ("parameters_billion",),
    "processes_per_host": ("world_size", "data_parallel_size"),
    "tensor_parallel_degree": ("data_parallel_size",),
    "pipeline_parallel_degree": ("data_parallel_size",),
    "fp16": ("precision",),
    "fp16_params": ("precision",),
    "bf16": ("precision",),
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
    schema = _schema(setup.framework)
    defaults = {
        name: Parameter(known.value, known.read_from)
        for name, known in setup.values.items()
        if known.is_default and name in schema
    }
    return {**job.configuration, **{name: known for name, known in defaults.items() if name not in job.configuration}}


def setup_from(
    values: Mapping[str, Any], framework: Framework | None = None, read_from: str = "given", library: bool = True
) -> Setup:
    """A setup out of values alone, without a job, under any of the names that scripts use.

    Where no ``framework`` is named, it is taken from names that only one has: the parameters of SMP v1's pipeline, SMP
    v2's sharding, Megatron-LM's, DeepSpeed's or FSDP's own. With ``library`` the values of SMP's parameters count as
    given to the library, so that their types are checked.
    """
    configuration = {name: Parameter(value, read_from) for name, value in values.items()}
    names = {setup_names.plain_name(name) for name in values}
    named = _by_names(configuration)
    # Of values alone "ddp" is SMP's own.
    chosen = framework or (named if named not in {None, "ddp"} else _by_parameters(names) or named)
    schema = _schema(chosen)
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
    framework = setup.framework or _by_parameters({setup_names.plain_name(name) for name in values})
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
    schema = _schema(framework)
    for name, value in wanted.items():
        for follower in (name, *_FOLLOWS.get(name, ())):
            if follower not in wanted:
                kept.pop(follower, None)
        for other in [other for other in library if ALIASES_V1.get(other, other) == name]:
            del library[other]
        if value is None:
            kept.pop(name, None)
            continue
        kept[name] = Known(value, read_from)
        if name in schema:
            library[name] = value
    for other, name in ALIASES_V1.items():
        # Two names of one parameter: where they differ the library sees both.
        if other in values and name in values and values[other] != values[name]:
            library[other] = values[other]
    return Setup(framework, with_defaults(framework, kept), library, setup.unread, is_job=setup.is_job)


def _wanted(written: str, value: Any, framework: Framework | None) -> list[tuple[str, Any]]:
    name = setup_names.plain_name(written)
    canonical = ALIASES_V1.get(name, setup_names.OTHER_NAMES.get(name, name))
    place = MP_PARAMETERS if canonical in _schema(framework) else ""
    read = [] if value is None else list(_meaning(written, Parameter(value, place), framework))
    return read or [(canonical, value)]


def _is_default_in_print(setup: Setup) -> bool:
    """Whether active_microbatches is only known as printed, and is what the library takes by default."""
    known = setup.known("active_microbatches")
    stages, microbatches = setup.pipeline_degree, setup.number("microbatches")
    if known is None or not known.read_from.startswith("log") or stages is None or microbatches is None:
        return False
    return setup.number("active_microbatches") == active_microbatches_by_default(stages, microbatches)


def _schema(framework: Framework | None) -> Mapping[str, Any]:
    return {"smp1": V1, "smp2": V2}.get(framework or "", {})


def framework_of(job: Job) -> Framework | None:
    """Which library splits the work; None where nothing tells, or two libraries are named."""
    if job.smp_version is not None:
        return "smp1" if job.smp_version == 1 else "smp2"
    library = {name for name, known in job.configuration.items() if _is_library(known)}
    return _by_parameters(library) or _by_names(job.configuration)


def _by_names(configuration: Mapping[str, Parameter]) -> Framework | None:
    on = {setup_names.plain_name(name) for name, known in configuration.items() if _is_on(known.value)}
    words = {
        str(known.value).lower() for name, known in configuration.items() if setup_names.plain_name(name) == "strategy"
    }
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


def _of_machine(job: Job) -> dict[str, Known]:
    """Instances and their GPUs, as far as all are alike."""
    told = "the log" if job.source == "logs" else "the job"
    found: dict[str, Known] = {}
    if job.instance_type:
        found["instance_type"] = Known(job.instance_type, told)
    if job.instance_count:
        found["instance_count"] = Known(job.instance_count, told)
    gpus = {node.gpus for node in job.nodes}
    memory = {node.gpu_memory_gib for node in job.nodes}
    sources = {node.counts_from for node in job.nodes} or {""}
    place = {"table": "the table of instance types", "log": "the log", "ec2": "EC2"}.get(min(sources), told)
    joined = {node.interconnect for node in job.nodes}
    network = {node.network_gbps for node in job.nodes}
    for name, values in (
        ("gpus_per_node", gpus),
        ("gpu_memory_gib", memory),
        ("interconnect", joined),
        ("network_gbps", network),
    ):
        if len(values) == 1 and (each := values.pop()) is not None:
            found[name] = Known(each, place)
    return found


def _of_configuration(configuration: Mapping[str, Parameter], framework: Framework | None) -> dict[str, Known]:
    """The values that bind, by canonical name."""
    found: dict[str, tuple[tuple[int, int], Known]] = {}
    for written, known in configuration.items():
        trust = 0 if _is_library(known) else 1 if _is_printed(known) else 2
        for name, value in _meaning(written, known, framework):
            place = known.read_from if name == written else f"{known.read_from}: {written}"
            place = known.read_from if _is_printed(known) else place
            order = (trust, setup_names.rank(written))
            if name not in found or order < found[name][0]:
                found[name] = (order, Known(value, place))
    values = {name: known for name, (_, known) in found.items()}
    if framework == "smp1" and "batch_size" not in values and "micro_batch_size" in values:
        # What one process takes from its data loader, smp.step divides into microbatches.
        values["batch_size"] = values.pop("micro_batch_size")
    if framework == "smp1":
        for flag in ("fp16", "fp16_params", "bf16"):
            if flag in values and yes_or_no(values[flag].value):
                values["precision"] = Known(flag.removesuffix("_params"), values[flag].read_from)
    return values


def _meaning(written: str, known: Parameter, framework: Framework | None) -> Iterator[tuple[str, Any]]:
    """(canonical name, value) of one parameter of the configuration."""
    schema = _schema(framework)
    name = ALIASES_V1.get(written, written) if framework == "smp1" else written
    if name in schema and (_is_library(known) or _is_printed(known) or name not in setup_names.SWITCHES):
        if known.value is not None:
            yield name, known.value
    elif not _is_library(known) or framework is None:
        yield from setup_names.read(written, known.value)
