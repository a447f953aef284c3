"""How is a training job set up, as far as it is known? Values under one name each, with the place each was read from.

``setup`` reads them of a job; here is what follows from them: sizes of groups, the shape of the model, its layout over the
GPUs and its pipeline. The identities of groups are those of the SMP guide: world = pp x tp x rdp, dp = rdp x tp.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from monitor.predict.change import PipelineSetting
from monitor.predict.setup_layout import layout_of, pipeline_of, shape_of
from monitor.predict.shapes import Layout, ModelShape

Framework = Literal["smp1", "smp2", "fsdp", "deepspeed", "megatron", "ddp"]

#: How the frameworks are called in sentences.
FRAMEWORK_NAMES: Mapping[str, str] = {
    "smp1": "SMP v1",
    "smp2": "SMP v2",
    "fsdp": "FSDP",
    "deepspeed": "DeepSpeed",
    "megatron": "Megatron-LM",
    "ddp": "DDP",
}
#: Nothing that is set up here comes in such amounts.
_NO_AMOUNT = 1e15


@dataclass(frozen=True, slots=True)
class Known:
    """A value and the place it was read from, such as "mp_parameters: partitions" or "default of SMP v1"."""

    value: Any
    read_from: str
    is_default: bool = False
    """Nobody gave or printed it: the library takes it where nothing is said."""


@dataclass(frozen=True, slots=True)
class Setup:
    """A job's configuration under the names of ``monitor plan``; what is unknown is absent."""

    framework: Framework | None = None
    values: Mapping[str, Known] = field(default_factory=dict)
    library: Mapping[str, Any] = field(default_factory=dict)
    """What was given to the model-parallel library, by the names and with the types that were written."""
    unread: tuple[str, ...] = ()
    """Names of what was given and could not be read, such as "mp_parameters"."""
    is_printed: bool = False
    """The library printed its effective configuration, so it took what it was given."""
    is_job: bool = False
    """It is that of a job, whose defaults are what it runs with; else that of a plan, whose defaults are only likely."""

    def known(self, name: str) -> Known | None:
        """The value with its place; None where it is unknown, or is known to be none."""
        found = self.values.get(name)
        return None if found is None or found.value is None else found

    def is_given(self, name: str) -> bool:
        """Whether somebody gave or printed it, so that it is no default."""
        found = self.known(name)
        return found is not None and not found.is_default

    def number(self, name: str) -> int | None:
        """A whole number; None where it is unknown or is none."""
        found = self.values.get(name)
        return None if found is None else whole_number(found.value)

    def real(self, name: str) -> float | None:
        """An amount, from 0; None where it is unknown or is none."""
        value = found.value if (found := self.values.get(name)) is not None else None
        if isinstance(value, bool) or value is None:
            return None
        try:
            return number if 0 <= (number := float(value)) < _NO_AMOUNT else None
        except (TypeError, ValueError, OverflowError):
            return None

    def flag(self, name: str) -> bool | None:
        """Yes or no, also where it is written as 1 or "true"; None where it is unknown or neither."""
        found = self.values.get(name)
        return None if found is None else yes_or_no(found.value)

    def text(self, name: str) -> str | None:
        """A word; None where it is unknown or is none."""
        found = self.values.get(name)
        return found.value if found is not None and isinstance(found.value, str) and found.value else None

    def read_from(self, name: str) -> str:
        """Where a value was read; "" where it is unknown."""
        found = self.values.get(name)
        return found.read_from if found is not None else ""

    def missing(self, *names: str) -> tuple[str, ...]:
        """Those of ``names`` that are unknown, in their order."""
        return tuple(name for name in names if self.known(name) is None)

    @property
    def pipeline_degree(self) -> int | None:
        return _positive(self.number("pipeline_parallel_degree"))

    @property
    def tensor_degree(self) -> int | None:
        return _positive(self.number("tensor_parallel_degree"))

    @property
    def nodes(self) -> int | None:
        """Instances of the job."""
        return _positive(self.number("instance_count"))

    @property
    def gpus_per_node(self) -> int | None:
        """GPUs of one instance; None where the instances differ or their type is unknown."""
        return _positive(self.number("gpus_per_node"))

    @property
    def gpus(self) -> int | None:
        """GPUs of all instances."""
        return _times(self.nodes, self.gpus_per_node)

    @property
    def world(self) -> int | None:
        """Processes of the job: as printed, else those of a host times hosts, one a GPU unless said otherwise."""
        printed = _positive(self.number("world_size"))
        if printed is not None:
            return printed
        each = _positive(self.number("processes_per_host")) or self.gpus_per_node
        return _times(self.nodes, each)

    @property
    def world_is_assumed(self) -> bool:
        """Whether one process a GPU is all that stands behind the number of processes."""
        return self.number("world_size") is None and self.number("processes_per_host") is None

    @property
    def data_parallel(self) -> int | None:
        """Ranks that see different samples: for SMP v1 those of one pipeline stage, as the library counts them; else those
        with the same part of the model. None where it is unknown or no whole number."""
        if self.framework == "smp1":
            return _divided(self.world, self.pipeline_degree)
        return self.reduced_data_parallel

    @property
    def reduced_data_parallel(self) -> int | None:
        """Ranks with the same part of the model: world over pipeline, tensor and context degrees,
        but for DeepSpeed, which prints it."""
        if self.framework == "deepspeed" and (printed := _positive(self.number("data_parallel_size"))) is not None:
            return printed
        context = _positive(self.number("context_parallel_degree")) or 1
        return _divided(_divided(self.world, self.pipeline_degree), _times(self.tensor_degree, context))

    @property
    def microbatches(self) -> int | None:
        """Microbatches of one optimizer step on one data-parallel rank; accumulation steps where there is no pipeline."""
        given = _positive(self.number("microbatches"))
        if given is not None:
            return given
        accumulated = _positive(self.number("gradient_accumulation_steps"))
        if accumulated is not None:
            return accumulated
        return _divided(_divided(self.number("global_batch_size"), self.number("micro_batch_size")), self.data_parallel)

    @property
    def microbatch_size(self) -> int | None:
        """Samples of one microbatch; None where it is unknown, or the batch does not divide."""
        given = _positive(self.number("micro_batch_size"))
        if given is not None:
            return given
        batch = self.number("batch_size")
        return _divided(batch, self.microbatches) if self.framework == "smp1" else _positive(batch)

    @property
    def window(self) -> int | None:
        """Microbatches in flight at most, by SMP v1's active_microbatches; None for other frameworks."""
        if self.framework != "smp1":
            return None
        active, given = _positive(self.number("active_microbatches")), self.microbatches
        return None if active is None or given is None else min(active, given)

    def shape(self) -> ModelShape | None:
        """The model; None where something of it is unknown: ``missing(*SHAPE)`` says what."""
        return shape_of(self)

    def layout(self) -> Layout | None:
        """How a step is spread over the GPUs; None where it is unknown: ``missing_of_layout`` says what."""
        return layout_of(self)

    def pipeline(self) -> PipelineSetting | None:
        """The pipeline, of one stage where there is none; None where stages or microbatches are unknown."""
        return pipeline_of(self)


def whole_number(value: object) -> int | None:
    """A whole number out of 8, 8.0 or "8"; None for anything else, yes and no and what counts nothing (10^18) included."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdecimal() and len(value) < 19:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and abs(value) < 10**18 else None


def yes_or_no(value: object) -> bool | None:
    """True and False out of true, 1, "yes", "on" and their opposites; None for anything else."""
    if isinstance(value, bool):
        return value
    if value in (0, 1):
        return bool(value)
    if isinstance(value, str):
        return {
            "true": True,
            "1": True,
            "yes": True,
            "on": True,
            "false": False,
            "0": False,
            "no": False,
            "off": False,
        }.get(value.strip().lower())
    return None


def _positive(number: int | None) -> int | None:
    return number if number is not None and number > 0 else None


def _times(*numbers: int | None) -> int | None:
    out = 1
    for number in numbers:
        if number is None:
            return None
        out *= number
    return out


def _divided(number: int | None, by: int | None) -> int | None:
    """The quotient where it is a whole number."""
    if number is None or by is None or by <= 0 or number <= 0 or number % by:
        return None
    return number // by
