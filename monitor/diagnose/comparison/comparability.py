"""In which parameters do jobs differ, and does a step of one do work comparable with a step of another? If not, why, and what
would make it so? Names, folders and addresses differ in every run and do not count.

How much work is in a step is asked first, so that different steps are not taken for equal. What tells two models apart is
an answer by itself. Jobs of unlike machines, scripts or log formats are compared where their configuration shows that they
train the same model, or that both are runs of one script. Where the samples of a step are not known, steps do the same work
only if nothing that bears on it differs (``work_done``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from monitor.analyze.journal import plain_rows
from monitor.analyze.mfu import parameters
from monitor.analyze.pace import work_of_steps
from monitor.diagnose.headline import instances
from monitor.model import Job, Parameter, Report
from monitor.predict.layout import OF_THE_RANKS, samples_of_step, samples_ratio
from monitor.predict.parameters import ALIASES_V1, CANONICAL, OTHER_NAMES, SPECIAL, plain_name, yes_or_no
from monitor.predict.setup import SourcedValue, framework_of, resolved, setup_of, with_defaults

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
class ParameterDifference:
    """One parameter and its value in each job, in their order; None where a job has none."""

    parameter: str
    values: tuple[Any, ...]
    read_from: tuple[str | None, ...] = ()
    """Where each value was read."""


def differences(jobs: Sequence[Job]) -> tuple[ParameterDifference, ...]:
    """The parameters whose values are not the same in all: the machines first, then those of the parallelism and the
    model, then the script's own. What one job has by default and another's library has not at all is none."""
    return _sorted(each for each, differs in _side_by_side(jobs) if differs)


def alike(jobs: Sequence[Job]) -> tuple[ParameterDifference, ...]:
    """The parameters that say the same in all jobs, in the same order."""
    return _sorted(each for each, differs in _side_by_side(jobs) if not differs)


def own(jobs: Sequence[Job]) -> tuple[str, ...]:
    """The parameters that are not held against each other, since every run has them of its own."""
    return tuple(sorted({name for job in jobs for name in resolved(job) if is_own(name)}))


def _side_by_side(jobs: Sequence[Job]) -> Iterator[tuple[ParameterDifference, bool]]:
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
        yield (
            ParameterDifference(name, values, tuple(None if each is None else each.read_from for each in found)),
            differs,
        )


def _sorted(found: Iterable[ParameterDifference]) -> tuple[ParameterDifference, ...]:
    return tuple(sorted(found, key=lambda each: (_rank(each.parameter), each.parameter)))


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


def _is_default(name: str, value: Any, defaults: Mapping[str, SourcedValue]) -> bool:
    return name in defaults and comparable(defaults[name].value) == comparable(value)


def _rank(name: str) -> int:
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


# What a script says of the model and of what goes into it. Heads and vocabulary hardly move the work: only the number of
# parameters counts them.
_SHAPE = frozenset({"layers", "hidden_size", "parameters_billion"})
_NAME = re.compile(
    r"(base_|pretrained_)?model(_name|_id|_size)?|(pretrained_)?model_name_or_path|arch|architecture|backbone"
)
_FURTHER = re.compile(r"model_type|hidden_units|hidden_dim")
_INPUT = re.compile(r"(image|img|crop|input|patch)_size|resolution")
# Counts of parameters within this share are of one model: a padded vocabulary, another head.
_SAME_SIZE = 0.02
# Runs of one script: all but this share of the names of their parameters are in both.
_OTHER_NAMES_SHARE = 0.25
_NAMED = 4
_BY_NAME = "model"

_SAY_THE_MODEL = "Compare two runs of one model; give its name or shape as a hyperparameter of both jobs."


@dataclass(frozen=True, slots=True)
class Unlike:
    """Why two jobs cannot be compared, and what would make them comparable: a sentence each."""

    why: str
    remedy: str


def unlike(
    before: Report, after: Report, name: str, work: WorkRatio | None, different: Sequence[ParameterDifference]
) -> Unlike | None:
    """Why a step of ``after``, called ``name``, cannot be held against one of A; None where it can."""
    return next(_reasons(before, after, name, work, different), None)


def _reasons(
    before: Report, after: Report, name: str, work: WorkRatio | None, different: Sequence[ParameterDifference]
) -> Iterator[Unlike]:
    jobs = before.job, after.job
    sizes = [parameters(report.job, report.run.events) for report in (before, after)]
    same_size = abs(sizes[1] / sizes[0] - 1) <= _SAME_SIZE if sizes[0] and sizes[1] else None
    models = [_statements(job, _key) for job in jobs]
    both = models[0].keys() & models[1].keys()
    if (apart := _apart(models)) and not same_size:
        yield Unlike(f"A and {name} train different models ({apart}).", "Compare two runs of one model.")
    if same_size is False and not both >= {"layers", "hidden_size"}:
        shown = " and ".join(_billions(size) for size in sizes if size)
        yield Unlike(
            f"A and {name} train models of different size ({shown} parameters).", "Compare two runs of one model."
        )
    inputs = [_statements(job, _input_key) for job in jobs]
    if apart := _apart(inputs):
        yield Unlike(f"Samples of A and {name} differ ({apart}).", "Compare runs with samples of one size.")
    if not (same_size or both & {_BY_NAME, *_SHAPE} or _is_one_script(*jobs)):
        yield from _not_shown(before, after, name, work)
    # Where both say the model's name, or its size, the rest follows from it.
    of_model = set() if same_size or _BY_NAME in both else models[0].keys() ^ models[1].keys()
    if alone := of_model | (inputs[0].keys() ^ inputs[1].keys()):
        who = "A" if alone & {*models[0], *inputs[0]} else name
        names = sorted(alone & ({*models[0], *inputs[0]} if who == "A" else {*models[1], *inputs[1]}))
        yield Unlike(
            f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} known for {who} only, so it is not known "
            "whether both train the same model on the same samples.",
            f"Give {', '.join(names)} as {'a hyperparameter' if len(names) == 1 else 'hyperparameters'} of both jobs.",
        )
    if work is None:
        yield _unknown_work(name, different)


def _not_shown(before: Report, after: Report, name: str, work: WorkRatio | None) -> Iterator[Unlike]:
    """What sets jobs apart of which nothing shows that they train the same model."""
    nothing = "and nothing shows that both train the same model."
    gpus = [_has_gpus(report.job) for report in (before, after)]
    if None not in gpus and gpus[0] != gpus[1]:
        on = [
            f"{'GPUs' if there else 'CPUs'} ({instances(report.job)})"
            for report, there in zip((before, after), gpus, strict=True)
        ]
        yield Unlike(f"A ran on {on[0]}, {name} on {on[1]}, {nothing}", _SAY_THE_MODEL)
    scripts = [_script(report.job) for report in (before, after)]
    if scripts[0] and scripts[1] and scripts[0] != scripts[1]:
        yield Unlike(f"A runs {scripts[0]}, {name} runs {scripts[1]}, {nothing}", _SAY_THE_MODEL)
    formats = [set(report.steps.formats) if report.steps else set() for report in (before, after)]
    if formats[0] and formats[1] and not formats[0] & formats[1] and (work is None or work.assumed):
        read = [", ".join(sorted(each)) for each in formats]
        yield Unlike(
            f"A's steps are read as {read[0]}, {name}'s as {read[1]}, and nothing else shows that a step is the "
            "same work in both.",
            f"Print the samples per step in both logs. {_SAY_THE_MODEL}",
        )


def _unknown_work(name: str, different: Sequence[ParameterDifference]) -> Unlike:
    bears = [each for each in different if is_batch(each.parameter)]
    machines = [each for each in different if each.parameter == "instance_count"]
    differs = f" ({_listed(bears or machines)})" if bears or machines else ""
    return Unlike(
        f"Steps of {name} may have more or fewer samples than those of A{differs}; their number is not known.",
        "Print the samples per step, or per second, in both logs, or give the batch size of both jobs as a "
        "hyperparameter.",
    )


@dataclass(frozen=True, slots=True)
class _Statement:
    """One thing that a configuration says of the model: as it is compared, and as it was written."""

    said: str
    value: object


def _statements(job: Job, key_of: Callable[[str], str]) -> dict[str, _Statement]:
    """What a job's configuration says of its model (or its input), by names that all scripts share."""
    found: dict[str, _Statement] = {}
    for written, known in job.configuration.items():
        key = key_of(plain_name(written))
        # A path or an address does not tell what model lies there.
        if key and known.value is not None and not str(known.value).startswith(("/", "./", "../", "~", "s3:", "file:")):
            found.setdefault(key, _Statement(comparable(known.value, job.name), known.value))
    return found


