"""``plan``: what would another model-parallel configuration do? Step time, GPU memory, problems, and what to hand to the SDK.

``--set parameter=value`` and ``--change parameter=value`` give values by name, as JSON where they are that.
"""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from monitor.cli.options import (
    add_command,
    add_job_options,
    add_large_log_options,
    chosen_cache,
    instead,
    job_source,
    own_patterns,
)
from monitor.cli.output import Column, add_output_options, as_json, deliver, paper_for, progress, table
from monitor.cli.plan_text import markdown, print_plan
from monitor.diagnose.stakes import usd_per_hour_of_steps
from monitor.errors import BadCall
from monitor.fetch.configuration import MP_PARAMETERS, library_of, word
from monitor.model import Report
from monitor.predict import parameters
from monitor.predict.parameters import ALIASES_V1, V1, V2, whole_number
from monitor.predict.presets import PRESETS, Preset, preset
from monitor.predict.setup import FRAMEWORK_NAMES, Setup
from monitor.review import Reviewer
from monitor.review.planning import Plan, advice_of, is_known, plan, plan_document, start_from, start_of
from monitor.settings import read

_LIST = "list"


def add_to(commands: Any) -> None:
    """Adds the command's grammar."""
    command = add_command(
        commands,
        "plan",
        "what another model-parallel configuration would do",
        "Predicts what another model-parallel configuration would do to step time and GPU memory. The start is a "
        "reviewed job, a published configuration (--preset) or what --set says. Parameters have the library's "
        "names, or those that scripts use; mp_parameters='{...}' gives several at once. If no name identifies the "
        "library, SMP v1 is assumed.",
        (
            "plan my-training-job --change active_microbatches=4",
            "plan --preset gpt2-60b --change active_microbatches=4",
            "plan --set pipeline_parallel_degree=4 --set microbatches=8 --set active_microbatches=2 --change "
            "active_microbatches=4",
            "plan --preset list",
        ),
    )
    command.add_argument(
        "--set", action="append", default=[], metavar="P=V", help="set or correct a parameter of the start; repeatable"
    )
    command.add_argument(
        "--change", action="append", default=[], metavar="P=V", help="a parameter to change; repeatable"
    )
    command.add_argument("--preset", metavar="NAME", help="start from a published configuration; list shows them")
    command.add_argument(
        "--framework",
        metavar="LIBRARY",
        choices=sorted(FRAMEWORK_NAMES),
        help=f"the library, if no name identifies it: {', '.join(sorted(FRAMEWORK_NAMES))}",
    )
    add_job_options(command)
    add_large_log_options(command)
    add_output_options(command, ("text", "json", "markdown"))
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.preset == _LIST:
        _list_presets(arguments)
        return 0
    name, found, usd = _planned(arguments)
    if arguments.format == "json":
        deliver(arguments, as_json(plan_document(found)))
    elif arguments.format == "markdown":
        deliver(arguments, markdown(name, found, usd))
    else:
        paper = paper_for(arguments)
        print_plan(name, found, paper, usd)
        deliver(arguments, paper)
    return 0


def _planned(arguments: argparse.Namespace) -> tuple[str, Plan, float | None]:
    """(what the start is called, the plan, what an hour of the job's steps costs)."""
    given, is_given_readable = values_of("--set", arguments.set)
    change, is_change_readable = values_of("--change", arguments.change)
    unread = () if is_given_readable and is_change_readable else (MP_PARAMETERS,)
    if arguments.job is None and not arguments.logs and arguments.archive is None:
        chosen = _preset(arguments.preset)
        if chosen is None and not (arguments.set or arguments.change):
            raise BadCall(
                "There is nothing to start a plan from.",
                "Name a job, a --preset, or parameters: plan --set pipeline_parallel_degree=4 --set microbatches=8 "
                "--set active_microbatches=2 --change active_microbatches=4.",
            )
        # What is asked for also tells which library is meant.
        library = arguments.framework or start_from({**given, **change}).framework
        start = _unread(start_from(given, chosen, library, "--set"), unread)
        return _name(chosen, start), plan(start, change), None
    if arguments.preset is not None:
        raise BadCall(f"Both a job and --preset {arguments.preset} were given.", "Start from one of them.")
    report = _reviewed(arguments)
    start = _unread(start_of(report, given, "--set", arguments.framework), unread)
    found = plan(start, change, advice_of(report), ran=len(report.run.steps) > 0)
    return report.job.name, found, usd_per_hour_of_steps(report)


