"""What ``compare`` takes."""

from __future__ import annotations

from typing import Any

from monitor.cli.grammar.options import add_account_options, add_cache_option, add_command, add_output_options


def add_to(commands: Any) -> None:
    command = add_command(
        commands,
        "compare",
        "jobs side by side, the first is the baseline",
        "Compares jobs with the first one: which takes less time for the same work and how certain that is, what "
        "differs in the configuration, and whether a prediction held. Where the work of a step is unknown or of a "
        "different kind, it says so and what would help.",
        (
            "compare my-run-1 my-run-2",
            "compare my-run-1 my-run-2 my-run-3 --format markdown",
            "compare logs:./before logs:./after --format json",
        ),
    )
    command.add_argument(
        "jobs", nargs="*", metavar="JOB", help="two or more: training job name, logs:PATH or archive:PATH"
    )
    command.add_argument(
        "--step-regex", metavar="REGEX", help="a pattern for the step lines of all these jobs, as for report"
    )
    command.add_argument(
        "--no-keep",
        action="store_true",
        help="do not keep predicted and measured change in $XDG_DATA_HOME/trainwatch/pairs.jsonl",
    )
    add_cache_option(command)
    add_account_options(command)
    add_output_options(command, ("text", "json", "markdown"))
