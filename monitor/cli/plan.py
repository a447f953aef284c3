"""``plan``: what would another model-parallel configuration do? Step time, GPU memory, problems, and what to hand to the SDK."""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from monitor.cli.help import add_command
from monitor.cli.large_logs import add_large_log_options, instead
from monitor.cli.output import add_output_options, as_json, deliver, paper_for, progress
from monitor.cli.plan_markdown import markdown
from monitor.cli.plan_text import print_plan
from monitor.cli.plan_values import values_of
from monitor.cli.sources import add_job_options, chosen_cache, job_source
from monitor.cli.tables import Column, table
from monitor.diagnose.stakes import usd_per_hour_of_steps
from monitor.errors import BadCall
from monitor.fetch.configuration import MP_PARAMETERS
from monitor.model import Report
from monitor.parse.user import step_pattern
from monitor.predict.presets import PRESETS, Preset, preset
from monitor.predict.setup import FRAMEWORK_NAMES, Setup
from monitor.review import Reviewer
from monitor.review.plan_document import plan_document
from monitor.review.planning import Plan, advice_of, plan, start_from, start_of
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
    """Prints the plan."""
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
    extra = (step_pattern(arguments.step_regex),) if arguments.step_regex else ()
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