def _apart(told: Sequence[dict[str, _Statement]]) -> str:
    """``layers 44 and 48, hidden_size 6144 and 7168``: what both say, and otherwise."""
    first, second = told
    return ", ".join(
        f"{key} {first[key].value} and {second[key].value}"
        for key in sorted(first.keys() & second.keys())
        if first[key].said != second[key].said
    )


def _key(plain: str) -> str:
    if (canonical := OTHER_NAMES.get(plain, plain)) in _SHAPE:
        return canonical
    return _BY_NAME if _NAME.fullmatch(plain) else plain if _FURTHER.fullmatch(plain) else ""


def _input_key(plain: str) -> str:
    return plain if _INPUT.fullmatch(plain) else ""


def _is_one_script(before: Job, after: Job) -> bool:
    """Whether both run a script of one name whose parameters have mostly the same names."""
    if _script(before) is None or _script(before) != _script(after):
        return False
    names = [{name for name in job.configuration if not is_own(name)} for job in (before, after)]
    apart, together = names[0] ^ names[1], names[0] | names[1]
    return bool(names[0] & names[1]) and len(apart) <= max(1, _OTHER_NAMES_SHARE * len(together))


def _script(job: Job) -> str | None:
    """The file that SageMaker's toolkit runs; None where it is not known."""
    return job.hyperparameters.get("sagemaker_program", "").strip(' "').rpartition("/")[2] or None


