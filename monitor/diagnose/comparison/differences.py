"""In which parameters do jobs differ? What differs in every run (names, folders, addresses) does not count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from monitor.model import Job, Parameter
from monitor.predict.parameters import ALIASES_V1, CANONICAL, OTHER_NAMES, SPECIAL, plain_name, yes_or_no
from monitor.predict.setup import Known, framework_of, resolved, with_defaults

# Names of what a run writes to, calls itself or listens on, by their last words.
_OWN = re.compile(
    r"name|region|tags|notes|timestamp"
    r"|((wandb|mlflow|comet)_)?(job|run|experiment|exp|trial|wandb|mlflow|comet|tracking)_(name|id|uri|entity|group|project|notes|tags|dir)"
    r"|(output|out|checkpoint|checkpoints|ckpt|save|log|logging|tensorboard|tb|cache|profile|profiler|results?|trace|artifacts?)"
    r"(_data|_local|_s3)?_(dir|directory|path|folder|uri|url|bucket|prefix|file)"
    r"|(model|submit|code|source|module)_(dir|directory)"
    r"|(ddp|master|rendezvous|rdzv|main_process)_(port|addr|address|endpoint|ip|host|id)"
)


@dataclass(frozen=True, slots=True)
class Difference:
    """One parameter and its value in each job, in their order; None where a job has none."""

    parameter: str
    values: tuple[Any, ...]
    read_from: tuple[str | None, ...] = ()
    """Where each value was read."""


def differences(jobs: Sequence[Job]) -> tuple[Difference, ...]:
    """The parameters whose values are not the same in all: the machines first, then those of the parallelism and the
    model, then the script's own. What one job has by default and another's library has not at all is none."""
    return _sorted(each for each, differs in _held_together(jobs) if differs)


def alike(jobs: Sequence[Job]) -> tuple[Difference, ...]:
    """The parameters that say the same in all jobs, in the same order."""
    return _sorted(each for each, differs in _held_together(jobs) if not differs)


def own(jobs: Sequence[Job]) -> tuple[str, ...]:
    """The parameters that are not held against each other, since every run has them of its own."""
    return tuple(sorted({name for job in jobs for name in resolved(job) if is_own(name)}))


def _held_together(jobs: Sequence[Job]) -> Iterator[tuple[Difference, bool]]:
    """Each parameter, and whether it is a difference."""
    told = [_parameters(job) for job in jobs]
    defaults = [with_defaults(framework_of(job), {}) for job in jobs]
    for name in dict.fromkeys(name for values in told for name in values):
        found = [values.get(name) for values in told]
        values = tuple(None if each is None else each.value for each in found)
        given = [place for place, value in enumerate(values) if value is not None]
        said = {comparable(values[place], jobs[place].name) for place in given}
        all_by_default = all(_is_default(name, values[place], defaults[place]) for place in given)
        differs = len(said) > 1 or (len(given) < len(jobs) and not all_by_default)
        yield Difference(name, values, tuple(None if each is None else each.read_from for each in found)), differs


def _sorted(found: Iterable[Difference]) -> tuple[Difference, ...]:
    return tuple(sorted(found, key=lambda each: (_place(each.parameter), each.parameter)))


def is_of_the_setup(name: str) -> bool:
    """Whether a parameter says something that predictions know under one name or another."""
    plain = plain_name(name)
    return plain in SPECIAL or OTHER_NAMES.get(plain, plain) in CANONICAL


def is_own(name: str) -> bool:
    """Whether a parameter of this name is a run's own and says nothing of how it is set up."""
    return _OWN.fullmatch(plain_name(name)) is not None


def _parameters(job: Job) -> Mapping[str, Parameter]:
    return {**dict(_machines(job)), **dict(_configured(job))}


def _machines(job: Job) -> Iterator[tuple[str, Parameter]]:
    read_from = "log" if job.source == "logs" else "DescribeTrainingJob"
    types = [group.instance_type for group in job.instance_groups if group.instance_type]
    if types:
        yield "instance_type", Parameter(" + ".join(dict.fromkeys(types)), read_from)
    if job.instance_count:
        yield "instance_count", Parameter(job.instance_count, read_from)
    if job.spot:
        yield "managed_spot", Parameter(True, read_from)


def _configured(job: Job) -> Iterator[tuple[str, Parameter]]:
    aliases = ALIASES_V1 if framework_of(job) == "smp1" else {}
    for name, parameter in resolved(job).items():
        if not is_own(name):
            yield aliases.get(name, name), parameter


def _is_default(name: str, value: Any, defaults: Mapping[str, Known]) -> bool:
    return name in defaults and comparable(defaults[name].value) == comparable(value)


def _place(name: str) -> int:
    if name in {"instance_type", "instance_count", "managed_spot"}:
        return 0
    return 1 if is_of_the_setup(name) else 2


def comparable(value: Any, job_name: str = "") -> str:
    """The same text for values that say the same: 8, 8.0 and "8"; true and 1; paths that hold the job's own name."""
    if isinstance(value, str):
        text = value.replace(job_name, "").strip() if job_name else value.strip()
        word = yes_or_no(text)
        try:
            return repr(float(text) if word is None else float(word))
        except ValueError:
            return text
    if isinstance(value, int | float):
        return repr(float(value))
    if isinstance(value, Mapping):
        return repr(sorted((str(key), comparable(inner, job_name)) for key, inner in value.items()))
    if isinstance(value, list | tuple):
        return repr([comparable(inner, job_name) for inner in value])
    return repr(value)
