"""What ``report`` takes."""

from __future__ import annotations

from typing import Any

from monitor.cli.grammar.options import (
    add_command,
    add_job_options,
    add_large_log_options,
    add_output_options,
    add_profiler_options,
)


def add_to(commands: Any) -> None:
    command = add_command(
        commands,
        "report",
        "review one job",
        "Reviews one job, running or finished: where its time went, what stands out and what to change.",
        (
            "report my-training-job",
            "report my-training-job --format html --output report.html",
            "report logs:./algo-1.log",
            "report archive:./trainwatch-archive/my-training-job --format json",
        ),
    )
    add_job_options(command)
    add_profiler_options(command)
    add_large_log_options(command)
    add_output_options(command, ("text", "json", "markdown", "html"))
