"""What the commands take that look at jobs: ``jobs``, ``top``, ``report``, ``steps``, ``compare`` and ``plan``."""

from __future__ import annotations

from typing import Any

from monitor.choices import FRAMEWORK_NAMES
from monitor.cli.grammar.options import (
    add_account_options,
    add_accounts_options,
    add_archive_option,
    add_cache_option,
    add_command,
    add_job_options,
    add_large_log_options,
    add_output_options,
    add_profiler_options,
    add_query_options,
)

#: Between two looks at the least: each is a call or two, and one more for each new job.
SHORTEST_S = 5.0


def jobs(commands: Any) -> None:
    command = add_command(
        commands,
        "jobs",
        "list training jobs, newest first",
        "Lists training jobs, newest first, each with the verdict of its last review. The list itself reviews "
        "nothing and makes no extra calls: a job has a verdict once the dashboard or report has reviewed it. Jobs "
        "of an archive are ranked by what could be saved on them.",
        (
            "jobs",
            "jobs --status running --watch",
            "jobs --name-contains llama --since 7d --limit 50",
            "jobs --archive ~/trainwatch-archive --format csv --output jobs.csv",
            "jobs --all-accounts --status running --watch",
            "jobs --account research --region eu-west-1 --since 7d",
        ),
    )
    add_query_options(command, 20)
    command.add_argument("--watch", action="store_true", help="list again and again until Ctrl-C")
    command.add_argument(
        "--interval",
        default="30s",
        metavar="30s",
        help=f"time between lists with --watch (default 30s, at least {SHORTEST_S:.0f}s)",
    )
    add_archive_option(command, "rank the jobs of this archive by what could be saved on them")
    add_cache_option(command, "do not use the local cache, and so show no verdicts")
    add_account_options(command)
    add_accounts_options(command)
    add_output_options(command, ("text", "json", "csv"))


def top(commands: Any) -> None:
    command = add_command(
        commands,
        "top",
        "the jobs in this terminal, live",
        "Shows the newest jobs in this terminal, worst first, each with its verdict and its GPU over time. Enter opens one: "
        "its report, and its log, which follows. Keys: arrows or j and k, Enter, Escape, l for a larger log, Tab, s to sort "
        "again, q to quit.",
        ("top", "top my-training-job", "top --status running --name-contains llama"),
    )
    command.add_argument("job", nargs="?", metavar="JOB", help="open this job: a name, logs:PATH, or archive:PATH")
    add_query_options(command, 50)
    add_archive_option(command, "show the jobs of this archive instead of the account's")
    add_cache_option(command)
    add_account_options(command)


def report(commands: Any) -> None:
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


def steps(commands: Any) -> None:
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


def compare(commands: Any) -> None:
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


def plan(commands: Any) -> None:
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