def _has_gpus(job: Job) -> bool | None:
    """Whether any node has GPUs or other accelerators; None where that is not known of all."""
    counts = [node.gpus for node in job.nodes]
    return any(counts) if counts and None not in counts else None


def _billions(parameters_count: float) -> str:
    billions = parameters_count / 1e9
    return f"{billions:.3g} billion" if billions >= 1 else f"{parameters_count / 1e6:.3g} million"


def _listed(found: Sequence[ParameterDifference]) -> str:
    """``num_layers 44 and 48, hidden_width 6144 and 7168``."""
    shown = ", ".join(
        f"{each.parameter} {' and '.join('not given' if value is None else str(value) for value in each.values)}"
        for each in found[:_NAMED]
    )
    return shown if len(found) <= _NAMED else f"{shown} and {len(found) - _NAMED} more"


Unit = Literal["sample", "token"]
# A ratio of rounded throughputs is 1 within this.
_ALIKE = 0.01
_IN_A_STEP = ("batch", "accumulation", "sequence_length", "seq_len", "seq_length", "max_length", "context_width")
_SHORT = frozenset({"bs", "bsz", "mbs", "gbs", "mini_bs"})
# Of steps that do not train, and of what is only named after a batch.
_NOT_IN_A_STEP = re.compile(
    r"(^|_)(eval|valid|val|validation|test|predict|prediction|inference|generation|active)(_|$)|batch_?norm|prefetch"
)
#: A plan's name of a sample's tokens.
SEQUENCE = "sequence_length"


