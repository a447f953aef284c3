"""What in a setup does SMP v1 reject or ignore?

Rules of its validator: an unknown name is an error, a type must match exactly, what a parameter needs is asked only where
it is not at its default, and two names of one parameter may not contradict each other.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any

from monitor.predict.problem import SMP1_SCHEMA, Problem, problem
from monitor.predict.problems_unused import of_sharding, of_useless
from monitor.predict.setup_types import Setup
from monitor.predict.smp_schema import ALIASES_V1, INTERNAL_V1, V1, V2, Entry

_NAMES = {"int": "a whole number", "bool": "true or false", "str": "a word", "float": "a number"}
# How like a known name an unknown one must be to be called a slip of the pen.
_ALIKE = 0.8


def of_smp1(setup: Setup) -> Iterator[Problem]:
    """The problems that this library's rules name, the names and types first."""
    yield from _names(setup)
    yield from _values(setup)
    yield from _needs(setup)
    yield from of_sharding(setup)
    yield from of_useless(setup)


def _names(setup: Setup) -> Iterator[Problem]:
    known = V1.keys() | INTERNAL_V1 | ALIASES_V1.keys()
    for name in setup.library:
        if name in known or setup.is_printed:
            continue
        near = difflib.get_close_matches(name, sorted(known), 1, _ALIKE)
        why = (
            f'did you mean "{near[0]}"?'
            if near
            else "it belongs to SMP v2."
            if name in V2
            else "its schema does not contain it."
        )
        remedy = f'Write "{near[0]}" instead.' if near else f'Remove "{name}" from mp_parameters.'
        words = f'SMP v1 knows no parameter "{name}": {why}'
        yield problem(setup, name, words, remedy, SMP1_SCHEMA, rejected=True, refutable=not near and name not in V2)
    for other, name in ALIASES_V1.items():
        given = setup.library
        if other in given and name in given and given[other] != given[name]:
            yield problem(
                setup,
                name,
                f"{other}={given[other]} and {name}={given[name]} set one parameter to two values.",
                f"Give only {name}.",
                SMP1_SCHEMA,
                rejected=True,
            )


def _values(setup: Setup) -> Iterator[Problem]:
    for written, value in setup.library.items():
        name = ALIASES_V1.get(written, written)
        entry = V1.get(name)
        if entry is None or value is None:
            continue
        wrong = what_is_wrong(entry, value)
        if wrong:
            to = setup.number(name) if entry.kind == "int" and not isinstance(value, bool) else None
            to = to if to is not None and not what_is_wrong(entry, to) else _nearest(entry, value)
            yield problem(
                setup,
                name,
                f"{written}={value!r} is {wrong}.",
                f"Set {name} to {to}." if to is not None else f"Give {name} a value that it accepts.",
                SMP1_SCHEMA,
                to=to,
                rejected=True,
            )


def what_is_wrong(entry: Entry, value: Any) -> str:
    """Why a value is none for an entry of the schema, in words; "" where it is."""
    type_name = type(value).__name__
    fits = entry.kind == "any" or type_name == entry.kind or (entry.kind == "float" and type_name == "int")
    if not fits:
        return f"not {_NAMES[entry.kind]} (its type must match exactly)"
    if entry.least is not None and value < entry.least:
        return f"below {entry.least:g}, the minimum"
    if entry.most is not None and value > entry.most:
        return f"above {entry.most:g}, the maximum"
    if entry.words and value not in entry.words:
        return f"not one of {', '.join(entry.words)}"
    return ""


def _nearest(entry: Entry, value: Any) -> Any:
    if entry.kind == "bool" and value in (0, 1):
        return bool(value)
    if entry.kind in {"int", "float"} and isinstance(value, int | float) and not isinstance(value, bool):
        if entry.least is not None and value < entry.least:
            return int(entry.least)
        if entry.most is not None and value > entry.most:
            return int(entry.most)
    return None


def _needs(setup: Setup) -> Iterator[Problem]:
    tensor, p = setup.tensor_degree or 1, setup.pipeline_degree or 1
    active, microbatches = setup.number("active_microbatches"), setup.number("microbatches")
    if active is not None and microbatches is not None and active > microbatches:
        yield problem(
            setup,
            "active_microbatches",
            f"active_microbatches={active} is above microbatches={microbatches}: there are no more that could be active.",
            f"Set active_microbatches to {microbatches} or raise microbatches.",
            SMP1_SCHEMA,
            to=microbatches,
            rejected=True,
        )
    # A plan that is silent about ddp does not mean it off.
    if tensor > 1 and setup.flag("ddp") is False and (setup.is_job or setup.is_given("ddp")):
        yield problem(
            setup,
            "tensor_parallel_degree",
            f"tensor_parallel_degree={tensor} needs ddp=true (since 1.6).",
            "Set ddp to true.",
            SMP1_SCHEMA,
            to=True,
            change="ddp",
            rejected=True,
            refutable=not setup.is_given("ddp"),
        )
    if setup.flag("prescaled_batch") and setup.text("optimize") == "memory":
        words = "prescaled_batch=true needs optimize=speed, but optimize is memory."
        remedy = "Set optimize to speed, or prescaled_batch to false."
        yield problem(
            setup, "prescaled_batch", words, remedy, SMP1_SCHEMA, to="speed", change="optimize", rejected=True
        )
    if setup.flag("ddp") and setup.flag("horovod"):
        words = "ddp and horovod are both true: only one of them may be."
        yield problem(
            setup,
            "horovod",
            words,
            "Set horovod to false (it is for TensorFlow).",
            SMP1_SCHEMA,
            to=False,
            rejected=True,
        )
    for name in ("ddp_port", "ddp_dist_backend"):
        if setup.library.get(name) is not None and setup.flag("ddp") is False:
            words = f"{name}={setup.library[name]} needs ddp=true."
            yield problem(
                setup,
                name,
                words,
                f"Set ddp to true or leave {name} out.",
                SMP1_SCHEMA,
                to=True,
                change="ddp",
                rejected=name == "ddp_port",
            )
    if setup.flag("bf16") and (setup.flag("fp16") or setup.flag("fp16_params")):
        words = "bf16 and fp16 are both true: only one of them may be."
        yield problem(setup, "bf16", words, "Turn off bf16 or fp16.", SMP1_SCHEMA, rejected=True)
    default = setup.number("default_partition")
    if setup.flag("auto_partition") is False and setup.is_given("auto_partition") and default is None:
        words = f"auto_partition=false needs default_partition, one of 0 to {p - 1}."
        yield problem(
            setup,
            "auto_partition",
            words,
            "Set default_partition.",
            SMP1_SCHEMA,
            to=0,
            change="default_partition",
            rejected=True,
            refutable=True,
        )
    if default is not None and default >= p and setup.flag("auto_partition") is False:
        words = f"default_partition={default} is not a stage of a {p}-stage pipeline: stages are 0 to {p - 1}."
        yield problem(setup, "default_partition", words, f"Set it to 0 to {p - 1}.", SMP1_SCHEMA, to=0, rejected=True)
