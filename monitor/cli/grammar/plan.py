"""What ``plan`` takes."""

from __future__ import annotations

from typing import Any

from monitor.choices import FRAMEWORK_NAMES
from monitor.cli.grammar.options import add_command, add_job_options, add_large_log_options, add_output_options


def add_to(commands: Any) -> None:
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