@dataclass(frozen=True, slots=True)
class WorkRatio:
    """A step of the second job over one of the first; ``unit`` is that of the work where a step's is not the same."""

    samples: float
    length: float = 1.0
    """Tokens of a sample, over those of the first job's."""
    assumed: bool = False
    """The samples per step are not known; they are assumed to be the same since nothing that affects them differs."""

    @property
    def unit(self) -> Unit | None:
        """None where steps do the same."""
        return "token" if self.length != 1 else "sample" if self.samples != 1 else None

    @property
    def ratio(self) -> float:
        return self.samples * self.length


def samples_per_step(report: Report) -> float | None:
    """Samples of one step of the whole job: as the log prints them, else by the configuration; None where neither tells."""
    events = report.run.events
    told = pd.to_numeric(events.loc[events["kind"] == "samples-per-step", "text"], errors="coerce").dropna()
    return float(told.iloc[-1]) if len(told) else samples_of_step(setup_of(report.job))


def is_batch(name: str) -> bool:
    """Whether a parameter of this name says how much is in a step."""
    plain = plain_name(name)
    known = any(word in OTHER_NAMES.get(plain, plain) for word in _IN_A_STEP) or plain in _SHORT
    return known and not _NOT_IN_A_STEP.search(plain)


def work_between(
    before: Report,
    after: Report,
    journal_before: pd.DataFrame,
    journal_after: pd.DataFrame,
    different: Sequence[ParameterDifference] = (),
) -> WorkRatio | None:
    """What a step of ``after`` does over one of ``before``: by configuration, else by the throughput that both print in the
    same form on as many instances. Where neither tells and nothing about the batch is ``different``, it is the same; None
    where it is not known."""
    setups = setup_of(before.job), setup_of(after.job)
    lengths = [setup.number(SEQUENCE) for setup in setups]
    if (lengths[0] is None) != (lengths[1] is None):
        return None  # the other may have any
    length = lengths[1] / lengths[0] if lengths[0] and lengths[1] else 1.0
    printed = samples_per_step(before), samples_per_step(after)
    if printed[0] and printed[1]:
        return WorkRatio(printed[1] / printed[0], length)
    by_setup = samples_ratio(*setups)
    if by_setup is not None:
        return WorkRatio(by_setup, length)
    if before.job.instance_count != after.job.instance_count:
        return None  # what is printed may be of one process or of all
    units = _units(journal_before), _units(journal_after)
    first, second = _per_step(journal_before), _per_step(journal_after)
    if first is None or second is None or units[0] != units[1] or _formats(before) != _formats(after):
        alike = not any(is_batch(each.parameter) or each.parameter in OF_THE_RANKS for each in different)
        # Rates of unlike things are of unlike scripts.
        rates_alike = not units[0] or not units[1] or bool(units[0] & units[1])
        return WorkRatio(1.0, length, assumed=True) if alike and rates_alike else None
    ratio = second / first
    ratio = 1.0 if abs(ratio - 1) < _ALIKE else ratio
    of_tokens = all(unit.startswith(("token", "word")) for unit in units[0])
    return WorkRatio(1.0, ratio) if of_tokens else WorkRatio(ratio, length)


def _per_step(journal: pd.DataFrame) -> float | None:
    """The usual work of a step, in the one unit of the throughput; None where it is not told."""
    if journal.empty or len(_units(journal)) != 1:
        return None
    rows = plain_rows(journal)
    work = work_of_steps(rows, rows["time_s"].to_numpy("float64"))
    return None if work is None else float(np.nanmedian(work))


def _units(journal: pd.DataFrame) -> frozenset[str]:
    """What the printed rates count; a rate of steps counts none of their work."""
    if journal.empty:
        return frozenset()
    units = (str(unit) for unit in journal["throughput_unit"].unique())
    return frozenset(unit for unit in units if unit and not unit.startswith(("it", "step")))


def _formats(report: Report) -> frozenset[str]:
    return frozenset(report.steps.formats) if report.steps else frozenset()
