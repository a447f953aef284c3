"""What ``steps`` takes."""

from __future__ import annotations

from typing import Any

from monitor.cli.grammar.options import add_command, add_job_options, add_output_options


def add_to(commands: Any) -> None:
    command = add_command(
        commands,
        "steps",
        "the step reports of one job",
        "Prints the step reports behind a review, a row for each that a rank (or node) logged.",
        (
            "steps my-training-job",
            "steps my-training-job --format csv --output steps.csv",
            "steps my-training-job --explain",
            r"steps --logs ./algo-1.log --step-regex 'it (?P<step>\d+) took (?P<time_s>[\d.]+)'",
        ),
    )
    add_job_options(command)
    add_output_options(command, ("text", "csv", "json"))
    command.add_argument(
        "--explain",
        action="store_true",
        help="show the first lines of each log format and how every figure of them was come by",
    )