def _unread(start: Setup, names: tuple[str, ...]) -> Setup:
    return replace(start, unread=names) if names else start


def _reviewed(arguments: argparse.Namespace) -> Report:
    extra = own_patterns(arguments)
    source, name = job_source(arguments)
    settings = read()
    cache = chosen_cache(arguments, settings)
    with progress(arguments) as say:
        return Reviewer(source, name, settings, extra, cache=cache, instead=instead(arguments, source)).review(
            datetime.now(UTC), say
        )


def _preset(name: str | None) -> Preset | None:
    if name is None:
        return None
    if (found := preset(name)) is None:
        names = ", ".join(each.name for each in PRESETS)
        raise BadCall(f"There is no preset {name}.", f"Presets are {names}.")
    return found


def _name(chosen: Preset | None, start: Setup) -> str:
    if chosen is not None:
        return f"{chosen.name}: {chosen.title}"
    return f"A configuration of {FRAMEWORK_NAMES.get(start.framework or '', 'an unknown library')}"


def _list_presets(arguments: argparse.Namespace) -> None:
    if arguments.format == "json":
        presets = [
            {"name": each.name, "title": each.title, "values": dict(each.values), "source": each.source}
            for each in PRESETS
        ]
        deliver(arguments, as_json({"schema": 1, "presets": presets}))
        return
    paper = paper_for(arguments)
    columns = (Column("PRESET"), Column("WHAT", wraps=True), Column("SOURCE", goes=1, wraps=True))
    paper.print(table(columns, [(each.name, each.title, each.source) for each in PRESETS], paper.width, head="dim"))
    deliver(arguments, paper)


# Numbers that need not be whole: 1.0 stays what it is.
_REAL = frozenset({"parameters_billion", "gpu_memory_gib", "gpu_memory_utilization", "step_time_s", "network_gbps"})
# Names less alike than this are no slip of the pen.
_ALIKE = 0.6
_LONGEST = 60


def values_of(option: str, texts: Sequence[str]) -> tuple[dict[str, Any], bool]:
    """(values by the names that were written, whether an ``mp_parameters`` among them could be read).

    BadCall for what is no ``name=value``, for a name that nothing knows and for one that is given twice.
    """
    found: dict[str, Any] = {}
    written: dict[str, str] = {}
    readable = True
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        example = f"Write parameter=value, for example {option} active_microbatches=4."
        if not equals or not name:
            raise BadCall(f"{option} {text[:_LONGEST]} is not a parameter with a value.", example)
        if not value:
            raise BadCall(f"{option} {name[:_LONGEST]}= has no value.", f"{example} null means not known.")
        if parameters.plain_name(name) == MP_PARAMETERS:
            several = library_of(value)
            readable = readable and (bool(several) or value.strip(' "{}[]').lower() in {"", "null", "none"})
            for each in several:
                _once(option, each, each, written)
            found |= several
            continue
        if not is_known(name):
            raise BadCall(f"{option} {name[:_LONGEST]}: there is no such parameter.", _nearest(name))
        plain = parameters.plain_name(name)
        canonical = ALIASES_V1.get(plain, parameters.OTHER_NAMES.get(plain, plain))
        _once(option, canonical, name, written)
        found[name] = _value(canonical, value)
    return found, readable


def _once(option: str, canonical: str, name: str, written: dict[str, str]) -> None:
    if canonical in written:
        other = written[canonical]
        also = f" and as {name}" if other != name else ""
        raise BadCall(f"{option} {other} is given twice{also}.", "Give one value for it.")
    written[canonical] = name


def _value(name: str, text: str) -> Any:
    """JSON where it is that, also True and None; 4.0 is 4 where a number is whole."""
    value = word(text)
    schema = V1.get(name) or V2.get(name)
    whole = whole_number(value) if isinstance(value, float) else None
    if whole is not None and name not in _REAL and (schema is None or schema.kind != "float"):
        return whole
    return value


def _nearest(name: str) -> str:
    known = sorted(parameters.CANONICAL | parameters.OTHER_NAMES.keys() | ALIASES_V1.keys())
    near = difflib.get_close_matches(parameters.plain_name(name), known, 1, _ALIKE)
    if near:
        return f"The nearest is {near[0]}."
    return "Names are the library's, such as microbatches, or those of model and job, such as hidden_size, batch_size."
